"""What a tool is, and the one question that it must answer: who chose the bytes that it returns.

Read this first. A `ToolDef` is a fact, checked when it is built; it runs nothing and renders nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Generic, Literal, TypeAlias, cast, final, get_args

from pydantic import BaseModel, ConfigDict, PydanticUserError
from pydantic.errors import PydanticInvalidForJsonSchema
from typing_extensions import TypeVar

from registry._foreign import Foreign, class_name, is_origin, shown
from registry._reply import Reply
from registry.errors import DeclarationError

__all__ = ["AnyTool", "DeclaredT", "Effect", "InputT", "ToolDef", "ToolInput"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

Effect: TypeAlias = Literal["read", "write", "destroy"]


class ToolInput(BaseModel):
    """The arguments of a tool, for a model to fill in. Unknown fields are refused, at every depth."""

    model_config = ConfigDict(extra="forbid", frozen=True)


InputT = TypeVar("InputT", bound=ToolInput)
# The default is what lets a lambda as origin infer its parameter; the bound is what refuses True and None.
DeclaredT = TypeVar("DeclaredT", bound="Literal[False] | str", default=str)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolDef(Generic[InputT, DeclaredT]):
    """A tool: what a model may ask for, what answers, and who chose the bytes of the answer.

    Raises:
        DeclarationError: a field is not what it must be; the message names the tool, shows what it got and says what
            to write. It is raised where the tool is written, not at its first call.
    """

    name: str
    """1 to 64 of A-Z, a-z, 0-9, `_` and `-`."""
    description: str | Foreign[str]
    """For the model that chooses a tool; `Foreign` when a third party wrote it."""
    input: type[InputT]
    """The class of its arguments."""
    handler: Callable[[InputT], str | Reply[DeclaredT]] | Callable[[InputT], Awaitable[str | Reply[DeclaredT]]]
    """What answers: a function, a coroutine function, a bound method, a partial or a callable object."""
    untrusted_output: DeclaredT | Callable[[InputT], str]
    """Who chose the bytes that the handler returns: `False` (this program alone), or an origin, which is a string or a
    function of the input. There is no default."""
    scope: str | None = None
    """The grant that a caller needs; None is the tool's own name."""
    effect: Effect = "write"
    """What a call changes. At the deadline a `read` is stopped; the others run on, since half a write is worse."""
    dispatches: frozenset[str] = frozenset()
    """The names of the tools that the handler calls."""
    is_async: bool = field(init=False, repr=False)
    """Whether the handler runs on the event loop; any other runs in a thread. Worked out from the handler."""

    def __post_init__(self) -> None:
        check_name(self.name)
        check_description(self.name, self.description)
        check_input(self.name, self.input)
        check_handler(self.name, self.handler)
        check_declaration(self.name, self.untrusted_output)
        check_rest(self.name, self.scope, self.effect, self.dispatches)
        object.__setattr__(self, "is_async", runs_on_loop(self.handler))

    @property
    def grant(self) -> str:
        """The grant that a caller needs to see and to call this tool."""
        return self.name if self.scope is None else self.scope


# A tool of any input and any declaration, for where tools are collected.
AnyTool: TypeAlias = "ToolDef[Any, Any]"


def check_name(name: object) -> None:
    if isinstance(name, str) and NAME.match(name):
        return
    raise DeclarationError(f"Tool {shown(name)}: name is not usable. Write 1 to 64 of A-Z, a-z, 0-9, '_' and '-'.")


def check_description(tool: str, description: object) -> None:
    if isinstance(description, Foreign) or (isinstance(description, str) and description.strip()):
        return
    raise DeclarationError(
        f"Tool {tool!r}: description is {shown(description)}. Write what the tool does, for the model that chooses it; "
        "Foreign(...) if a third party wrote it."
    )


def check_input(tool: str, model: object) -> None:
    if not (isinstance(model, type) and issubclass(model, ToolInput)):
        got = f"the class {model.__name__!r}" if isinstance(model, type) else shown(model)  # pyright: ignore[reportUnknownMemberType]
        raise DeclarationError(f"Tool {tool!r}: input is {got}. Write a class that derives from registry.ToolInput.")
    for name in open_objects(tool, model):
        raise DeclarationError(
            f"Tool {tool!r}: input holds {name!r}, which accepts unknown fields. Derive it from registry.ToolInput, or set "
            "extra='forbid' in its configuration."
        )


def check_handler(tool: str, handler: object) -> None:
    if not callable(handler):
        raise DeclarationError(
            f"Tool {tool!r}: handler is {shown(handler)}. Write a function of the input that returns str or a Reply."
        )


def check_declaration(tool: str, declared: object) -> None:
    if declared is False or is_origin(declared) or (callable(declared) and not isinstance(declared, type)):
        return
    raise DeclarationError(
        f"Tool {tool!r}: untrusted_output is {shown(declared)}. Write False if the handler returns only this program's "
        "own words, else name the origin (a string, or a function of the input)."
    )


def check_rest(tool: str, scope: object, effect: object, dispatches: object) -> None:
    if scope is not None and not (isinstance(scope, str) and scope.strip()):
        raise DeclarationError(
            f"Tool {tool!r}: scope is {shown(scope)}. Write the name of the grant a caller needs, or leave it out."
        )
    if effect not in get_args(Effect):
        raise DeclarationError(f"Tool {tool!r}: effect is {shown(effect)}. Write 'read', 'write' or 'destroy'.")
    names = cast("frozenset[object]", dispatches)
    if not isinstance(dispatches, frozenset) or not all(isinstance(name, str) for name in names):
        raise DeclarationError(
            f"Tool {tool!r}: dispatches is {shown(names)}. Write a frozenset of the names of the tools it calls."
        )


def runs_on_loop(handler: object) -> bool:
    """Whether a handler is a coroutine function, or an object that is called as one."""
    return iscoroutinefunction(handler) or iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def open_objects(tool: str, model: type[ToolInput]) -> Iterator[str]:
    """Yield the name of each object of a model that accepts unknown fields.

    Read off the JSON Schema, not off the annotations: it also sees typed dicts, dataclasses and what stands behind
    aliases and forward references.
    """
    try:
        schema = model.model_json_schema()
    except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
        raise DeclarationError(
            f"Tool {tool!r}: input {model.__name__!r} has no JSON Schema ({class_name(error)}), so no model can fill it in. "
            "Use field types that JSON has, and define every class that it names before the tool."
        ) from error
    for name, part in [(model.__name__, schema), *cast("dict[str, Any]", schema.get("$defs", {})).items()]:
        if "properties" in part and part.get("additionalProperties") is not False:
            yield name
