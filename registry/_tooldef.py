"""What a tool is, and the one question that it must answer: who chose the bytes that it returns.

Read this first. A `ToolDef` is a fact, checked when it is built; it runs nothing and renders nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, cast, final, get_args

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model, model_validator
from pydantic.errors import PydanticInvalidForJsonSchema
from typing_extensions import TypeVar

from registry._closed_schema import ClosedSchema
from registry._foreign import Foreign, class_name, is_origin, origins_of, shown
from registry._reply import Reply
from registry._schema import NAME, UnusableSchema, foreign_schema, prose_marks
from registry.errors import DeclarationError

__all__ = ["AnyTool", "DeclaredT", "Effect", "InputT", "ToolDef", "ToolInput", "Wording", "wording"]

Effect: TypeAlias = Literal["read", "write", "destroy"]
ANSWERS: Final = (
    "Write False if the handler returns only this program's own words, else name the origin (a string, or a function of the "
    "input)."
)


class ToolInput(BaseModel):
    """The arguments of a tool, for a model to fill in. Unknown fields are refused, at every depth."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prose_origin: ClassVar[str | Literal[False] | None] = None
    """Who worded the schema (titles, descriptions, enum labels, defaults): `False` is this program, a string names a third
    party. None is whoever wrote the tool's description. One input of a third party inside makes the whole schema theirs."""

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any], *, author: str) -> type[ToolInput]:
        """Make an input of a JSON Schema that a third party wrote, such as that of a remote tool.

        Every object in it is closed, references are filled in, patterns are matched by an engine that cannot hang, and what
        a closed input cannot represent is refused. The `jsonschema` library checks the arguments. What was given, and
        nothing that was left out, comes back by `model_dump(by_alias=True, exclude_unset=True)`.

        Args:
            schema: that of an object, as parsed JSON.
            author: who wrote it, as an origin; its prose is shown as that of a third party.

        Raises:
            DeclarationError: it cannot be represented, or `jsonschema` is not installed; shows nothing of the schema.
        """
        if not is_origin(author):
            raise DeclarationError(
                f"ToolInput.from_schema: author is {shown(author)}. Say in a few words who wrote it."
            )
        try:
            closed = ClosedSchema(schema)
            # Fields have names of ours, so that no name of a third party shadows anything.
            fields = {
                f"field_{number}": (Any, Field(default=None, alias=name))
                for number, name in enumerate(closed.schema["properties"])
            }
            made = create_model("Arguments", __base__=RemoteInput, **cast("Any", fields))
            made.closed, made.prose_origin = closed, author
            foreign_schema(made)
        except UnusableSchema as error:
            raise DeclarationError(f"ToolInput.from_schema: {error}.") from None
        return made


class RemoteInput(ToolInput):
    """The base of what `ToolInput.from_schema` makes."""

    closed: ClassVar[ClosedSchema]

    @model_validator(mode="before")
    @classmethod
    def fits(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        arguments = cast("dict[str, object]", value)
        problems = cls.closed.problems(arguments)
        if problems:
            raise ValidationError.from_exception_data("Arguments", problems)
        return arguments

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return deepcopy(cls.closed.schema)


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
        check_prose(self)
        check_handler(self.name, self.handler)
        check_declaration(self.name, self.untrusted_output)
        check_rest(self.name, self.scope, self.effect, self.dispatches)
        object.__setattr__(self, "is_async", runs_on_loop(self.handler))

    @property
    def grant(self) -> str:
        """The grant that a caller needs to see and to call this tool."""
        return self.name if self.scope is None else self.scope


def tell_a_missing_declaration() -> None:
    """Have a tool that does not answer refused as one that answers wrongly is: by its name, with what to write.

    Type checkers see the dataclass; this is for those who build tools of data or run none.
    """
    plain = cast("Callable[..., None]", ToolDef.__init__)  # pyright: ignore[reportUnknownMemberType]  # of any kind

    @wraps(plain)
    def init(self: AnyTool, *args: object, **given: object) -> None:
        if given and "untrusted_output" not in given:
            raise DeclarationError(f"Tool {shown(given.get('name'))}: untrusted_output is missing. {ANSWERS}")
        plain(self, *args, **given)

    type.__setattr__(ToolDef, "__init__", init)


tell_a_missing_declaration()

# A tool of any input and any declaration, for where tools are collected.
AnyTool: TypeAlias = "ToolDef[Any, Any]"
"""A tool of any input and any declaration, for where tools are collected."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Who worded what a catalogue shows of a tool. None is this program; otherwise the origins of the third party."""

    description: tuple[str, ...] | None
    schema: tuple[str, ...] | None

    @property
    def is_own(self) -> bool:
        return self.description is None and self.schema is None


def wording(tool: AnyTool) -> Wording:
    """Say who worded a tool's description and its schema."""
    description: tuple[str, ...] | None = None
    if isinstance(tool.description, Foreign):
        said = origins_of(cast("Foreign[object]", tool.description))
        description = said or (f"the author of tool {tool.name}",)
    schema = tuple(prose_marks(tool.input)) or None
    if schema is None and tool.input.prose_origin is None:
        # Who wrote the one most likely wrote the other; an input that is ours says so.
        schema = description
    return Wording(description=description, schema=schema)


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


def check_prose(tool: AnyTool) -> None:
    """What a third party wrote must be possible to show, under either setting of a deployment."""
    marks: list[object] = [tool.input.prose_origin, *prose_marks(tool.input)]
    for mark in marks:
        if not (mark is None or mark is False or is_origin(mark)):
            raise DeclarationError(
                f"Tool {tool.name!r}: prose_origin of its input is {shown(mark)}. Write who worded the schema, as a string "
                "with a letter or digit; False if this program did; None if whoever wrote the description did."
            )
    if isinstance(tool.description, Foreign) and not cast("Foreign[object]", tool.description).measure(is_text):
        raise DeclarationError(f"Tool {tool.name!r}: description is a Foreign of something that is no str.")
    if wording(tool).schema is None:
        return
    try:
        foreign_schema(tool.input)
    except UnusableSchema as error:
        raise DeclarationError(
            f"Tool {tool.name!r}: a third party wrote its input, and {error}. Leave the tool out, or write an input "
            "of your own."
        ) from None


def is_text(value: object) -> bool:
    return isinstance(value, str)


def check_handler(tool: str, handler: object) -> None:
    if not callable(handler):
        raise DeclarationError(
            f"Tool {tool!r}: handler is {shown(handler)}. Write a function of the input that returns str or a Reply."
        )
    try:
        # Not what it wraps: a decorator may give that more than it takes itself.
        signature(handler, follow_wrapped=False).bind(None)
    except TypeError as error:
        raise DeclarationError(
            f"Tool {tool!r}: handler cannot be called with the input alone. Write a function of one argument, the input."
        ) from error
    except ValueError:
        return  # a function of C that does not say what it takes


def check_declaration(tool: str, declared: object) -> None:
    if declared is False or is_origin(declared) or (callable(declared) and not isinstance(declared, type)):
        return
    raise DeclarationError(f"Tool {tool!r}: untrusted_output is {shown(declared)}. {ANSWERS}")


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
