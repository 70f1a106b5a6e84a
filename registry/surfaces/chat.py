"""The chat surface: tools and results in the forms of the model providers, as plain dicts and without their libraries.

It translates and decides nothing: every call goes through `run_registry_tool`, and what a model reads of an outcome is its
`text` and nothing else. The structured half stays with the program.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast, final

from pydantic_core import from_json

from registry._catalog import CatalogTool, catalog
from registry._deployment import Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._envelope import media_of
from registry._foreign import shown
from registry._outcome import Answered, Failed, Malformed, Outcome, Refused, Shed, TimedOut
from registry.errors import CallError, DeclarationError
from registry.surfaces._chat_schema import inlined, strict_schema, without_filler
from registry.surfaces._wire import wire_text

__all__ = ["ChatFormat", "chat_tools", "run_tool_calls"]

ChatFormat: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]
"""Whose spelling of tools and of their results is read and written."""
Body: TypeAlias = "dict[str, Any]"

# Of the inputs' own fields; an alias may hold anything.
ANTHROPIC_FIELD: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
# The kinds of media that a model of each provider looks at. Another kind is said to be left out.
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF: Final = "application/pdf"


def chat_tools(
    deployment: Deployment, form: ChatFormat, *, caller: Caller | None = None, strict: bool = False
) -> list[Body]:
    """Return the tools that a caller may use, as the parameter `tools` of a provider's request.

    Args:
        deployment: what the composition root decided.
        form: the provider's form.
        caller: who asks; None is the process itself.
        strict: for OpenAI: hold the model to the schema. A tool whose input strict mode cannot express is offered without.

    Raises:
        DeclarationError: the form is unknown, or a provider refuses the name of a field.
    """
    known = form_of(form)
    names = wire_names(deployment, known)
    found = catalog(deployment, caller).tools
    return known.listed([known.offered(tool, names[tool.name], strict) for tool in found])


async def run_tool_calls(
    deployment: Deployment,
    form: ChatFormat,
    calls: Iterable[Mapping[str, Any]],
    *,
    caller: Caller | None = None,
    argument_origins: Iterable[str] = (),
    strict: bool = False,
) -> list[Body]:
    """Run the tool calls of a model's turn, all at once as far as the admission lets them; return what goes back, in order.

    Args:
        deployment: what the composition root decided.
        form: the provider's form.
        calls: the model's turn as a list of dicts: Anthropic's `content`, OpenAI Chat's `tool_calls`, OpenAI Responses'
            `output`, Gemini's `parts`. What is no tool call is passed over.
        caller: who asks; None is the process itself.
        argument_origins: who chose the arguments, if not this program or its owner.
        strict: as for `chat_tools`: then a null stands for a field that is left out, and is read so.

    Returns:
        The messages (for Responses the input items) to append to the conversation; none when there is no call.

    Raises:
        CallError: a call has not the form of the provider's calls.
        DeclarationError: the form is unknown.
        asyncio.CancelledError: the caller was cancelled, and with it all of the calls.
    """
    known = form_of(form)
    names = {wire: name for name, wire in wire_names(deployment, known).items()}
    asked = [call for call in map(known.asked, calls) if call is not None]
    origins = tuple(argument_origins)

    async def outcome(call: Asked) -> Outcome:
        name = names.get(call.name, call.name)
        arguments = parsed(call.arguments) if call.is_text else call.arguments
        if strict and name in deployment.tools:
            arguments = without_filler(arguments, CatalogTool.under("omitted", deployment.tools[name]).schema())
        return await run_registry_tool(deployment, name, arguments, caller=caller, argument_origins=origins)

    outcomes = await asyncio.gather(*map(outcome, asked))
    return known.answered([known.result(call, outcome) for call, outcome in zip(asked, outcomes, strict=True)])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call of a model."""

    id: str
    """The provider's id of it; empty where the provider gives none."""
    name: str
    """The tool, as the provider knows it."""
    arguments: Any
    """A dict, if it is well; the dispatcher says what is wrong with anything else."""
    is_text: bool
    """Whether the arguments came as JSON in a string."""


def parsed(text: str) -> Any:
    """JSON that a model wrote, or None, which is malformed to every tool. Some write nothing at all for no arguments."""
    if not text.strip():
        return {}
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return None


