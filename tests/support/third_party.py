"""Tools that somebody else described: what a manifest or a server of tools would bring, and tools of ours beside them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import Field

from registry import AnyTool, Foreign, Registry, ToolDef, ToolInput
from tests.support.deployments import tool


def done(request: ToolInput) -> str:
    """A handler that answers in its own words."""
    return "done"


def peer_input(schema: dict[str, Any], origin: str | None = "the manual of the server") -> type[ToolInput]:
    """An input whose schema a third party wrote, as a client that reads schemas of other programs makes one.

    `model_json_schema` is what it overrides: references inside of the schema are its own, and pydantic knows nothing of them.
    """

    class Peer(ToolInput):
        prose_origin = origin

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"additionalProperties": False, **schema}

    return Peer


def peer_schema(text: str, *, value: str = "fast") -> dict[str, Any]:
    """A schema with a text in every place where prose can stand, and a value in every place that takes one."""
    return {
        "type": "object",
        "title": f"title {text}",
        "description": f"description {text}",
        "$comment": f"comment {text}",
        "properties": {
            "mode": {
                "type": "string",
                "title": f"property title {text}",
                "description": f"property description {text}",
                "$comment": f"property comment {text}",
                "enum": [f"label {value}", f"other label {value}"],
                "default": f"default {value}",
                "examples": [f"example {value}"],
            },
            "inner": {"$ref": "#/$defs/Inner"},
            "many": {"type": "array", "items": {"type": "integer", "description": f"item {text}"}},
            "either": {"anyOf": [{"type": "null"}, {"const": f"constant {value}"}]},
            "count": {"type": "integer", "minimum": 1, "default": 3, "enum": [1, 3]},
        },
        "required": ["mode"],
        "additionalProperties": False,
        "$defs": {
            "Inner": {
                "type": "object",
                "description": f"inner {text}",
                "properties": {"pattern": {"type": "string", "pattern": f"pattern {value}"}},
                "additionalProperties": False,
                "patternProperties": {f"key {value}": {"type": "string"}},
            }
        },
    }


def peer_tool(text: str, *, name: str = "peer", value: str = "fast") -> AnyTool:
    """A tool whose description and schema a third party wrote, with a different text in every field."""
    made: AnyTool = ToolDef(
        name=name,
        description=Foreign(f"tool {text}", "the server's list"),
        input=peer_input(peer_schema(text, value=value)),
        handler=done,
        untrusted_output="the server",
    )
    return made


class Colour(Enum):
    """What a programmer reads about colours."""

    RED = "red"
    BLUE = "blue"


class Lamp(ToolInput):
    """What a programmer reads about a lamp."""

    room: str = Field(description="The room that the lamp is in.", title="A title", examples=["an example"])
    colour: Colour = Colour.RED
    title: str = Field("none", description="A field that is named as a keyword is.")


LAMP: AnyTool = ToolDef(
    name="lamp",
    description="Switch a lamp on.",
    input=Lamp,
    handler=done,
    untrusted_output=False,
    effect="write",
)
PAGE = tool(done, "web", name="page")
PEER = peer_tool("of the third party")

REGISTRY = Registry([LAMP, PAGE, PEER])
