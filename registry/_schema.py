"""The JSON Schema of a tool's input: generated, and freed of prose that nobody meant to send to a model.

It answers what a schema says in our words, and what of it a third party wrote. A third party's schema is rebuilt keyword by
keyword: its names are held to a grammar, its values must be harmless as they stand, and anything else is refused, since a
value that was quietly edited would be a wrong one. No message here shows what a third party wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from registry._fence import inert, omitted_notice
from registry._text import quote_prose

__all__ = ["NAME", "UnusableSchema", "foreign_schema", "omitted_schema", "own_schema", "prose_marks", "quoted_schema"]

Schema: TypeAlias = "dict[str, Any]"

# Of tools, and of the properties and definitions of a third party.
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

MAX_DEPTH: Final = 40

TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
FORMAT: Final = re.compile(r"[a-z0-9-]{1,32}\Z")
REFERENCE: Final = re.compile(r"#(?:/(?:\$defs|definitions|properties|items)(?:/[A-Za-z0-9_-]{1,64})?)*\Z")

ONE: Final = frozenset(
    {
        "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
        "unevaluatedProperties",
    }
)  # fmt: skip
SEVERAL: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
NUMBERS: Final = frozenset(
    {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
        "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
    }
)  # fmt: skip
FLAGS: Final = frozenset({"uniqueItems", "readOnly", "writeOnly", "deprecated"})
PROSE: Final = frozenset({"title", "description", "$comment"})
# What a caller must send, or may: exact, so it is never quoted. `pattern` is one, for a pattern can spell a sentence.
VALUES: Final = frozenset({"default", "const", "enum", "examples", "pattern"})
# Prose of ours that nobody wrote for a model: titles are made of names, comments and examples are for programmers.
NOISE: Final = frozenset({"title", "examples", "$comment"})


class UnusableSchema(Exception):
    """A third party's schema cannot be shown; the sentence says why in our words alone."""


# -- generating ----------------------------------------------------------------------------------------------------


class ProseFree(GenerateJsonSchema):
    """Generates a schema without class docstrings and without titles made of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # the name is pydantic's
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        return bare(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        return bare(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> Schema:
        return bare(super().typed_dict_schema(schema), schema.get("cls"))

    def generate_inner(self, schema: Any) -> Schema:
        made = super().generate_inner(schema)
        if schema["type"] == "enum":
            # An enum's docstring comes in later than `enum_schema`, and from `description` nothing else does.
            bare(self.resolve_ref_schema(made), schema["cls"])
        return made


def bare(schema: Schema, cls: type[Any] | None) -> Schema:
    """A class's schema without its docstring, and without its name as a title."""
    schema.pop("description", None)
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


