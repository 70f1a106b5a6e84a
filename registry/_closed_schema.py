"""A third party's JSON Schema as a closed one: every object names its fields, nothing refers elsewhere, no pattern can hang.

It answers what may be sent under such a schema, and checks it with the `jsonschema` library. It must never widen what the
other side takes, and it leaves no keyword out that would: what it cannot represent is refused, in our words alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, SchemaError, SchemaValidator, core_schema

from registry._schema import FORMAT, NAME, NUMBERS, UnusableSchema, leaves
from registry.errors import DeclarationError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as Mismatch
    from jsonschema.protocols import Validator

__all__ = ["ClosedSchema"]

Schema: TypeAlias = "dict[str, Any]"
Way: TypeAlias = "tuple[str | int, ...]"

MAX_CHARS: Final = 100_000
MAX_NODES: Final = 2_000
MAX_DEPTH: Final = 30
MAX_VALUE: Final = 256
MAX_PATTERN: Final = 256
MAX_REPEATS: Final = 1_000
# What a text that a pattern is held against may have at most. Matching takes time that is linear in it.
MAX_MATCHED: Final = 5_000
MOST_PROBLEMS: Final = 20
MAX_INTEGER: Final = 2**64

WORDS: Final = frozenset({"title", "description"})
# They demand something that a closed schema could not keep to, or change what a reference means.
REFUSED: Final = frozenset(
    {
        "not", "if", "then", "else", "contains", "minContains", "maxContains", "patternProperties", "dependentSchemas",
        "dependentRequired", "dependencies", "unevaluatedItems", "unevaluatedProperties", "additionalItems", "extends",
        "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary",
        "contentSchema", "disallow", "divisibleBy",
    }
)  # fmt: skip
KINDS: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COUNTS: Final = re.compile(r"(\)?)\{(\d*)(?:,(\d*))?\}")


@final
class ClosedSchema:
    """What a third party says that its tool takes, closed.

    Raises:
        UnusableSchema: it cannot be represented.
        DeclarationError: the library that checks arguments is not installed.
    """

    def __init__(self, schema: object) -> None:
        self.schema: Schema = Closing(schema).root()
        self.validator = validator_of(self.schema)

    def problems(self, arguments: Mapping[str, object]) -> list[InitErrorDetails]:
        """Say what is wrong with arguments; at most twenty things, none of which holds a value."""
        odd = next(not_json(arguments, ()), None)
        if odd is not None:
            return [odd]
        found: list[InitErrorDetails] = []
        try:
            for error in self.validator.iter_errors(cast("Any", arguments)):
                found.extend(told(error))
                if len(found) >= MOST_PROBLEMS:
                    break
        except Exception:  # noqa: BLE001  # numbers that the library cannot divide or print; whatever it says may hold them
            return [problem("number_out_of_range", (), None)]
        return found


# -- closing -------------------------------------------------------------------------------------------------------


@final
class Closing:
    """One pass over a schema, from the root down, with every reference replaced by what it refers to."""

    def __init__(self, document: object) -> None:
        self.document = document
        self.nodes = 0
        self.inside: list[str] = []

    def root(self) -> Schema:
        try:
            size = len(json.dumps(self.document))
        except (TypeError, ValueError, RecursionError):
            raise UnusableSchema("its schema is no JSON, or is nested too deeply") from None
        if size > MAX_CHARS:
            raise UnusableSchema(f"its schema has more than {MAX_CHARS} characters")
        document = self.document
        if not isinstance(document, dict):
            raise UnusableSchema("its schema is no object")
        given = cast("Schema", document)
        if given.get("type", "object") != "object" or given.keys() & OTHER_ROOTS:
            raise UnusableSchema("its schema is not that of one object with named fields")
        return self.node({**given, "type": "object", "properties": given.get("properties", {})}, 0)

    def node(self, given: object, depth: int) -> Schema:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnusableSchema(f"its schema has more than {MAX_NODES} parts once its references are filled in")
        if depth > MAX_DEPTH:
            raise UnusableSchema(f"its schema is nested deeper than {MAX_DEPTH} levels")
        if not isinstance(given, dict):
            raise UnusableSchema("a part of its schema takes anything, or is no schema")
        schema = cast("Schema", given)
        for keyword in schema:
            if keyword in REFUSED:
                raise UnusableSchema(f"its schema uses {keyword!r}, which a closed input cannot represent")
        if "$ref" in schema:
            return self.referred(schema, depth)
        if "allOf" in schema:
            return self.only(schema, depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.choice(several, schema, depth)
        return self.plain(schema, depth)

    # -- one part that stands for another --------------------------------------------------------------------------

    def referred(self, schema: Schema, depth: int) -> Schema:
        name = schema["$ref"]
        if not isinstance(name, str) or not name.startswith("#/"):
            raise UnusableSchema("its schema refers to a schema elsewhere, or to itself")
        if name in self.inside:
            raise UnusableSchema("a part of its schema holds itself, so that it has no end")
        self.inside.append(name)
        made = self.worded(self.node(self.found(name), depth + 1), schema, "$ref")
        self.inside.pop()
        return made

    def found(self, name: str) -> object:
        at: object = self.document
        for step in name.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(at, dict) and key in cast("Schema", at):
                at = cast("Schema", at)[key]
            elif (
                isinstance(at, list)
                and key.isascii()
                and key.isdigit()
                and int(key[:9]) < len(cast("list[object]", at))
            ):
                at = cast("list[object]", at)[int(key[:9])]
            else:
                raise UnusableSchema("its schema refers to a part that it does not have")
        return at

    def only(self, schema: Schema, depth: int) -> Schema:
        several: object = schema["allOf"]
        if not isinstance(several, list) or len(cast("list[object]", several)) != 1:
            raise UnusableSchema("its schema uses 'allOf' with several parts, which a closed input cannot represent")
        return self.worded(self.node(cast("list[object]", several)[0], depth + 1), schema, "allOf")

    def worded(self, made: Schema, beside: Schema, keyword: str) -> Schema:
        """What stands for another may have words and a default of its own, and nothing else."""
        demands = (KNOWN & beside.keys()) - WORDS - {"default", keyword}
        if demands and not (demands == TYPE_ALONE and beside["type"] == made.get("type")):
            raise UnusableSchema(
                f"its schema has other demands beside {keyword!r}, which a closed input cannot represent"
            )
        return {**made, **words_of(beside)}

    def choice(self, several: str, schema: Schema, depth: int) -> Schema:
        branches: object = schema[several]
        if not isinstance(branches, list) or not branches:
            raise UnusableSchema(f"its schema gives {several!r} a value that the keyword does not take")
        if (KNOWN & schema.keys()) - WORDS - {several, "default", "type"}:
            raise UnusableSchema(
                f"its schema has other demands beside {several!r}, which a closed input cannot represent"
            )
        made = {several: [self.node(branch, depth + 1) for branch in cast("list[object]", branches)]}
        return {**kind_of(schema), **made, **words_of(schema)}

    # -- one part of its own ---------------------------------------------------------------------------------------

    def plain(self, schema: Schema, depth: int) -> Schema:
        made = {**kind_of(schema), **words_of(schema)}
        kinds = kinds_of(schema)
        for keyword in ("enum", "const"):
            if keyword in schema:
                made[keyword] = plain_value(keyword, schema[keyword])
        if not kinds and "enum" not in made and "const" not in made:
            raise UnusableSchema("a part of its schema takes anything")
        for keyword in NUMBERS & schema.keys():
            made[keyword] = number(keyword, schema[keyword])
        if schema.get("uniqueItems") is True:
            made["uniqueItems"] = True
        if isinstance(form := schema.get("format"), str) and FORMAT.match(form):
            made["format"] = form
        if "pattern" in schema:
            made["pattern"] = linear(schema["pattern"])
            made["maxLength"] = min(made.get("maxLength", MAX_MATCHED), MAX_MATCHED)
        if "object" in kinds:
            made.update(self.fields(schema, depth))
        if "array" in kinds:
            made.update(self.items(schema, depth))
        return made

    def fields(self, schema: Schema, depth: int) -> Schema:
        named: object = schema.get("properties")
        others: object = schema.get("additionalProperties")
        is_map = isinstance(others, dict) and bool(cast("Schema", others))
        if isinstance(named, dict) and (cast("Schema", named) or depth == 0 or not is_map):
            # Closed whatever it says of fields that it does not name: what we then accept, the other side accepts as well.
            required = texts(schema.get("required", []))
            properties = {
                name_of(name): self.node(part, depth + 1) for name, part in cast("dict[object, object]", named).items()
            }
            if not set(required) <= set(properties):
                raise UnusableSchema("its schema requires a field that it does not describe")
            made: Schema = {"properties": properties, "additionalProperties": False}
            return {**made, "required": list(dict.fromkeys(required))} if required else made
        if not is_map or schema.get("required"):
            raise UnusableSchema("an object in its schema names no fields and takes any")
        keys = (
            {"propertyNames": self.node({"type": "string", **schema["propertyNames"]}, depth + 1)}
            if isinstance(schema.get("propertyNames"), dict)
            else {}
        )
        return {"additionalProperties": self.node(cast("Schema", others), depth + 1), **keys}

    def items(self, schema: Schema, depth: int) -> Schema:
        first: object = schema.get("prefixItems", [])
        if not isinstance(first, list):
            raise UnusableSchema("its schema gives 'prefixItems' a value that the keyword does not take")
        made: Schema = {}
        if first:
            made["prefixItems"] = [self.node(item, depth + 1) for item in cast("list[object]", first)]
        if first and schema.get("items", False) is False:
            return {**made, "items": False}
        return {**made, "items": self.node(schema.get("items"), depth + 1)}


TYPE_ALONE: Final = frozenset({"type"})
OTHER_ROOTS: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
# Any other keyword is somebody's own, or words for programmers: by the standard it demands nothing, and it is left out.
KNOWN: Final = frozenset(
    {
        *WORDS, *NUMBERS, "type", "enum", "const", "default", "uniqueItems", "format", "pattern", "properties", "required",
        "additionalProperties", "propertyNames", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref",
    }
)  # fmt: skip


def kinds_of(schema: Schema) -> frozenset[str]:
    said: object = schema.get("type")
    if said is None:
        return (
            frozenset({"object"})
            if "properties" in schema
            else frozenset({"array"})
            if "items" in schema
            else frozenset()
        )
    words = cast("list[object]", said) if isinstance(said, list) else [said]
    if not words or not all(isinstance(word, str) and word in KINDS for word in words):
        raise UnusableSchema("its schema gives 'type' a value that the keyword does not take")
    return frozenset(cast("list[str]", words))


def kind_of(schema: Schema) -> Schema:
    kinds = sorted(kinds_of(schema))
    return {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}


def words_of(schema: Schema) -> Schema:
    made: Schema = {}
    for keyword in ("title", "description"):
        if keyword in schema:
            if not isinstance(schema[keyword], str):
                raise UnusableSchema(f"its schema gives {keyword!r} a value that the keyword does not take")
            made[keyword] = schema[keyword]
    return {**made, "default": plain_value("default", schema["default"])} if "default" in schema else made


def plain_value(keyword: str, value: Any) -> Any:
    """A value that is shown as it is, so each of its texts is short and on one line."""
    if keyword == "enum" and not is_filled(value):
        raise UnusableSchema("its schema gives 'enum' a value that the keyword does not take")
    for leaf in leaves(value):
        if isinstance(leaf, str) and (len(leaf) > MAX_VALUE or len(leaf.splitlines()) > 1):
            raise UnusableSchema(
                f"its schema holds a text under {keyword!r} that has more than {MAX_VALUE} characters or than one line"
            )
    return value


def is_filled(value: object) -> bool:
    return isinstance(value, list) and bool(cast("list[object]", value))


def number(keyword: str, value: object) -> int | float:
    is_size = keyword.startswith(("min", "max")) and keyword not in ("minimum", "maximum")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnusableSchema(f"its schema gives {keyword!r} a value that is no number")
    if (is_size and (value < 0 or value != int(value))) or (keyword == "multipleOf" and value <= 0):
        raise UnusableSchema(f"its schema gives {keyword!r} a value that the keyword does not take")
    return int(value) if is_size else value


def texts(value: object) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return cast("list[str]", value)
    raise UnusableSchema("its schema gives 'required' a value that is no list of names")


def name_of(name: object) -> str:
    if isinstance(name, str) and NAME.match(name):
        return name
    raise UnusableSchema(
        "a property of its schema has a name that is not usable (1 to 64 of A-Z, a-z, 0-9, '_' and '-')"
    )


# -- patterns ------------------------------------------------------------------------------------------------------


def linear(pattern: object) -> str:
    """A pattern that is matched in time linear in the text, by an engine without backtracking; or none at all."""
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN:
        raise UnusableSchema(f"its schema has a pattern that is no text of at most {MAX_PATTERN} characters")
    # A counted repetition is written out before it is matched, and a count of a group multiplies those inside of it.
    groups, others = 1, 1
    for behind, least, most in COUNTS.findall(pattern):
        count = int((most or least or "0")[:9])
        groups, others = (groups * max(count, 1), others) if behind else (groups, others + count)
    if groups * others > MAX_REPEATS:
        raise UnusableSchema(f"its schema has a pattern that counts further than {MAX_REPEATS}")
    try:
        matcher(pattern)
    except SchemaError:
        raise UnusableSchema("its schema has a pattern that cannot be matched in linear time") from None
    return pattern


@lru_cache(maxsize=256)
def matcher(pattern: str) -> SchemaValidator:
    """pydantic's own engine, which never goes back. Python's does, and a pattern of a third party could hang it."""
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def matches(_: Validator, pattern: str, instance: object, __: object) -> Iterator[Mismatch]:
    from jsonschema.exceptions import ValidationError as Mismatch

    # A text that is too long has its own mistake, and is not looked at.
    if isinstance(instance, str) and len(instance) <= MAX_MATCHED:
        try:
            matcher(pattern).validate_python(instance)
        except ValidationError:
            yield Mismatch("")


def validator_of(schema: Schema) -> Validator:
    try:
        from jsonschema.exceptions import SchemaError as BadSchema
        from jsonschema.validators import Draft202012Validator, extend  # pyright: ignore[reportUnknownVariableType]
        from referencing import Registry
    except ImportError as error:
        raise DeclarationError(
            "ToolInput.from_schema needs the library that checks JSON Schemas. Write: pip install 'hedgerow[mcp]'"
        ) from error
    try:
        Draft202012Validator.check_schema(schema)
    except BadSchema:
        raise UnusableSchema("its schema gives a keyword a value that the keyword does not take") from None
    # Its stub has no types.
    made = cast("Any", extend)(Draft202012Validator, {"pattern": matches})
    nothing: Registry[Any] = Registry()  # pyright: ignore[reportUnknownArgumentType]  # no address is ever asked
    return cast("Validator", made(schema, registry=nothing))


# -- what is wrong with arguments ----------------------------------------------------------------------------------


def not_json(value: object, way: Way) -> Iterator[InitErrorDetails]:
    """What could not be sent as it is: a number that JSON does not have, a lone surrogate, something that is no JSON."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            yield problem("string_unicode", way, None)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield problem("finite_number", way, None)
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                yield problem("invalid_key", way, None)
            else:
                yield from not_json(key, way)
                yield from not_json(item, (*way, key))
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[object]", value)):
            yield from not_json(item, (*way, place))
    elif isinstance(value, int):
        if abs(value) >= MAX_INTEGER:
            yield problem("number_out_of_range", way, None)
    elif value is not None:
        yield problem("not_json", way, None)


