"""A prompt, made of parts that each say who wrote them. What a stranger wrote is fenced; a bare string cannot be added.

It answers what a model is sent where no tool is called: a system prompt, a task, a page, a retrieval block. It must never
let text become the program's or the owner's because nobody said whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, LiteralString, TypeAlias, cast, final

from typing_extensions import TypedDict

from registry._as_text import as_text
from registry._fence import FenceKey, Segment, block_spans, break_markers, compose, fence_notice, holds_block
from registry._foreign import Foreign, class_name, is_origin, join_origins, open_foreign, origins_of, shown, under
from registry._reply import Media
from registry.errors import PromptError

__all__ = [
    "AnthropicPrompt",
    "Message",
    "ModelText",
    "Prompt",
    "PromptPart",
    "model_text",
    "own",
    "owner",
    "prompt",
    "stranger",
]

Author: TypeAlias = Literal["program", "owner", "caller", "stranger"]


@final
class ReadByModel:
    """Marks a field of a tool's input whose text a model will read."""


READ_BY_MODEL: Final = ReadByModel()
ModelText = Annotated[str, READ_BY_MODEL]
"""The type of a field of a tool's input whose text becomes part of a prompt. A pipeline fills it by `$prompt` alone."""


class Message(TypedDict):
    """One message, as the chat interfaces take it."""

    role: Literal["system", "user"]
    """Whose message it is to the model."""
    content: str
    """Its text, with what strangers wrote in fences."""