def generated(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(mode="validation", schema_generator=ProseFree)


OWN: WeakKeyDictionary[type[BaseModel], Schema] = WeakKeyDictionary()
FOREIGN: WeakKeyDictionary[type[BaseModel], Schema] = WeakKeyDictionary()


def own_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of an input of ours; the only prose in it is what `Field(description=...)` says."""
    if model not in OWN:
        OWN[model] = walked(generated(model), lambda node: {k: v for k, v in node.items() if k not in NOISE})
    return deepcopy(OWN[model])


def foreign_schema(model: type[BaseModel]) -> Schema:
    """Return a third party's schema, rebuilt of known keywords, with what they wrote byte for byte.

    Raises:
        UnusableSchema: a name is outside of the grammar, a value is not what its keyword takes or cannot stand as it is.
    """
    if model not in FOREIGN:
        FOREIGN[model] = rebuilt(generated(model), 0)
    return deepcopy(FOREIGN[model])


def quoted_schema(model: type[BaseModel]) -> Schema:
    """Return a third party's schema for a model to read: every line of their prose is quoted."""
    return cast("Schema", walked(foreign_schema(model), with_prose_quoted))


def omitted_schema(model: type[BaseModel]) -> Schema:
    """Return a third party's schema without anything that they worded; where there was something, it says so."""
    return cast("Schema", walked(foreign_schema(model), with_prose_omitted))


def with_prose_quoted(node: Schema) -> Schema:
    return {k: quote_prose(inert(v)) if k in PROSE else v for k, v in node.items()}


def with_prose_omitted(node: Schema) -> Schema:
    kept = {k: v for k, v in node.items() if not is_worded(k, v)}
    if len(kept) < len(node):
        kept["description"] = omitted_notice()
    return kept


def is_worded(keyword: str, value: object) -> bool:
    if keyword in PROSE or keyword in {"pattern", "patternProperties"}:
        return True
    return keyword in VALUES and any(isinstance(leaf, str) for leaf in leaves(value))


# -- whose prose ---------------------------------------------------------------------------------------------------


def prose_marks(model: type[BaseModel]) -> Iterator[str]:
    """Yield each `prose_origin` that names a third party, of an input and of every input that stands inside it, once."""
    found = (getattr(cls, "prose_origin", None) for cls in classes(model.__pydantic_core_schema__, set()))
    yield from dict.fromkeys(mark for mark in (getattr(model, "prose_origin", None), *found) if isinstance(mark, str))


def classes(schema: object, seen: set[int]) -> Iterator[type[Any]]:
    """Every class that a core schema speaks of. Only its own dicts and lists are entered, each once."""
    if not isinstance(schema, dict | list | tuple) or id(cast("object", schema)) in seen:
        return
    seen.add(id(cast("object", schema)))
    if isinstance(schema, dict):
        branches = cast("Mapping[str, object]", schema)
        if isinstance(cls := branches.get("cls"), type):
            yield cls
        for branch in branches.values():
            yield from classes(branch, seen)
        return
    for branch in cast("list[object]", schema):
        yield from classes(branch, seen)


# -- walking -------------------------------------------------------------------------------------------------------


def walked(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return a schema with each of its nodes changed, from the outside in. Values (`default`, `enum`) are no nodes."""
    if not isinstance(schema, dict):
        return schema
    return {keyword: branch(keyword, value, change) for keyword, value in change(cast("Schema", schema)).items()}


def branch(keyword: str, value: Any, change: Callable[[Schema], Schema]) -> Any:
    if keyword in ONE and isinstance(value, dict):
        return walked(value, change)
    if (keyword in SEVERAL or keyword == "items") and isinstance(value, list):
        several = cast("list[Any]", value)  # type: ignore[redundant-cast]  # pyright sees a list of unknowns
        return [walked(item, change) for item in several]
    if (keyword in NAMED or keyword == "patternProperties") and isinstance(value, dict):
        return {name: walked(item, change) for name, item in cast("Schema", value).items()}
    return value


# -- rebuilding what a third party wrote ---------------------------------------------------------------------------


def rebuilt(schema: object, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise UnusableSchema(f"its schema is nested deeper than {MAX_DEPTH} levels")
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise UnusableSchema("a part of its schema is neither an object nor true or false")
    made: Schema = {}
    for keyword, value in cast("dict[object, object]", schema).items():
        if isinstance(keyword, str) and (keyword in KNOWN):
            made[keyword] = known(keyword, value, depth + 1)
    return made


def known(keyword: str, value: Any, depth: int) -> Any:
    """The value of a keyword, if it is of the kind that the keyword takes."""
    if keyword in SEVERAL or (keyword == "items" and isinstance(value, list)):
        return [rebuilt(item, depth) for item in listed(keyword, value)]
    if keyword in ONE:
        return rebuilt(value, depth)
    if keyword in NAMED:
        return {named(name): rebuilt(item, depth) for name, item in mapped(keyword, value).items()}
    if keyword == "patternProperties":
        return {harmless(keyword, name): rebuilt(item, depth) for name, item in mapped(keyword, value).items()}
    if keyword == "required":
        return [named(name) for name in listed(keyword, value)]
    if keyword == "dependentRequired":
        return {named(k): [named(name) for name in listed(keyword, v)] for k, v in mapped(keyword, value).items()}
    if keyword in VALUES:
        return harmless(keyword, value)
    if SIMPLE[keyword](value):
        return value
    raise UnusableSchema(f"its schema gives {keyword!r} a value that the keyword does not take")


def is_type(value: object) -> bool:
    words = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(isinstance(word, str) and word in TYPES for word in words)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


SIMPLE: Final[Mapping[str, Callable[[object], bool]]] = {
    "type": is_type,
    "format": lambda value: isinstance(value, str) and FORMAT.match(value) is not None,
    "$ref": lambda value: isinstance(value, str) and REFERENCE.match(value) is not None,
    **dict.fromkeys(NUMBERS, is_number),
    **dict.fromkeys(FLAGS, lambda value: isinstance(value, bool)),
    **dict.fromkeys(PROSE, lambda value: isinstance(value, str)),
}
KNOWN: Final = frozenset(
    {*SIMPLE, *ONE, *SEVERAL, *NAMED, *VALUES, "required", "dependentRequired", "patternProperties"}
)


def listed(keyword: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)  # type: ignore[redundant-cast]  # pyright sees a list of unknowns
    raise UnusableSchema(f"its schema gives {keyword!r} a value that is no list")


def mapped(keyword: str, value: object) -> dict[object, Any]:
    if isinstance(value, dict):
        return cast("dict[object, Any]", value)
    raise UnusableSchema(f"its schema gives {keyword!r} a value that is no object")


def named(name: object) -> str:
    if isinstance(name, str) and NAME.match(name):
        return name
    raise UnusableSchema(
        "a property or definition of its schema has a name that is not usable (1 to 64 of A-Z, a-z, 0-9, '_' and '-')"
    )


def harmless(keyword: str, value: Any) -> Any:
    """A value that must stand as it is, or none: no marker, control token, control or hidden character in any text of it."""
    for leaf in leaves(value):
        if isinstance(leaf, str) and inert(leaf) != leaf:
            raise UnusableSchema(
                f"its schema holds a text under {keyword!r} that cannot be shown as it is: it spells a fence, a control "
                "token or a hidden character"
            )
    return value


def leaves(value: object, depth: int = 0) -> Iterator[object]:
    """Every text, number and key of a JSON value."""
    if depth > MAX_DEPTH:
        raise UnusableSchema(f"a value in its schema is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            yield key
            yield from leaves(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in cast("list[object]", value):
            yield from leaves(item, depth + 1)
    else:
        yield value