TYPES: Final[Mapping[str, str]] = {
    "string": "string_type", "integer": "int_type", "number": "float_type", "boolean": "bool_type", "array": "list_type",
    "object": "dict_type", "null": "none_required",
}  # fmt: skip
LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "minimum": ("greater_than_equal", "ge"),
    "maximum": ("less_than_equal", "le"),
    "exclusiveMinimum": ("greater_than", "gt"),
    "exclusiveMaximum": ("less_than", "lt"),
    "multipleOf": ("multiple_of", "multiple_of"),
    "minLength": ("string_too_short", "min_length"),
    "maxLength": ("string_too_long", "max_length"),
}


def told(error: Mismatch, above: Way = ()) -> Iterable[InitErrorDetails]:
    """A mistake in the kinds of pydantic, so that it is told like one of any other input."""
    way = (*above, *error.path)
    keyword, demand = cast("str", error.validator), cast("Any", error.validator_value)
    instance = cast("Any", error.instance)
    if keyword == "required":
        return [problem("missing", (*way, name), None) for name in demand if name not in instance]
    if keyword == "additionalProperties":
        known = cast("Schema", error.schema).get("properties", {})
        return [problem("extra_forbidden", (*way, name), None) for name in instance if name not in known]
    if keyword == "type" and isinstance(demand, str):
        return [problem(TYPES[demand], way, None)]
    if keyword in LIMITS:
        kind, name = LIMITS[keyword]
        return [problem(kind, way, {name: demand})]
    if keyword in ("anyOf", "oneOf") and error.context:
        return chosen(list(error.context), way) or [problem(keyword, way, None)]
    return [problem(keyword, way, None)]


def chosen(context: list[Mismatch], way: Way) -> list[InitErrorDetails]:
    """The mistakes in the one branch that is of the right kind; none if there is no such branch, or several."""
    branches: dict[object, list[Mismatch]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    near = [errors for errors in branches.values() if not any(e.validator == "type" and not e.path for e in errors)]
    return [found for error in near[0] for found in told(error, way)] if len(near) == 1 else []


def problem(kind: str, way: Way, context: dict[str, Any] | None) -> InitErrorDetails:
    # A message that names the kind alone: what pydantic would word is not shown, and no value is to be had from it.
    said = PydanticCustomError(cast("Any", kind), cast("Any", kind), context)
    return InitErrorDetails(type=said, loc=way, input=None)
