"""Which models are closed: models whose every value is one of ours, a number, or a short string without a blank.

`narrow_to` makes a value of such a model from foreign data. It must never return text that somebody else chose freely, so
what it does not know is refused: a kind of field, a setting of a model, a hook of the author's. It reads the schema that
the validator itself runs, and looks at the result once more, because a schema says what should come out and not what does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Final, NoReturn, TypeVar, cast, final

from pydantic import BaseModel, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from registry.errors import ForeignError, NarrowError

__all__ = ["Digits", "Hex", "IsoDate", "Uuid", "narrow_to"]

ModelT = TypeVar("ModelT", bound=BaseModel)

MOST_CHARS: Final = 64
MOST_PROBLEMS: Final = 20

# The only strings that may come through: letters that spell no sentence, and no blank. ASCII classes on purpose, for `\d`
# takes the digits of every script. Each is anchored at both ends; `$` is the end of the text to pydantic's own engine.
DIGITS: Final = f"^[0-9]{{1,{MOST_CHARS}}}$"
HEX: Final = f"^[0-9a-fA-F]{{1,{MOST_CHARS}}}$"
UUID: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
ISO_DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

Digits = Annotated[str, StringConstraints(pattern=DIGITS, max_length=MOST_CHARS)]
"""1 to 64 of 0-9."""
Hex = Annotated[str, StringConstraints(pattern=HEX, max_length=MOST_CHARS)]
"""1 to 64 hexadecimal digits: a digest, a commit."""
Uuid = Annotated[str, StringConstraints(pattern=UUID, max_length=MOST_CHARS)]
"""A UUID in its five groups."""
IsoDate = Annotated[str, StringConstraints(pattern=ISO_DATE, max_length=MOST_CHARS)]
"""A date as YYYY-MM-DD; the digits alone are checked."""

# The classes that an author's own pattern may repeat: `^CLASS{m,n}$`, or `^CLASS+$` beside a `max_length`.
PLAIN_CLASSES: Final = ("[0-9]", "[0-9a-f]", "[0-9A-F]", "[0-9a-fA-F]", "[0-9A-Fa-f]", "[a-f0-9]", "[A-F0-9]")
REPEATED: Final = re.compile(
    rf"\^(?:{'|'.join(map(re.escape, PLAIN_CLASSES))})(?:\+|\{{(?:[0-9]{{1,4}},)?(?P<most>[0-9]{{1,4}})\}})\$"
)
# What may stand in a result, whatever schema let it through.
PLAIN_STRING: Final = re.compile(f"[0-9a-fA-F]{{0,{MOST_CHARS}}}|{UUID[1:-1]}|{ISO_DATE[1:-1]}", re.ASCII)


def narrow_to(model: type[ModelT], value: object) -> ModelT:
    """Make a closed model from foreign data: an object, or text that is JSON of one.

    Raises:
        ForeignError: the model is not closed; the message names its field and says what to write.
        NarrowError: the value does not fit; the message names fields of the model and never a value.
    """
    if not is_model(model):
        raise ForeignError("Foreign.narrow: the model is no class that derives from pydantic.BaseModel. Write one.")
    closed = closed_model(model)
    # The errors are raised outside of `except`: inside, they would carry the foreign text as their `__context__`.
    problems: list[ErrorDetails] = []
    try:
        narrowed = closed.validator.validate_python(plain(parsed(value)))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        said = "; ".join(list(dict.fromkeys(sentence(found, closed.names) for found in problems))[:MOST_PROBLEMS])
    except Exception as error:  # noqa: BLE001  # a cycle, a depth, no JSON: whatever it is, its text may be foreign
        said = f"it is not JSON that can be read ({type(error).__name__})"
    else:
        if all(is_ours(leaf, closed.words) for leaf in leaves(narrowed)):
            return cast("ModelT", narrowed)
        said = "a string came through that is none of ours"
    raise NarrowError(f"Foreign.narrow: the value does not fit {model.__name__}: {said}.")


# -- the value -----------------------------------------------------------------------------------------------------


def parsed(value: object) -> object:
    """Text is JSON of the value, as in a reference of a pipeline."""
    return json.loads(value) if isinstance(value, str | bytes | bytearray) else value


def plain(value: object) -> object:
    """A value as plain JSON, built anew: no subclass, no object, nothing that answers for itself comes along."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, dict):
        found = cast("dict[object, object]", value)
        return {str.__str__(key): plain(item) for key, item in found.items() if isinstance(key, str)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("list[object]", value)]
    raise TypeError


def sentence(error: ErrorDetails, names: frozenset[str]) -> str:
    """Where a value does not fit, by names of the model and by numbers alone, and the kind of the error."""
    place = ".".join(str(step) if isinstance(step, int) or step in names else "*" for step in error["loc"])
    return f"{place or 'the whole'} ({error['type']})"


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, BaseModel):
        for item in value.__dict__.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from leaves(item)
    else:
        yield value


