"""A JSON or TOML file, and the line on which each of its values begins, for messages that lead to the place.

It must never show what stands in the file: a manifest may have been written by a third party.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast, final

from registry.errors import DocumentError

__all__ = ["Document", "parse_document", "read_document"]

Format: TypeAlias = Literal["json", "toml"]

MOST_BYTES: Final = 1_000_000
BLANK: Final = re.compile(r"[ \t\n\r]*")
TOML_PLACE: Final = re.compile(r"\(at line (?P<line>\d+), column \d+\)\Z")
DECODER: Final = json.JSONDecoder()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file holds, and its text to find lines in."""

    name: str
    """The file, as it is named in messages."""
    format: Format
    """How it is written."""
    text: str
    """The file as it is."""
    data: dict[str, Any]
    """What it holds."""

    def line(self, *way: str | int) -> int:
        """Return the line on which the value at these keys and positions begins; of what is missing, the table around it.

        In TOML, the line of a value that spans lines is its last.
        """
        there = tuple(existing(self.data, way))
        if self.format == "json":
            return self.text.count("\n", 0, json_offset(self.text, there)) + 1
        return toml_line(self.text, there)


def read_document(path: Path) -> Document:
    """Read a file that ends in `.json` or `.toml`.

    Raises:
        DocumentError: it cannot be read, or is not of that form; the message names the file and the line.
    """
    ending = path.suffix.lower()
    if ending not in (".json", ".toml"):
        raise DocumentError(f"{path}: the name ends in neither .json nor .toml, so how to read it is not known.")
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or type(error).__name__}.") from error
    except UnicodeDecodeError:
        raise DocumentError(f"{path}: is not UTF-8.") from None
    if len(content) > MOST_BYTES:
        raise DocumentError(f"{path}: is larger than {MOST_BYTES} bytes.")
    return parse_document(text, format="json" if ending == ".json" else "toml", name=str(path))


def parse_document(text: str, *, format: Format, name: str) -> Document:  # noqa: A002  # what it is called everywhere
    """Read the text of a document.

    Raises:
        DocumentError: it is not of that form, or not an object; the message names the line and shows nothing of the text.
    """
    try:
        data: object = parse_json(text) if format == "json" else tomllib.loads(text.replace("\r\n", "\n"))
    except json.JSONDecodeError as error:
        problem = f"{name}, line {error.lineno}: is not JSON."
    except tomllib.TOMLDecodeError as error:
        # Its message may show a key, so only the line of it is used.
        place = TOML_PLACE.search(str(error))
        problem = f"{name}, line {place['line'] if place else text.count(chr(10)) + 1}: is not TOML."
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, DocumentError) else "holds a number or a depth that cannot be read."
        problem = f"{name}: {told}"
    else:
        if isinstance(data, dict):
            return Document(name=name, format=format, text=text, data=cast("dict[str, Any]", data))
        problem = f"{name}: holds no object. Write one with named fields."
    raise DocumentError(problem)


def parse_json(text: str) -> object:
    return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DocumentError("holds an object in which a key stands twice. Which of the two holds cannot be known.")
    return found


def no_constant(_: str) -> NoReturn:
    raise DocumentError("holds NaN or Infinity, which JSON does not have.")


# -- where things are ----------------------------------------------------------------------------------------------


def existing(data: object, way: Sequence[str | int]) -> Iterator[str | int]:
    """The part of a way that leads somewhere."""
    for step in way:
        if isinstance(data, dict) and step in cast("dict[object, object]", data):
            data = cast("dict[object, object]", data)[step]
        elif isinstance(data, list) and isinstance(step, int) and step < len(cast("list[object]", data)):
            data = cast("list[object]", data)[step]
        else:
            return
        yield step


def json_offset(text: str, way: Sequence[str | int]) -> int:
    offset = skipped(text, 0)
    for step in way:
        offset = next(start for key, start in members(text, offset) if key == step)
    return offset


def members(text: str, offset: int) -> Iterator[tuple[str | int, int]]:
    """The keys or positions of an object or a list, and where the value of each begins."""
    is_object = text[offset] == "{"
    number = 0
    offset = skipped(text, offset + 1)
    while text[offset] not in "}]":
        key: str | int = number
        if is_object:
            key, offset = cast("tuple[str, int]", DECODER.raw_decode(text, offset))
            offset = skipped(text, skipped(text, offset) + 1)
        yield key, offset
        _, offset = cast("tuple[object, int]", DECODER.raw_decode(text, offset))
        offset = skipped(text, offset)
        offset = skipped(text, offset + 1) if text[offset] == "," else offset
        number += 1


def skipped(text: str, offset: int) -> int:
    found = BLANK.match(text, offset)
    return found.end() if found else offset


def toml_line(text: str, way: Sequence[str | int]) -> int:
    """The first line up to which the text is TOML that holds the way.

    Nothing but a parser knows which lines begin something and which stand inside of a string. This runs only for a message.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    for number in range(1, len(lines) + 1 if way else 1):
        if not lines[number - 1].strip():
            continue
        try:
            data = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
        if len(tuple(existing(data, way))) == len(way):
            return number
    return 1
