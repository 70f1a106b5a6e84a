"""Peers for tests: a hostile program with its script, pinned as it is, and the tools that reach it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connectors._mcp_pins import Pins, pinned, write_pins
from connectors.mcp_client import Limits, Peer, StdioPeer, tools_from_server
from registry import AnyTool
from registry.testing._marks import GUESSED, filled

PROGRAM = Path(__file__).with_name("mcp_peer.py")
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
DONE = {"content": [{"type": "text", "text": "done"}]}
USUAL = Limits()


def definition(name: str = "say", **more: Any) -> dict[str, Any]:
    """A tool as a peer defines it."""
    return {"name": name, "description": "Says.", "inputSchema": OBJECT, **more}


SAY = definition(inputSchema={"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}})


def peer_of(folder: Path, script: Mapping[str, Any], *, name: str = "evil", limits: Limits = USUAL) -> StdioPeer:
    """A hostile peer that does what a script says."""
    file = folder / f"{name}.script.json"
    file.write_text(json.dumps({"tools": [definition()], **script}), encoding="utf-8")
    return StdioPeer(name=name, argv=[sys.executable, "-I", str(PROGRAM), str(file)], limits=limits)


def pins_of(folder: Path, peer: Peer, *definitions: Mapping[str, Any]) -> Path:
    """A file that pins these definitions of a peer."""
    file = folder / "pins.json"
    tools = definitions or (definition(),)
    made = {str(tool["name"]): pin for tool in tools if (pin := pinned(tool)) is not None}
    write_pins(file, Pins(peers={peer.name: made}))
    return file


def with_marks(value: Any) -> Any:
    """A row of data with the marks of the fence in its holes, as somebody writes them who knows its source."""
    if isinstance(value, str):
        return filled(value, GUESSED)
    if isinstance(value, dict):
        return {key: with_marks(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [with_marks(item) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def planted_tools(
    folder: Path, script: Mapping[str, Any], *, limits: Limits = USUAL, **options: Any
) -> tuple[AnyTool, ...]:
    """The tools of a peer that offers `say` and does what a script says."""
    peer = peer_of(folder, script, limits=limits)
    return tools_from_server(peer, pins=pins_of(folder, peer), **options)
