"""A tool that has a model write: `ai_generate`.

The texts that a question is about are fenced one by one, and the question is not. What the model answers was chosen by
whoever made the model and by whoever wrote those texts, so it is as foreign as they are; what a person will read of it passes
the egress strip.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from connectors._models import AnthropicModel, Ending, Model, OpenAIModel, Question, Written
from connectors._paging import counted
from registry import AnyTool, FenceKey, Foreign, MixedReply, ToolDef, ToolFailed, ToolInput, refuse, reply
from registry.egress import strip_egress
from registry.errors import DeclarationError, IngressRefused, PromptError
from registry.prompt import ModelText, model_text, own, prompt, stranger

__all__ = [
    "AiGenerate",
    "AnthropicModel",
    "Ending",
    "GivenText",
    "Model",
    "OpenAIModel",
    "Question",
    "Reader",
    "Written",
    "tools",
]

Reader: TypeAlias = Literal["person", "program"]
"""Who reads what the model writes."""

MAX_DETAIL: Final = 4000


class GivenText(ToolInput):
    """A text that the question is about."""

    origin: str = Field(
        min_length=1, max_length=200, description="Where the text comes from, in a few words, such as 'issue 7 in a/b'."
    )
    text: str = Field(max_length=200_000, description="The text.")


class AiGenerate(ToolInput):
    """What `ai_generate` takes."""

    prompt: Annotated[ModelText, Field(min_length=1, max_length=200_000)] = Field(
        description="What the model is to write, in your words. Put texts of others into 'texts', not in here."
    )
    texts: list[GivenText] = Field(
        default=[], max_length=100, description="Texts that the model is to work on. Each is shown to it as data."
    )
    max_tokens: int = Field(default=1024, ge=1, le=16_000, description="How long the answer may be, in tokens.")


def tools(model: Model, *, fence_key: FenceKey, reader: Reader) -> tuple[AnyTool, ...]:
    """Make the tool.

    Args:
        model: what writes: `OpenAIModel(...)`, `AnthropicModel(...)`, or anything that has a name and a `write`.
        fence_key: the deployment's, so that what a pipeline fenced is known again.
        reader: who reads the answers in the end. What goes to a `person` passes the egress strip; a `program` gets it as it
            is.

    Raises:
        DeclarationError: the model, the key or the reader is none.
    """
    check_settings(model, fence_key, reader)
    origin = f"model {model.name}"

    async def ai_generate(request: AiGenerate) -> MixedReply:
        try:
            question = asked(request, fence_key)
            written = await model.write(question)
        except PromptError:
            return refuse(
                "prompt_refused",
                "The prompt holds a mark of the fence that is not of this deployment, or a text names no origin. Write the "
                "prompt in words of your own, and put texts of others into 'texts', each with where it comes from.",
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        except ToolFailed as failed:
            detail = None if failed.detail is None else under(failed.detail, origin, request)
            failure = ToolFailed(failed.words, None if detail is None else read_by(reader, detail))
        else:
            return answered(replace(written, text=under(written.text, origin, request)), reader)
        # Outside of the `except` block, so that what the service said does not travel along as a context.
        raise failure

    return (
        ToolDef(
            name="ai_generate",
            description="Have a model write a text, such as a summary of texts that are given to it.",
            input=AiGenerate,
            handler=ai_generate,
            untrusted_output=origin,
            effect="read",
        ),
    )


def check_settings(model: object, fence_key: object, reader: object) -> None:
    if not isinstance(getattr(model, "name", None), str) or not callable(getattr(model, "write", None)):
        raise DeclarationError(
            "connectors.generate: model is none. Write OpenAIModel(...), AnthropicModel(...), or an object with a name and a "
            "write."
        )
    if not isinstance(fence_key, FenceKey):
        raise DeclarationError("connectors.generate: fence_key is no FenceKey. Give the one that the deployment has.")
    if reader not in ("person", "program"):
        raise DeclarationError("connectors.generate: reader is neither. Write reader='person' or reader='program'.")


def asked(request: AiGenerate, key: FenceKey) -> Question:
    """The question, with each text in a fence of its own (docs/adr/0077-a-models-answer-is-as-foreign-as-its-question.md).

    Raises:
        PromptError: the prompt holds a mark of the fence that does not verify, or a text has a blank origin.
        IngressRefused: nothing is asked for.
    """
    shown = prompt(
        own("You write what the user message asks for. Answer with that text alone. You have no tools."),
        model_text(request.prompt),
        *(stranger(given.text, origin=given.origin) for given in request.texts),
    )
    system, *user = (message["content"] for message in shown.openai(key=key))
    if not user:
        raise IngressRefused("prompt_refused", "The prompt is blank. Say what the model is to write.")
    return Question(system=system, user=user[0], max_tokens=request.max_tokens)


REFUSED: Final[dict[Ending, str]] = {
    "refused": "The model refused to write this. Ask for something else.",
    "filtered": "The model service withheld the answer by its filter of contents. Ask for something else.",
}
FAILED: Final[dict[Ending, str]] = {
    "called": "The model asked for a tool, of which it has none; nothing was called.",
    "paused": "The model paused in the middle of its answer.",
    "broken": "The answer of the model breaks off.",
    "unknown": "The answer of the model ended in a way that is not known here.",
}


def answered(written: Written, reader: Reader) -> MixedReply:
    """What the model wrote, under its own origin and those of the texts; or how it came to write nothing that holds."""
    if written.ending in REFUSED:
        return refuse(f"model_{written.ending}", REFUSED[written.ending])
    text = read_by(reader, written.text)
    if written.ending in FAILED:
        raise ToolFailed(FAILED[written.ending], text.map(lambda whole: whole[:MAX_DETAIL]))
    words = [f"The model wrote {counted(text.measure(len), 'character')}{tokens(written)}."]
    if written.ending == "cut":
        words.append(
            "It reached the limit of its length, so the end is missing; ask with a higher max_tokens for more."
        )
    if reader == "person" and is_other(written.text, text):
        words.append("Addresses and markup that load or lead somewhere were taken out.")
    return reply(" ".join(words), text)


def read_by(reader: Reader, text: Foreign[str]) -> Foreign[str]:
    """What the reader gets of a text, whether it is an answer or what a failure says: a service repeats what it was sent."""
    return text.map(strip_egress) if reader == "person" else text


def under(text: Foreign[str], origin: str, request: AiGenerate) -> Foreign[str]:
    """A text under the model's origin, and those of the texts: who wrote them has chosen its words too."""
    sources = (Foreign("", each) for each in (origin, *(given.origin for given in request.texts)))
    return Foreign.join((text, *sources)).map(first)


def first(texts: tuple[str, ...]) -> str:
    return texts[0]


def tokens(written: Written) -> str:
    """What it cost, as far as the service says so."""
    sides = ((written.input_tokens, "in"), (written.output_tokens, "out"))
    said = [f"{counted(count, 'token')} {side}" for count, side in sides if count is not None]
    return f" ({', '.join(said)})" if said else ""


def is_other(one: Foreign[str], other: Foreign[str]) -> bool:
    return Foreign.join((one, other)).measure(differ)


def differ(texts: tuple[str, ...]) -> bool:
    return texts[0] != texts[1]
