"""Puts the strip into a provider's event stream: text deltas are scrubbed, every other event passes as it is.

The events are plain dictionaries as they come off the wire. It must never change an event in place, never let
a text end before what waited of it was sent, and never take one text for the continuation of another.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Final, Protocol, TypeGuard, cast, final

from registry._egress_filter import EgressFilter, strip_egress

Event = Mapping[str, Any]

# Fields of a chat-completion delta that hold words for a reader.
CHAT_TEXTS: Final = ("content", "reasoning", "reasoning_content", "refusal")
# Names of the texts that a responses stream sends in deltas, and the fields that say which text it is.
RESPONSE_TEXTS: Final = ("output_text", "refusal", "reasoning_text", "reasoning_summary_text")
RESPONSE_PLACE: Final = ("item_id", "output_index", "content_index", "summary_index")
RESPONSE_PARTS: Final = ("output_text", "refusal", "summary_text", "reasoning_text")
MESSAGE_TEXTS: Final = {"text_delta": "text", "thinking_delta": "thinking"}


class Scrubber(Protocol):
    """Scrubs the events of one stream."""

    def scrub(self, event: Event) -> list[Event]:
        """Returns what is sent in place of the event."""
        ...

    def end(self) -> list[Event]:
        """Returns what is sent when the stream is over."""
        ...


@final
class Texts:
    """The texts of one stream that are under way, each with its filter and the shape of its events."""

    __slots__ = ("_filters", "_shapes")

    def __init__(self) -> None:
        self._filters: dict[tuple[object, ...], EgressFilter] = {}
        self._shapes: dict[tuple[object, ...], Callable[[str], Event]] = {}

    def feed(self, key: tuple[object, ...], text: str, shape: Callable[[str], Event]) -> str:
        """Takes the next piece of a text and returns what may be shown of it."""
        self._shapes[key] = shape
        return self._filters.setdefault(key, EgressFilter()).feed(text)

    def end(self, key: tuple[object, ...]) -> str:
        """Ends a text and returns what waited of it."""
        egress = self._filters.pop(key, None)
        return "" if egress is None else egress.flush()

    def end_in_events(self, belongs: Callable[[tuple[object, ...]], bool]) -> list[Event]:
        """Ends all texts that belong, and returns what waited of them in events of their own."""
        ended = [(key, self.end(key)) for key in list(self._filters) if belongs(key)]
        return [self._shapes[key](rest) for key, rest in ended if rest]


@final
class OpenAIScrubber:
    """Chat-completion chunks and the events of the responses stream."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts = Texts()

    def scrub(self, event: Event) -> list[Event]:
        """Returns the event with its texts scrubbed."""
        kind = event.get("type")
        if isinstance(kind, str) and kind.startswith("response."):
            return self._response(event, kind)
        choices = event.get("choices")
        if not is_list(choices):
            return [event]
        return [{**event, "choices": [self._choice(event, choice) for choice in choices]}]

    def end(self) -> list[Event]:
        """Returns what waited in texts that never said that they ended."""
        return self._texts.end_in_events(lambda _: True)

    def _choice(self, event: Event, value: object) -> object:
        choice = as_event(value)
        if choice is None:
            return value
        scrubbed = scrub_texts(choice, ("text",))
        message, delta = as_event(choice.get("message")), as_event(choice.get("delta"))
        if message is not None:  # an answer that did not come as a stream
            scrubbed["message"] = scrub_texts(message, CHAT_TEXTS)
        if delta is not None:
            scrubbed["delta"] = self._chat_delta(event, choice, delta)
        return scrubbed

    def _chat_delta(self, event: Event, choice: Event, delta: Event) -> Event:
        words = dict(delta)
        index = choice.get("index", 0)
        for name in CHAT_TEXTS:
            text = words.get(name)
            if isinstance(text, str):
                words[name] = self._texts.feed((index, name), text, chat_shape(event, index, name))
            if choice.get("finish_reason") is not None and (rest := self._texts.end((index, name))):
                words[name] = (words.get(name) or "") + rest
        return words

    def _response(self, event: Event, kind: str) -> list[Event]:
        name, _, what = kind.removeprefix("response.").rpartition(".")
        if name not in RESPONSE_TEXTS:
            return [{key: scrub_whole(value) for key, value in event.items()}]
        key = (name, *(event.get(part) for part in RESPONSE_PLACE))
        delta = event.get("delta")
        if what == "delta" and isinstance(delta, str):
            return [{**event, "delta": self._texts.feed(key, delta, lambda text: {**event, "delta": text})}]
        return [
            *self._texts.end_in_events(lambda other: other == key),
            scrub_texts(event, ("text", "refusal")),
        ]