# -- the four forms ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a provider writes tools, calls and results."""

    name: re.Pattern[str]
    """What a name may be; our own names are held to `[A-Za-z0-9_-]{1,64}` anyway."""
    offered: Callable[[CatalogTool, str, bool], Body]
    listed: Callable[[list[Body]], list[Body]]
    asked: Callable[[Mapping[str, Any]], Asked | None]
    result: Callable[[Asked, Outcome], Body]
    answered: Callable[[list[Body]], list[Body]]


def as_they_are(bodies: list[Body]) -> list[Body]:
    return bodies


def anthropic_tool(tool: CatalogTool, name: str, strict: bool) -> Body:  # noqa: ARG001
    schema = inlined(tool.schema())
    for field in schema.get("properties", {}):
        if not ANTHROPIC_FIELD.match(field):
            raise DeclarationError(
                f"Tool {tool.name!r}: Anthropic takes no field named {shown(field)}. Name it with 1 to 64 of A-Z, a-z, 0-9, "
                "'_', '.' and '-'."
            )
    return {"name": name, "description": tool.description, "input_schema": schema}


def openai_function(tool: CatalogTool, name: str, strict: bool) -> Body:
    held = strict_schema(tool.schema()) if strict else None
    parameters = inlined(tool.schema()) if held is None else held
    # Always said: Responses takes a tool that does not say it for a strict one, and changes its schema.
    return {"name": name, "description": tool.description, "parameters": parameters, "strict": held is not None}


def gemini_function(tool: CatalogTool, name: str, strict: bool) -> Body:  # noqa: ARG001
    return {"name": name, "description": tool.description, "parametersJsonSchema": inlined(tool.schema())}


def anthropic_call(block: Mapping[str, Any]) -> Asked | None:
    if block.get("type") != "tool_use":
        return None
    return Asked(id=text_at(block, "id"), name=text_at(block, "name"), arguments=block.get("input"), is_text=False)


def openai_chat_call(call: Mapping[str, Any]) -> Asked | None:
    if call.get("type", "function") != "function":
        return None
    function = cast("object", call.get("function"))
    if not isinstance(function, Mapping):
        raise no_call("function")
    inside = cast("Mapping[str, Any]", function)
    name, arguments = text_at(inside, "name"), text_at(inside, "arguments")
    return Asked(id=text_at(call, "id"), name=name, arguments=arguments, is_text=True)


def openai_responses_call(item: Mapping[str, Any]) -> Asked | None:
    if item.get("type") != "function_call":
        return None
    name, arguments = text_at(item, "name"), text_at(item, "arguments")
    return Asked(id=text_at(item, "call_id"), name=name, arguments=arguments, is_text=True)


def gemini_call(part: Mapping[str, Any]) -> Asked | None:
    call = cast("object", part.get("functionCall", part.get("function_call")))
    if call is None:
        return None
    if not isinstance(call, Mapping):
        raise no_call("functionCall")
    inside = cast("Mapping[str, Any]", call)
    its_id = text_at(inside, "id") if inside.get("id") is not None else ""
    # Left out where there are none.
    arguments: Any = {} if inside.get("args") is None else inside["args"]
    return Asked(id=its_id, name=text_at(inside, "name"), arguments=arguments, is_text=False)


def text_at(mapping: Mapping[str, Any], key: str) -> str:
    value = cast("object", mapping.get(key))
    if not isinstance(value, str):
        raise no_call(key)
    return value


def no_call(key: str) -> CallError:
    # What stands there instead is the model's, so it is not shown.
    return CallError(
        f"run_tool_calls: a call has no {key!r} of the form of this provider. Give its calls as plain dicts."
    )


def anthropic_result(call: Asked, outcome: Outcome) -> Body:
    result: Body = {"type": "tool_result", "tool_use_id": call.id}
    parts = parts_of(outcome, anthropic_text, anthropic_media)
    if parts is not None:
        result["content"] = parts
    elif outcome.text:
        # An empty text is refused; a result without content is not.
        result["content"] = wire_text(outcome.text)
    return {**result, "is_error": True} if is_error(outcome) else result


def anthropic_text(text: str) -> Body:
    return {"type": "text", "text": text}


def anthropic_media(mime: str, base64: str) -> Body | None:
    if mime not in IMAGES and mime != PDF:
        return None
    kind = "image" if mime in IMAGES else "document"
    return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": base64}}


def openai_chat_result(call: Asked, outcome: Outcome) -> Body:
    # A message of a tool holds text alone.
    return {"role": "tool", "tool_call_id": call.id, "content": wire_text(outcome.text)}


