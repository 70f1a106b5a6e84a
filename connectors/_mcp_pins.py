"""The pins: what each peer said of its tools when the owner looked, and its digest. No other definition reaches a model.

The file is JSON in ASCII, sorted and indented, so that a diff shows what a peer has changed. What is said about a difference
is in words of ours: counts, the parts that differ, and names that keep to the grammar of names.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast, final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from registry.documents import read_document
from registry.errors import DeclarationError, DocumentError

__all__ = ["Differences", "Pin", "Pins", "compared", "digest_of", "pinned", "read_pins", "write_pins"]

Definition: TypeAlias = "dict[str, JsonValue]"

VERSION: Final = 1
# As much as a document may have.
MOST_CHARS: Final = 999_999
NO_DIGEST: Final = ""
# What a definition is, of all that a peer sends: what a model reads, and what decides how a tool is called.
PARTS: Final[Mapping[str, str]] = {
    "name": "name",
    "title": "title",
    "description": "description",
    "inputSchema": "input",
    "outputSchema": "output",
    "annotations": "hints",
}


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pin(Closed):
    """One tool as the owner saw it."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    definition: dict[str, JsonValue]

    @property
    def description(self) -> str:
        """What the peer says that it does, or the empty text."""
        said = self.definition.get("description")
        return said if isinstance(said, str) else ""


class Pins(Closed):
    """What is pinned: for each peer, the tools by name."""

    hedgerow_pins: Annotated[int, Field(ge=VERSION, le=VERSION)] = VERSION
    peers: dict[str, dict[str, Pin]] = {}


def definition_of(said: Mapping[str, Any]) -> Definition:
    """The parts of a tool's definition that count, out of all that a peer sends."""
    return {part: said[part] for part in PARTS if said.get(part) is not None}


def digest_of(definition: Mapping[str, Any]) -> str:
    """SHA-256 over the definition as canonical JSON; of what is no JSON, the empty text, which no pin has."""
    try:
        text = json.dumps(definition, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        return NO_DIGEST
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def pinned(said: Mapping[str, Any]) -> Pin | None:
    """What is pinned of a tool; None of one whose definition is no JSON (a NaN, a number of thousands of digits)."""
    definition = definition_of(said)
    digest = digest_of(definition)
    return None if digest == NO_DIGEST else Pin(sha256=digest, definition=definition)


def read_pins(path: Path) -> Pins:
    """Read a file of pins.

    Raises:
        DeclarationError: it cannot be read, is no file of pins, or was changed by hand; shows nothing of what peers wrote.
    """
    if not path.exists():
        raise DeclarationError(
            f"{path}: there is no such file. Look at what your peers offer and write it: hedgerow pin my_peers:PEERS "
            f"--file {path.name}"
        )
    try:
        document = read_document(path)
        pins = Pins.model_validate(document.data)
    except DocumentError as error:
        raise DeclarationError(str(error)) from None
    except (ValidationError, RecursionError):
        raise DeclarationError(f"{path}: is no file of pins. Write it anew with hedgerow pin.") from None
    for peer, tools in pins.peers.items():
        for number, (name, pin) in enumerate(tools.items(), start=1):
            if digest_of(pin.definition) != pin.sha256 or pin.definition.get("name") != name:
                line = document.line("peers", peer, name)
                raise DeclarationError(
                    f"{path}, line {line}: pin {number} of that peer does not fit its digest. It was changed by hand; pin "
                    "the peer again, and describe a tool in words of your own where it is made."
                )
    return pins


def write_pins(path: Path, pins: Pins) -> None:
    """Write a file of pins whole, or not at all.

    Raises:
        DeclarationError: it would be too large to be read.
    """
    text = json.dumps(pins.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=True)
    if len(text) > MOST_CHARS:
        raise DeclarationError(
            f"{path}: the pins would have more than {MOST_CHARS} characters, which is the most that is read. Give each "
            "peer a file of its own."
        )
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(f"{text}\n", encoding="ascii")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


# -- what differs --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What a peer says now, beside what is pinned. Names are those of pins, or of tools that keep to the grammar of names."""

    same: frozenset[str] = frozenset()
    """Tools that are as they are pinned."""
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Tools that are not, and which parts of them differ."""
    gone: frozenset[str] = frozenset()
    """Tools that the peer no longer offers."""
    new: frozenset[str] = frozenset()
    """Tools that are not pinned."""


def compared(pins: Mapping[str, Pin], live: Iterable[Mapping[str, Any]]) -> Differences:
    """Say how what a peer says now differs from what is pinned. A name that stands twice is a changed tool."""
    said: dict[str, list[Definition]] = {}
    for tool in live:
        said.setdefault(cast("str", tool["name"]), []).append(definition_of(tool))
    changed: dict[str, tuple[str, ...]] = {}
    for name, pin in pins.items():
        found = said.get(name, [])
        if len(found) > 1:
            changed[name] = ("name",)
        elif found and digest_of(found[0]) != pin.sha256:
            changed[name] = tuple(word for part, word in PARTS.items() if differs(pin.definition, found[0], part))
    return Differences(
        same=frozenset(pins.keys() & said.keys() - changed.keys()),
        changed=changed,
        gone=frozenset(pins.keys() - said.keys()),
        new=frozenset(said.keys() - pins.keys()),
    )


def differs(one: Definition, other: Definition, part: str) -> bool:
    # As JSON: to Python True is 1.
    return digest_of({part: one.get(part)}) != digest_of({part: other.get(part)})