@final
class AnthropicScrubber:
    """Events of a message stream."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts = Texts()

    def scrub(self, event: Event) -> list[Event]:
        """Returns the event with its texts scrubbed, and before the end of a block what waited in it."""
        kind = event.get("type")
        block = event.get("index", 0)
        if kind == "content_block_delta":
            return [self._delta(event, block)]
        if kind == "content_block_start":
            return [self._start(event, block)]
        if kind == "content_block_stop":
            return [*self._texts.end_in_events(lambda key: key[0] == block), event]
        content = event.get("content")
        if kind == "message" and is_list(content):
            return [{**event, "content": [scrub_block(part) for part in content]}]
        return [event]

    def end(self) -> list[Event]:
        """Returns what waited in blocks that never said that they ended."""
        return self._texts.end_in_events(lambda _: True)

    def _delta(self, event: Event, block: object) -> Event:
        delta = as_event(event.get("delta")) or {}
        name = MESSAGE_TEXTS.get(str(delta.get("type")), "")
        text = delta.get(name)
        if not isinstance(text, str):
            return event

        def shape(words: str) -> Event:
            return {**event, "delta": {**delta, name: words}}

        return shape(self._texts.feed((block, name), text, shape))

    def _start(self, event: Event, block: object) -> Event:
        """A block may begin with text; what waits of it comes with the deltas."""
        content = as_event(event.get("content_block")) or {}
        name = str(content.get("type"))
        text = content.get(name)
        if name not in MESSAGE_TEXTS.values() or not isinstance(text, str):
            return event

        def shape(words: str) -> Event:
            delta = {"type": f"{name}_delta", name: words}
            return {"type": "content_block_delta", "index": block, "delta": delta}

        shown = self._texts.feed((block, name), text, shape)
        return {**event, "content_block": {**content, name: shown}}


async def scrub_events(events: AsyncIterable[Event], scrubber: Scrubber) -> AsyncIterator[Event]:
    """Sends every event through the scrubber, and at the end what still waits."""
    async for event in events:
        for clean in scrubber.scrub(event):
            yield clean
    for clean in scrubber.end():
        yield clean


def as_event(value: object) -> Event | None:
    """The value, if it is a dictionary."""
    return cast("Event", value) if isinstance(value, Mapping) else None  # keys of JSON objects are strings


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is a list; its items are looked at one by one."""
    return isinstance(value, list)


def chat_shape(event: Event, index: object, name: str) -> Callable[[str], Event]:
    """How a chunk looks that carries nothing but a text."""
    bare = {key: value for key, value in event.items() if key != "usage"}
    return lambda text: {**bare, "choices": [{"index": index, "delta": {name: text}, "finish_reason": None}]}


def scrub_texts(event: Event, names: Iterable[str]) -> dict[str, Any]:
    """A copy in which the named fields, where they are text, are scrubbed as a whole."""
    scrubbed = dict(event)
    for name in names:
        if isinstance(scrubbed.get(name), str):
            scrubbed[name] = strip_egress(scrubbed[name])
    return scrubbed


def scrub_block(value: object) -> object:
    """A content block of a finished message."""
    block = as_event(value)
    return value if block is None else scrub_texts(block, MESSAGE_TEXTS.values())


def scrub_whole(value: object) -> object:
    """A finished item of a responses stream, which repeats the texts that came in deltas."""
    if is_list(value):
        return [scrub_whole(item) for item in value]
    fields = as_event(value)
    if fields is None:
        return value
    whole = {key: scrub_whole(field) for key, field in fields.items()}
    return scrub_texts(whole, ("text", "refusal")) if fields.get("type") in RESPONSE_PARTS else whole