class AnthropicPrompt(TypedDict, total=False):
    """The two arguments of Anthropic's interface; `system` is left out when it would be empty."""

    system: str
    """The program's own instructions."""
    messages: list[Message]
    """The rest, as messages of the user."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptPart:
    """A text and who wrote it. Made by `own`, `owner`, `model_text` and `stranger` alone."""

    author: Author
    """Who wrote it."""
    text: str | Foreign[object]
    """What was written; `Foreign` when it was a stranger."""


def own(text: LiteralString, **numbers: float) -> PromptPart:
    """Add words of this program: a text that stands in its source, with numbers filled into `{name}`.

    The type is `LiteralString`, so pyright refuses a text that was put together at run time (mypy takes it for `str`). A
    prompt that is read from a file of yours is `owner(...)`.

    Raises:
        PromptError: the text is no string, a number is none, or a name is missing.
    """
    checked_text("own", text)
    for name, number in numbers.items():
        if type(cast("object", number)) not in (int, float, bool):
            raise PromptError(
                f"own: {name!r} is a {class_name(number)}. Only numbers are filled in; for text write owner(...) or "
                "stranger(...)."
            )
    try:
        filled = str(text).format(**numbers) if numbers else text
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise PromptError(
            "own: the text does not fit its numbers. Name each as {name}, and write {{ for a brace."
        ) from error
    return PromptPart(author="program", text=filled)


def owner(text: str) -> PromptPart:
    """Add words of the person whom this program serves, typed by them or set down in their configuration.

    Whoever reaches you by a webhook, a mail or a form is not the owner, even when the owner asked for it.

    Raises:
        PromptError: the text is no string.
    """
    return PromptPart(author="owner", text=checked_text("owner", text))


def model_text(text: str) -> PromptPart:
    """Add what a field typed `ModelText` holds: words of whoever called the tool, in which strangers' are fenced already.

    Blocks stand as they are. Words outside of them must hold no mark of the fence: one that does not verify was made with
    another key, or by somebody who wants it taken for one.

    Raises:
        PromptError: the text is no string.
    """
    return PromptPart(author="caller", text=checked_text("model_text", text))


def stranger(text: str | Foreign[object], *, origin: str | None = None) -> PromptPart:
    """Add text that somebody else chose: a string with its origin, or a foreign value, which mostly brings its own.

    A foreign value that is no text is shown as JSON.

    Raises:
        PromptError: nobody says who chose it, or it is neither a string nor a `Foreign`.
    """
    if origin is not None and not is_origin(origin):
        raise PromptError(f"stranger: origin is {shown(origin)}. Write a string with a letter or digit in it.")
    named = () if origin is None else (origin,)
    if isinstance(text, Foreign):
        origins = join_origins(origins_of(text), named)
        value: object = open_foreign(text)
    else:
        origins, value = named, checked_text("stranger", text)
    if not origins:
        raise PromptError("stranger: nobody says who chose the text. Write origin='...', in a few words.")
    if isinstance(value, Media):
        raise PromptError("stranger: media are not text. Send them as the provider's media part, between fenced lines.")
    return PromptPart(author="stranger", text=under(value, origins))


def checked_text(author: str, text: object) -> str:
    if isinstance(text, str):
        return str.__str__(text)
    got, instead = ("Foreign", "stranger(...)") if isinstance(text, Foreign) else (class_name(text), "a str")
    raise PromptError(f"{author}: got a {got}. Write {instead}.")


def prompt(*parts: PromptPart) -> Prompt:
    """Put parts together, in the order given.

    Raises:
        PromptError: a part says not who wrote it; a bare string does not.
    """
    for number, part in enumerate(parts, start=1):
        if not isinstance(cast("object", part), PromptPart):
            raise PromptError(
                f"prompt: part {number} is a {class_name(part)}, so nobody says who wrote it. Write own('...') for words in "
                "this source, owner(text) for the owner's, stranger(text, origin=...) for everything else."
            )
    return Prompt(parts=parts)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prompt:
    """Parts with their authors, not yet shown. Each form fences what strangers wrote, and explains the fence once."""

    parts: tuple[PromptPart, ...]
    """The parts, in order."""

    @property
    def origins(self) -> tuple[str, ...]:
        """Who chose the foreign bytes."""
        return join_origins(*(origins_of(part.text) for part in self.parts if isinstance(part.text, Foreign)))

    def text(self, *, key: FenceKey) -> str:
        """Return the whole as one text, for a system prompt or a model that takes plain text.

        Raises:
            PromptError: own or owner's words hold a block of the fence.
        """
        return shown_together(self.parts, key, notice=self.needs_notice(key))

    def openai(self, *, key: FenceKey) -> list[Message]:
        """Return the messages of OpenAI's interface: own words in front as `system`, then everything as one `user`.

        Raises:
            PromptError: own or owner's words hold a block of the fence.
        """
        system, user = self.halves(key)
        messages: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        return [message for message in messages if message["content"]]

    def anthropic(self, *, key: FenceKey) -> AnthropicPrompt:
        """Return `system` and `messages` of Anthropic's interface, divided as for `openai`.

        Raises:
            PromptError: own or owner's words hold a block of the fence.
        """
        system, user = self.halves(key)
        messages: list[Message] = [{"role": "user", "content": user}] if user else []
        return {"system": system, "messages": messages} if system else {"messages": messages}

    def halves(self, key: FenceKey) -> tuple[str, str]:
        """The own words in front, with the notice, and the rest.

        No text of anybody else's enters the system message, fenced or not: it is the one that models are trained to obey.
        """
        first = next((number for number, part in enumerate(self.parts) if part.author != "program"), len(self.parts))
        system = shown_together(self.parts[:first], key, notice=self.needs_notice(key))
        return system, shown_together(self.parts[first:], key, notice=False)

    def needs_notice(self, key: FenceKey) -> bool:
        """The notice stands once: where there is a block to explain, or where own words ask for it."""
        return any(
            isinstance(part.text, Foreign) or fence_notice() in part.text or holds_block(part.text, key=key)
            for part in self.parts
        )


def shown_together(parts: Sequence[PromptPart], key: FenceKey, *, notice: bool) -> str:
    """Show parts in one go, so that the scan for markers runs over all of them and one that is spliced is found.

    The notice stands in front of what was scanned: it names the marker, which the scan would break. A block that is there
    already parts what stands before it from what stands after it.
    """
    texts: list[str] = []
    segments: list[Segment] = []
    for part in parts:
        if isinstance(part.text, Foreign):
            text = as_text(open_foreign(cast("Foreign[Any]", part.text)))
            segments.append(Segment(text=text, origins=origins_of(part.text)))
            continue
        if part.author != "caller" and holds_block(part.text, key=key):
            raise PromptError(
                f"prompt: words of the {part.author} hold a block of the fence. Give the value itself as stranger(...); the "
                "fence is put on here."
            )
        for words, block in around_blocks(part.text, key):
            if part.author == "caller" and break_markers(words) != words:
                raise PromptError(
                    "model_text: words outside of a block hold a mark of the fence that does not verify. Give the key that "
                    "the blocks were made with, the deployment's, or leave the mark out."
                )
            add_words(segments, words)
            if block:
                texts += [composed(segments, key), block]
                segments = []
    words = "\n".join(filter(None, (*texts, composed(segments, key))))
    return "\n\n".join(filter(None, (fence_notice() if notice else "", words)))


def around_blocks(text: str, key: FenceKey) -> Iterator[tuple[str, str]]:
    """The words of a text, without the notice, each with the block that follows it; the last with none."""
    done = 0
    for start, end in (*block_spans(text, key=key), (len(text), len(text))):
        yield text[done:start].replace(fence_notice(), "").strip("\n"), text[start:end]
        done = end


def add_words(segments: list[Segment], words: str) -> None:
    if words and segments and segments[-1].origins is None:
        segments[-1] = Segment(text=f"{segments[-1].text}\n\n{words}", origins=None)
    elif words:
        segments.append(Segment(text=words, origins=None))


def composed(segments: Sequence[Segment], key: FenceKey) -> str:
    return compose(segments, key=key) if segments else ""
