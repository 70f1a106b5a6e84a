"""Models that are asked over HTTP, and what a model is to the tool that asks it.

Answers are read as streams, so that one that breaks off is told from one that is whole. Nothing of an answer is ours but a
word for how it ended and two numbers; a tool that a model asks for is never called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, final

from pydantic import BaseModel, ConfigDict, Field

from connectors._rest import Answer, Credential, Service, word
from connectors.ingress import NetworkRules
from registry import Foreign
from registry.errors import ForeignError

__all__ = ["AnthropicModel", "Ending", "Model", "OpenAIModel", "Question", "Written"]

# A model writes for minutes, each token in an event of its own; the call's own deadline bounds it as well.
PATIENT: Final = NetworkRules(timeout_s=300, max_bytes=20_000_000)
STREAM: Final = {"Accept": "text/event-stream"}

Ending: TypeAlias = Literal["whole", "cut", "refused", "filtered", "called", "paused", "broken", "unknown"]
"""How an answer of a model ended: whole, or why it is not."""
Event: TypeAlias = dict[str, Any]

LINE_END: Final = re.compile(r"\r\n|\n|\r")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked."""

    system: str
    """Words of this program, with the notice that explains the fence."""
    user: str
    """What is asked for, with every text of a stranger in a fence of its own."""
    max_tokens: int
    """How long the answer may be."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """What a model answered."""

    text: Foreign[str]
    """Its words; of a tool that it asked for, the call as JSON."""
    ending: Ending
    """How it ended: `whole`; `cut` by a limit of length; `refused` by the model; `filtered` by the service; `called` with a
    tool that it was not given; `paused`, to be gone on with; `broken` off; or `unknown`."""
    input_tokens: int | None = None
    """How many tokens the question had, if the service says so."""
    output_tokens: int | None = None
    """How many tokens the answer has, if the service says so."""


class Model(Protocol):
    """Something that writes text."""

    @property
    def name(self) -> str:
        """What it is called: the answer's origin is `model NAME`."""
        ...

    async def write(self, question: Question) -> Written:
        """Answer a question.

        Raises:
            IngressRefused: it cannot be asked; the handler answers with the refusal.
            ToolFailed: it failed, in words of ours; what it said about it is the detail.
        """
        ...


# -- over HTTP -----------------------------------------------------------------------------------------------------


@final
class OpenAIModel:
    """A model behind OpenAI's interface for chats, which most servers of models have.

    Args:
        model: the name of the model, as the service knows it.
        secrets: gives the key by its name; None asks without one, as of a server of your own.
        secret: the name of the key.
        server: the address up to `/chat/completions`.
        rules: how far requests may reach.
        length_field: how the service names the bound on the answer; older ones know `max_tokens` alone.

    Raises:
        DeclarationError: the address or the rules cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        secrets: Callable[[str], str] | None,
        secret: str = "openai",  # noqa: S107  # a name
        server: str = "https://api.openai.com/v1",
        rules: NetworkRules = PATIENT,
        length_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens",
    ) -> None:
        self.model = model
        self.length_field = length_field
        self.service = Service(
            connector="connectors.generate",
            name="The model service",
            server=server,
            rules=rules,
            credential=None
            if secrets is None
            else Credential(give=secrets, name=secret, header="Authorization", scheme="Bearer"),
            headers=STREAM,
        )

    @property
    def name(self) -> str:
        return self.model

    async def write(self, question: Question) -> Written:
        """Ask for a streamed completion and read it to its end."""
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
            self.length_field: question.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        answer = await self.service.ask("chat", "completions", origin=f"model {self.model}", json_body=body)
        return written(answer, read_openai)


@final
class AnthropicModel:
    """A model behind Anthropic's interface for messages.

    Args:
        model: the name of the model, as the service knows it.
        secrets: gives the key by its name.
        secret: the name of the key.
        server: the address up to `/v1/messages`.
        rules: how far requests may reach.

    Raises:
        DeclarationError: the address or the rules cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        secrets: Callable[[str], str],
        secret: str = "anthropic",  # noqa: S107  # a name
        server: str = "https://api.anthropic.com",
        rules: NetworkRules = PATIENT,
    ) -> None:
        self.model = model
        self.service = Service(
            connector="connectors.generate",
            name="The model service",
            server=server,
            rules=rules,
            credential=Credential(give=secrets, name=secret, header="x-api-key"),
            headers={**STREAM, "anthropic-version": "2023-06-01"},
        )

    @property
    def name(self) -> str:
        return self.model

    async def write(self, question: Question) -> Written:
        """Ask for a streamed message and read it to its end."""
        body = {
            "model": self.model,
            "system": question.system,
            "messages": [{"role": "user", "content": question.user}],
            "max_tokens": question.max_tokens,
            "stream": True,
        }
        answer = await self.service.ask("v1", "messages", origin=f"model {self.model}", json_body=body)
        return written(answer, read_anthropic)