def is_ours(leaf: object, words: frozenset[str]) -> bool:
    if isinstance(leaf, Enum) or leaf is None or type(leaf) in (bool, int, float):
        return True
    return type(leaf) is str and (leaf in words or PLAIN_STRING.fullmatch(leaf) is not None)


# -- the model -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedModel:
    """A model that was looked through."""

    validator: SchemaValidator
    """Built from the very schema that was read, so that no method of the model decides what comes out."""
    names: frozenset[str]
    """Its field names and aliases, which may be shown."""
    words: frozenset[str]
    """Its string constants."""


@lru_cache(maxsize=1024)
def closed_model(model: type[BaseModel]) -> ClosedModel:
    model.model_rebuild()
    schema = model.__pydantic_core_schema__
    walk = Walk(root=model.__name__)
    walk.node(schema, ())
    if walk.models == 0:
        raise ForeignError(f"Foreign.narrow: {model.__name__} has no schema of a model. Write a plain pydantic model.")
    return ClosedModel(
        validator=SchemaValidator(schema),
        names=frozenset(walk.names),
        words=frozenset(walk.words),
    )


def is_model(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel


# What may stand beside the `type` of a node and changes nothing about what comes out, or only makes it less.
HARMLESS: Final = frozenset(
    {"type", "ref", "metadata", "strict", "custom_error_type", "custom_error_message", "custom_error_context"}
)
NUMBER: Final = frozenset({"gt", "ge", "lt", "le", "multiple_of", "allow_inf_nan"})
STRING: Final = frozenset({"pattern", "max_length", "min_length", "strip_whitespace", "to_lower", "to_upper"})
# Settings of a model under which a closed model stays closed. `regex_engine` is not among them: in Python's engine `$`
# also matches before a line break, and `(?m)` spellings differ.
SETTINGS: Final = frozenset(
    {
        "title", "frozen", "strict", "extra_fields_behavior", "populate_by_name", "validate_by_name", "validate_by_alias",
        "serialize_by_alias", "loc_by_alias", "validate_default", "hide_input_in_errors", "revalidate_instances",
        "from_attributes", "allow_inf_nan", "str_strip_whitespace", "str_max_length", "str_min_length",
        "validation_error_cause",
    }
)  # fmt: skip


@final
class Walk:
    """One pass over a schema. Each kind of node has a method; a kind without one is refused."""

    def __init__(self, *, root: str) -> None:
        self.root = root
        self.names: set[str] = set()
        self.words: set[str] = set()
        self.models = 0
        self.definitions: dict[str, Mapping[str, Any]] = {}
        self.inside: list[str] = []

    def refuse(self, way: tuple[str, ...], why: str) -> NoReturn:
        place = ".".join((self.root, *way))
        raise ForeignError(f"Foreign.narrow: {place} {why}")

    def node(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        kind = node["type"]
        known = self.KINDS.get(kind)
        if known is None:
            self.refuse(
                way,
                f"is of the kind {kind!r}, through which text from outside could come. Write a Literal, an Enum, a number, "
                "a bool, None, a closed model, a list with max_length, or one of Digits, Hex, Uuid and IsoDate.",
            )
        visit, allowed = known
        for key in node:
            if key not in allowed and key not in HARMLESS:
                self.refuse(way, f"has a {key!r}, which could let other values through. Leave it out.")
        visit(self, node, way)

    def leaf(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        """A number, a bool or None."""

    def string(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        pattern, most = node.get("pattern"), node.get("max_length")
        if not is_plain_pattern(pattern, most):
            self.refuse(
                way,
                "is a string that somebody else could fill with words. Write Digits, Hex, Uuid or IsoDate, or a Literal.",
            )

    def literal(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        for expected in node["expected"]:
            if isinstance(expected, Enum):
                self.member(expected, way)
            elif type(expected) is str:
                self.words.add(expected)
            elif expected is not None and type(expected) not in (bool, int):
                self.refuse(
                    way, "has a Literal that is none of string, number, bool, None and enum member. Write those alone."
                )

    def enum(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        cls = cast("type[Enum]", node["cls"])
        # A flag has one too: it makes a member of every number.
        if "missing" in node or cls._missing_.__func__ is not Enum._missing_.__func__:  # type: ignore[attr-defined]  # a classmethod has one
            self.refuse(
                way, "is an Enum that makes members of its own (a Flag, or one with _missing_). Write a plain one."
            )
        for member in node["members"]:
            self.member(member, way)

    def member(self, member: Enum, way: tuple[str, ...]) -> None:
        if type(member.value) not in (str, int, float, bool):
            self.refuse(way, "has an Enum member whose value is neither string nor number. Write those alone.")

    def nullable(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        self.node(node["schema"], way)

    def default(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        if node.get("default_factory", list) is not list:
            self.refuse(way, "has a default_factory other than list. Write the default itself.")
        for leaf in leaves(node.get("default")):
            if type(leaf) is str:
                self.words.add(leaf)
            elif not is_ours(leaf, frozenset()):
                self.refuse(way, "has a default that is neither JSON nor enum member. Write one of those.")
        self.node(node["schema"], way)

    def listed(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        if not isinstance(node.get("max_length"), int):
            self.refuse(way, "is a list without a bound. Give it Field(max_length=...).")
        if "items_schema" not in node:
            self.refuse(way, "is a list of anything. Say of what.")
        self.node(node["items_schema"], (*way, "items"))

    def union(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        for choice in cast("list[Any]", node["choices"]):
            self.node(cast("Any", choice[0] if isinstance(choice, tuple) else choice), way)

    def tagged(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        if not isinstance(node["discriminator"], str):
            self.refuse(way, "has a discriminator that is a function or a path. Write the name of a field.")
        for choice in node["choices"].values():
            self.node(choice, way)

    def model(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        self.models += 1
        for hook, says in HOOKS.items():
            if node.get(hook):
                self.refuse(way, says)
        settings = cast("Mapping[str, Any]", node.get("config", {}))
        for setting in settings:
            if setting not in SETTINGS:
                self.refuse(way, f"is configured with {setting!r}, which could let other values through. Leave it out.")
        if "allow" in (settings.get("extra_fields_behavior"), node.get("extra_behavior")):
            self.refuse(way, "keeps unknown fields (extra='allow'). Write extra='forbid', or 'ignore'.")
        self.node(node["schema"], way)

    def fields(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        if node.get("computed_fields"):
            self.refuse(way, "has a computed field. Write a property.")
        if node.get("extras_schema") or node.get("extra_behavior") == "allow":
            self.refuse(way, "keeps unknown fields (extra='allow'). Write extra='forbid', or 'ignore'.")
        for name, field in node["fields"].items():
            self.names.update((name, *texts(field.get("validation_alias"))))
            for key in field:
                if key not in FIELD_KEYS:
                    self.refuse((*way, name), f"has a {key!r}, which could let other values through. Leave it out.")
            self.node(field["schema"], (*way, name))

    def defined(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        self.definitions |= {definition["ref"]: definition for definition in node["definitions"]}
        self.node(node["schema"], way)

    def reference(self, node: Mapping[str, Any], way: tuple[str, ...]) -> None:
        name = node["schema_ref"]
        if name in self.inside or name not in self.definitions:
            self.refuse(way, "holds itself, so it has no bound. Write how deep it goes, one model for each level.")
        self.inside.append(name)
        self.node(self.definitions[name], way)
        self.inside.pop()

    KINDS: Final = {
        "bool": (leaf, frozenset[str]()),
        "int": (leaf, NUMBER),
        "float": (leaf, NUMBER),
        "none": (leaf, frozenset[str]()),
        "str": (string, STRING),
        "literal": (literal, frozenset({"expected"})),
        "enum": (enum, frozenset({"cls", "members", "sub_type", "missing"})),
        "nullable": (nullable, frozenset({"schema"})),
        "default": (
            default,
            frozenset(
                {
                    "schema", "default", "default_factory", "default_factory_takes_data", "copy_default",
                    "validate_default", "on_error",
                }
            ),
        ),
        "list": (listed, frozenset({"items_schema", "max_length", "min_length", "fail_fast"})),
        "union": (union, frozenset({"choices", "mode", "auto_collapse"})),
        "tagged-union": (tagged, frozenset({"choices", "discriminator", "from_attributes"})),
        "model": (
            model,
            frozenset(
                {
                    "cls", "schema", "config", "custom_init", "root_model", "post_init", "frozen", "generic_origin",
                    "extra_behavior", "revalidate_instances",
                }
            ),
        ),
        "model-fields": (
            fields,
            frozenset(
                {"fields", "model_name", "computed_fields", "extras_schema", "extra_behavior", "from_attributes"}
            ),
        ),
        "definitions": (defined, frozenset({"schema", "definitions"})),
        "definition-ref": (reference, frozenset({"schema_ref"})),
    }  # fmt: skip


HOOKS: Final[Mapping[str, str]] = {
    "root_model": "is a RootModel. Write a model with a named field; for one word of a list use .one_of(...).",
    "custom_init": "has an __init__ of its own. Leave it out.",
    "post_init": "has a model_post_init or private attributes. Leave them out.",
}
FIELD_KEYS: Final = frozenset(
    {"type", "schema", "metadata", "validation_alias", "serialization_alias", "frozen", "serialization_exclude"}
)


def is_plain_pattern(pattern: object, most: object) -> bool:
    """Whether a string of this pattern is digits, hexadecimal digits, a UUID or a date, of at most 64 characters."""
    if pattern in (UUID, ISO_DATE):
        return True
    found = REPEATED.fullmatch(pattern) if isinstance(pattern, str) else None
    if found is None:
        return False
    bounds = [int(found["most"])] if found["most"] else []
    bounds += [most] if isinstance(most, int) else []
    return bool(bounds) and min(bounds) <= MOST_CHARS


def texts(value: object) -> Iterator[str]:
    """The strings of an alias: a name, a path, or several paths."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in cast("list[object]", value):
            yield from texts(item)
