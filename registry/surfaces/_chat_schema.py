"""A tool's JSON Schema as the chat providers take it, and arguments as they send them back.

Two pitfalls: a root that is a reference (a recursive model) is refused by some, and OpenAI's strict mode knows neither
optional fields nor most keywords. What a strict schema cannot say is still checked here when the call comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast, final

__all__ = ["inlined", "strict_schema", "without_filler"]

Schema: TypeAlias = "dict[str, Any]"

# What strict mode reads. Everything else is left out, or (below) makes a schema impossible.
KEPT: Final = frozenset({"type", "description", "enum", "const"})
# What changes which values fit in a way that cannot be left out: without it the model would be told something wrong.
IMPOSSIBLE: Final = frozenset(
    {
        "patternProperties", "if", "then", "else", "not", "allOf", "dependentSchemas", "dependentRequired", "prefixItems",
        "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contains",
    }
)  # fmt: skip
NULL: Final = {"type": "null"}


@final
class NotStrict(Exception):
    """A schema that strict mode cannot express."""


def inlined(schema: Schema) -> Schema:
    """Return a schema whose root is an object and no reference."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return schema
    target = cast("Schema", schema["$defs"][reference.removeprefix("#/$defs/")])
    return {**target, "$defs": schema["$defs"]}


def strict_schema(schema: Schema) -> Schema | None:
    """Return a schema in the form of OpenAI's strict mode, or None when there is none.

    Every object is closed and every field required; a field that may be left out may be null instead.
    """
    try:
        made = strict(inlined(schema))
        defined = {name: strict(part) for name, part in schema.get("$defs", {}).items()}
    except NotStrict:
        return None
    return {**made, "$defs": defined} if defined else made


def strict(schema: object) -> Schema:
    if not isinstance(schema, dict):
        raise NotStrict
    found = cast("Schema", schema)
    if IMPOSSIBLE & found.keys():
        raise NotStrict
    made: Schema = {key: value for key, value in found.items() if key in KEPT}
    if "$ref" in found:
        if not str(found["$ref"]).startswith("#/$defs/"):
            raise NotStrict
        # Nothing may stand beside a reference.
        reference = {"$ref": found["$ref"]}
        return {**made, "anyOf": [reference]} if made else reference
    # A union with a discriminator is a plain one here: its branches differ by a constant anyway.
    branches = found.get("anyOf", found.get("oneOf"))
    if branches is not None:
        made["anyOf"] = [strict(branch) for branch in branches]
    if found.get("type") == "array":
        made["items"] = strict(found.get("items"))
    if found.get("type") == "object":
        made |= strict_object(found)
    if not made.keys() & {"type", "anyOf", "enum", "const"}:
        # Anything at all.
        raise NotStrict
    return made


def strict_object(found: Schema) -> Schema:
    if found.get("additionalProperties") is not False:
        # A mapping with keys of the model's choice.
        raise NotStrict
    properties = cast("Mapping[str, Any]", found.get("properties", {}))
    required = set(found.get("required", ()))
    return {
        "properties": {
            name: strict(part) if name in required else nullable(strict(part)) for name, part in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def nullable(part: Schema) -> Schema:
    # A reference to something that takes null is given a null more, which changes nothing.
    if takes_null(part, lambda _: {"type": "object"}):
        return part
    description = {"description": part.pop("description")} if "description" in part else {}
    return {**description, "anyOf": [*(part["anyOf"] if part.keys() == {"anyOf"} else [part]), NULL]}


def takes_null(schema: object, resolve: Callable[[str], object]) -> bool:
    if not isinstance(schema, dict):
        return False
    found = cast("Schema", schema)
    if "$ref" in found:
        return takes_null(resolve(str(found["$ref"])), resolve)
    kinds = found.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or None in found.get("enum", ()):
        return True
    if not kinds and not found.keys() & {"anyOf", "oneOf", "enum", "const"}:
        return "const" not in found
    return any(takes_null(branch, resolve) for branch in (*found.get("anyOf", ()), *found.get("oneOf", ())))


def without_filler(arguments: Any, schema: Schema) -> Any:
    """Return arguments without the nulls that strict mode forces on fields that may be left out and are no null.

    A null that the field takes is a value, and stays.
    """
    defined = cast("Schema", schema.get("$defs", {}))

    def resolve(reference: str) -> object:
        return defined.get(reference.removeprefix("#/$defs/"), {})

    def walk(value: Any, part: object, depth: int) -> Any:
        if depth > MOST_DEPTH or not isinstance(part, dict):
            return value
        found = cast("Schema", part)
        if "$ref" in found:
            return walk(value, resolve(str(found["$ref"])), depth + 1)
        branches = [branch for branch in (*found.get("anyOf", ()), *found.get("oneOf", ())) if branch != NULL]
        if len(branches) == 1:
            return walk(value, branches[0], depth + 1)
        if isinstance(value, list):
            return [walk(item, found.get("items"), depth + 1) for item in cast("list[object]", value)]
        properties = found.get("properties")
        if not isinstance(value, dict):
            return value
        if not isinstance(properties, dict):
            return cast("object", value)
        fields = cast("Schema", properties)
        required = found.get("required", ())
        return {
            name: walk(item, fields.get(name), depth + 1)
            for name, item in cast("dict[str, object]", value).items()
            if item is not None or name not in fields or name in required or takes_null(fields[name], resolve)
        }

    return walk(arguments, schema, 0)


MOST_DEPTH: Final = 100