class Facts(BaseModel):
    """What may be said in our words of an answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    ending: Ending
    input_tokens: int | None = Field(default=None, ge=0, le=10**9)
    output_tokens: int | None = Field(default=None, ge=0, le=10**9)


def written(answer: Answer, read: Callable[[Iterator[Event]], Event]) -> Written:
    """Read a stream that has ended.

    Raises:
        ToolFailed: the service answered something else.
    """
    if answer.status in (500, 502, 503, 504, 529):
        raise answer.failure(f"The model service is not able to answer now (status {answer.status}). Ask again later.")
    if answer.status != 200:
        raise answer.unexpected()
    try:
        said = answer.text().map(events).map(read)
        facts = said.narrow(Facts)
    except ForeignError:
        failure = answer.failure("The answer of the model service is not a stream that can be read.")
    else:
        return Written(
            text=said.map(lambda whole: answer.secrets.hide(whole["text"])),
            ending=facts.ending,
            input_tokens=facts.input_tokens,
            output_tokens=facts.output_tokens,
        )
    raise failure


# -- streams, inside of `Foreign.map` ------------------------------------------------------------------------------


def events(text: str) -> Iterator[Event]:
    """The events of a stream, up to the one that says that it is done; one without its blank line did not arrive."""
    data: list[str] = []
    for line in LINE_END.split(text):
        field, _, value = line.partition(":")
        if line == "" and data:
            joined = "\n".join(data)
            if joined == "[DONE]":
                return
            yield cast("Event", json.loads(joined))
            data = []
        elif field == "data":
            data.append(value.removeprefix(" "))


OPENAI_ENDINGS: Final[Mapping[object, Ending]] = {
    None: "broken",
    "stop": "whole",
    "length": "cut",
    "content_filter": "filtered",
    "tool_calls": "called",
    "function_call": "called",
}
ANTHROPIC_ENDINGS: Final[Mapping[object, Ending]] = {
    None: "broken",
    "end_turn": "whole",
    "stop_sequence": "whole",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
    "tool_use": "called",
    "pause_turn": "paused",
}


@final
class Reading:
    """One answer, as far as its stream was read."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls: list[str] = []
        self.reason: object = None
        self.is_refusal = False
        self.error: Event | None = None
        self.usage: Event = {}

    def done(self, endings: Mapping[object, Ending], *, counts: tuple[str, str]) -> Event:
        """What came of it: a word of ours for theirs, the text, and how many tokens each side has."""
        known = endings.get(self.reason, "unknown") if isinstance(self.reason, str | None) else "unknown"
        text = "".join(self.text)
        if self.error is not None:
            known, text = "broken", "\n".join(filter(None, (text, json.dumps(self.error))))
        elif self.calls and known in ("whole", "called"):
            known, text = "called", "".join((text, *self.calls))
        elif self.is_refusal and known == "whole":
            known = "refused"
        return {
            "text": text,
            "ending": known,
            "input_tokens": self.usage.get(counts[0]),
            "output_tokens": self.usage.get(counts[1]),
        }


def read_openai(stream: Iterator[Event]) -> Event:
    """Put a streamed completion together. Only the first choice is looked at; one is what was asked for."""
    reading = Reading()
    for event in stream:
        if event.get("error"):
            reading.error = event
            break
        reading.usage |= inner(event, "usage")
        for choice in inners(event, "choices"):
            if choice.get("index", 0) == 0:
                read_delta(inner(choice, "delta"), reading)
                reading.reason = choice.get("finish_reason") or reading.reason
    return reading.done(OPENAI_ENDINGS, counts=("prompt_tokens", "completion_tokens"))


def read_delta(delta: Event, reading: Reading) -> None:
    reading.text.append(word(delta, "content"))
    reading.is_refusal = reading.is_refusal or bool(delta.get("refusal"))
    reading.calls += [
        json.dumps(call) for call in (*inners(delta, "tool_calls"), inner(delta, "function_call")) if call
    ]


def read_anthropic(stream: Iterator[Event]) -> Event:
    """Put a streamed message together. Blocks that are not text, such as thinking, are no part of the answer."""
    reading = Reading()
    for event in stream:
        kind = event.get("type")
        if kind == "error":
            reading.error = event
            break
        reading.usage |= inner(event, "usage") | inner(inner(event, "message"), "usage")
        if kind == "content_block_start":
            read_block(inner(event, "content_block"), reading)
        elif kind == "content_block_delta":
            delta = inner(event, "delta")
            reading.text.append(word(delta, "text") if delta.get("type") == "text_delta" else "")
            reading.calls += [partial] if (partial := word(delta, "partial_json")) else []
        elif kind == "message_delta":
            reading.reason = inner(event, "delta").get("stop_reason") or reading.reason
    return reading.done(ANTHROPIC_ENDINGS, counts=("input_tokens", "output_tokens"))


def read_block(block: Event, reading: Reading) -> None:
    kind = word(block, "type")
    if kind == "text":
        reading.text.append(word(block, "text"))
    elif kind.endswith("tool_use"):
        reading.calls.append(json.dumps(block))


def inner(value: Event, key: str) -> Event:
    """An object inside of an event, or an empty one."""
    found = value.get(key)
    return cast("Event", found) if isinstance(found, dict) else {}


def inners(value: Event, key: str) -> list[Event]:
    """The objects of a list inside of an event."""
    found = value.get(key)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Event", item) for item in listed if isinstance(item, dict)]
