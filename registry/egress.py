"""The egress strip: what a model wrote leaves towards a reader without anything that loads, links or runs.

Markdown images and links keep their visible words and lose their address, markup that could point outside
goes, a bare address becomes an inert placeholder, and an ordinary answer passes byte for byte. It is
deterministic: no model, no list of good hosts, no judgement, and no setting that weakens it. It must never
be put in for the live feed alone: the settled answer, and what is stored, go through the same machine
(`Turn`). The design stands in `_egress_machine`, the limits in docs/explanation/egress.md.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any, Final, final

from registry._egress_events import AnthropicScrubber, Event, OpenAIScrubber, scrub_events
from registry._egress_filter import EgressFilter, strip_egress
from registry._egress_machine import LINK_REMOVED, MARKUP_REMOVED, MAX_HELD

__all__ = [
    "LINK_REMOVED",
    "MARKUP_REMOVED",
    "MAX_HELD",
    "EgressFilter",
    "Turn",
    "filter_anthropic_events",
    "filter_openai_events",
    "filter_stream",
    "scrub_snapshot",
    "strip_egress",
]

FREE_TEXT: Final = "next_message_md"


async def filter_stream(chunks: AsyncIterable[str]) -> AsyncIterator[str]:
    """Yields the chunks of one text without anything that loads, links or runs."""
    egress = EgressFilter()
    async for chunk in chunks:
        if clean := egress.feed(chunk):
            yield clean
    if rest := egress.flush():
        yield rest


def scrub_snapshot(text: str) -> str:
    """Returns a partial text, resent whole at each tick, without anything that loads, links or runs.

    What one snapshot took out, no later one shows again: the part that was settled is the same in every
    later snapshot, and what is undecided at the end of this one is shown only as far as it is harmless as
    it stands.
    """
    return strip_egress(text)


def filter_openai_events(events: AsyncIterable[Event]) -> AsyncIterator[Event]:
    """Yields the events of an OpenAI-style stream (chat completions or responses) with their texts scrubbed.

    Each event is a plain dictionary. Tool calls, usage and all other fields pass as they are.
    """
    return scrub_events(events, OpenAIScrubber())


def filter_anthropic_events(events: AsyncIterable[Event]) -> AsyncIterator[Event]:
    """Yields the events of an Anthropic-style message stream with their texts scrubbed.

    Each event is a plain dictionary. Tool input, usage and all other fields pass as they are.
    """
    return scrub_events(events, AnthropicScrubber())


@final
class Turn:
    """One answer of a model on its way to a reader: live deltas first, then the settled turn that replaces
    them.

    Both come out of the same machine, and both end at the same boundary: `settle` scrubs the settled text
    before it is stored or pushed, and `tail` is what the live feed still owes its reader. When the model's
    deltas add up to the settled text, the live text and the settled one are equal.
    """

    __slots__ = ("_field", "_filter", "_tail")

    def __init__(self, free_text: str = FREE_TEXT) -> None:
        """Names the field of the settled turn that holds the model's words; no other field is touched."""
        self._field = free_text
        self._filter = EgressFilter()
        self._tail = ""

    def delta(self, text: str) -> str:
        """Takes the next piece of the live answer and returns what may be shown now."""
        return self._filter.feed(text)

    def settle(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settled turn with its free text scrubbed, to be stored and pushed; ends the live feed.

        Raises:
            ValueError: The turn has no such field, or it is not text, so that nobody can say that it was
            scrubbed.
        """
        text = turn.get(self._field)
        if text is not None and not isinstance(text, str):
            raise ValueError(
                f"Turn: the field {self._field!r} holds {type(text).__name__}, not text. "
                "Name the field of the model's words: Turn(free_text=...)."
            )
        if self._field not in turn:
            raise ValueError(
                f"Turn: the settled turn has no field {self._field!r}. "
                "Name the field of the model's words: Turn(free_text=...)."
            )
        self._tail += self._filter.flush()
        return {**turn, self._field: None if text is None else strip_egress(text)}

    def tail(self) -> str:
        """Returns, once, what the live feed still owes its reader after `settle`."""
        tail, self._tail = self._tail + self._filter.flush(), ""
        return tail