def openai_responses_result(call: Asked, outcome: Outcome) -> Body:
    parts = parts_of(outcome, responses_text, responses_media)
    return {
        "type": "function_call_output",
        "call_id": call.id,
        "output": wire_text(outcome.text) if parts is None else parts,
    }


def responses_text(text: str) -> Body:
    return {"type": "input_text", "text": text}


def responses_media(mime: str, base64: str) -> Body | None:
    url = f"data:{mime};base64,{base64}"
    if mime in IMAGES:
        return {"type": "input_image", "image_url": url}
    return {"type": "input_file", "filename": "file.pdf", "file_data": url} if mime == PDF else None


def gemini_result(call: Asked, outcome: Outcome) -> Body:
    # The two keys are the provider's own for what a function gave and for what went wrong.
    response: Body = {"error" if is_error(outcome) else "output": wire_text(outcome.text)}
    result: Body = {"name": call.name, "response": response}
    return {"functionResponse": {"id": call.id, **result} if call.id else result}


def is_error(outcome: Outcome) -> bool:
    """Whether a call went wrong. A refusal is a result, but a tool that there is not is a mistake of the model's."""
    match outcome:
        case Answered():
            return False
        case Refused():
            return outcome.code == "unknown_tool"
        case Malformed() | Failed() | Shed() | TimedOut():
            return True


def parts_of(
    outcome: Outcome, text: Callable[[str], Body], media: Callable[[str, str], Body | None]
) -> list[Body] | None:
    """The parts of an answer with media, each between its lines; None when the text is all that the provider takes.

    The text says of every part that there is one, so a kind that the provider does not take is simply not there.
    """
    parts: list[Body] = []
    for part in outcome.media if isinstance(outcome, Answered) else ():
        found = media_of(part)
        shown_part = media(found.mime, b64encode(found.content).decode("ascii"))
        if shown_part is not None:
            lines = [text(line) for line in (part.opening, part.closing) if line]
            parts += [*lines[:1], shown_part, *lines[1:]]
    head = [text(wire_text(outcome.text))] if outcome.text else []
    return [*head, *parts] if parts else None


def one_user_message(results: list[Body]) -> list[Body]:
    """All results in one message: a provider that gets them in several refuses, or learns not to call at once."""
    return [{"role": "user", "content": results}] if results else []


def one_turn_of_parts(results: list[Body]) -> list[Body]:
    return [{"role": "user", "parts": results}] if results else []


ANY_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "anthropic": Form(
            name=ANY_NAME,
            offered=anthropic_tool,
            listed=as_they_are,
            asked=anthropic_call,
            result=anthropic_result,
            answered=one_user_message,
        ),
        "openai-chat": Form(
            name=ANY_NAME,
            offered=lambda tool, name, strict: {"type": "function", "function": openai_function(tool, name, strict)},
            listed=as_they_are,
            asked=openai_chat_call,
            result=openai_chat_result,
            answered=as_they_are,
        ),
        "openai-responses": Form(
            name=ANY_NAME,
            offered=lambda tool, name, strict: {"type": "function", **openai_function(tool, name, strict)},
            listed=as_they_are,
            asked=openai_responses_call,
            result=openai_responses_result,
            answered=as_they_are,
        ),
        "gemini": Form(
            name=re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z"),
            offered=gemini_function,
            listed=lambda tools: [{"functionDeclarations": tools}] if tools else [],
            asked=gemini_call,
            result=gemini_result,
            answered=one_turn_of_parts,
        ),
    }
)


def form_of(form: str) -> Form:
    known = FORMS.get(form)
    if known is None:
        raise DeclarationError(f"chat: form is {shown(form)}. Write one of: {', '.join(FORMS)}.")
    return known


def wire_names(deployment: Deployment, form: Form) -> dict[str, str]:
    """The name of each tool at a provider: its own where the provider takes it, else a like one that no other tool has.

    It depends on the registry alone, so that the call comes back to the tool that was offered.
    """
    taken = set(deployment.tools)
    names: dict[str, str] = {}
    for name in deployment.tools:
        wire = name
        if not form.name.match(name):
            wire = f"_{name}"
            if wire in taken or not form.name.match(wire):
                wire = f"_{name[:54]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
            taken.add(wire)
        names[name] = wire
    return names


assert set(FORMS) == set(cast("Sequence[str]", ChatFormat.__args__))  # type: ignore[attr-defined]
