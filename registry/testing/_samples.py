"""Arguments that a tool's input accepts, made from its schema. They are dull; the author of a tool gives better ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from registry import AnyTool

__all__ = ["sample_arguments", "sampled"]

FORMATS: Final = {
    "uri": "https://host.example/page",
    "email": "someone@host.example",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1S",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "json-string": "{}",
}
MAX_DEPTH: Final = 20


def sample_arguments(tool: AnyTool) -> dict[str, Any] | None:
    """Return arguments that the tool's input accepts, or None where none can be made from the schema (a pattern, or a rule
    in a validator)."""
    schema: dict[str, Any] = tool.input.model_json_schema()
    sample = sampled(schema, schema, 0)
    try:
        tool.input.model_validate(sample)
    except ValidationError:
        return None
    return cast("dict[str, Any]", sample)


def sampled(schema: object, root: dict[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    node = cast("dict[str, Any]", schema)
    if "$ref" in node:
        return sampled(target(node["$ref"], root), root, depth + 1)
    for keyword in ("const", "default"):
        if keyword in node:
            return node[keyword]
    for keyword in ("enum", "examples"):
        if node.get(keyword):
            return node[keyword][0]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if node.get(keyword):
            return sampled(node[keyword][0], root, depth + 1)
    return of_type(node, root, depth)


def target(reference: str, root: dict[str, Any]) -> object:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("object", found)


def of_type(node: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    match kind_of(node):
        case "string":
            return text(node)
        case "integer" | "number":
            return number(node)
        case "boolean":
            return False
        case "array":
            positions = [sampled(item, root, depth + 1) for item in node.get("prefixItems", ())]
            more = max(0, node.get("minItems", 0) - len(positions))
            return [*positions, *(sampled(node.get("items"), root, depth + 1) for _ in range(more))]
        case "object":
            properties = cast("Mapping[str, object]", node.get("properties", {}))
            return {name: sampled(properties.get(name), root, depth + 1) for name in node.get("required", ())}
        case _:
            return None


def kind_of(node: dict[str, Any]) -> object:
    kinds: object = node.get("type")
    several = cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]
    return several[0] if several else None


def text(node: dict[str, Any]) -> str:
    known = FORMATS.get(node.get("format", ""))
    if known is not None:
        return known
    return "example".ljust(node.get("minLength", 0), "x")[: node.get("maxLength")]


def number(node: dict[str, Any]) -> Any:
    low = node.get("minimum", node.get("exclusiveMinimum"))
    high = node.get("maximum", node.get("exclusiveMaximum"))
    step = node.get("multipleOf", 1)
    if low is None:
        return 0 if high is None or high > 0 else high - step
    return low if "minimum" in node and low % step == 0 else (low // step + 1) * step
