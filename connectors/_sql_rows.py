"""What a query brought back, whichever database was asked, and how it is shown: every cell, name and word of it is foreign.

A value is shown so that it can be read back: no text looks like a NULL or like bytes. Nothing here asks a database.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast, final

from pydantic import JsonValue

from registry import Foreign, render_table
from registry.errors import IngressRefused

__all__ = [
    "Blob",
    "Bounds",
    "Cell",
    "Found",
    "check_text",
    "digest_of",
    "json_found",
    "refuse_bytes",
    "refuse_rows",
    "size_of",
]

# Texts that would otherwise look like something else, and are shown in quotes.
UNCLEAR: Final = re.compile(r"NULL\Z|'|x'[0-9a-f]*'\Z")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one query may bring back and how long it may take. More is refused, and never cut."""

    max_rows: int
    """The most rows."""
    max_bytes: int
    """The most bytes of the names and the cells, as text in UTF-8; bytes count as their hexadecimal digits."""
    timeout_s: float
    """The longest that it may take; the call's own deadline holds as well."""


@final
@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that are not text, as hexadecimal digits."""

    digits: str


Cell: TypeAlias = "str | int | float | bool | Blob | None"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a query brought back."""

    columns: tuple[str, ...]
    """The names of the columns; two may be equal."""
    rows: tuple[tuple[Cell, ...], ...]
    """As many cells in each as there are columns."""

    def table(self, provenance: str) -> str:
        """The whole as a table of text."""
        return render_table(self.columns, (map(text_of, row) for row in self.rows), provenance)

    def data(self) -> dict[str, JsonValue]:
        """The whole as JSON: rows are lists, since two columns may have one name."""
        return {"columns": list(self.columns), "rows": [list(map(json_of, row)) for row in self.rows]}


def text_of(cell: Cell) -> str:
    """A cell as text. Texts that would look like something else stand in single quotes."""
    if cell is None:
        return "NULL"
    if isinstance(cell, Blob):
        return f"x'{cell.digits}'"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return f"'{cell}'" if UNCLEAR.match(cell) else cell
    return repr(cell)


def json_of(cell: Cell) -> JsonValue:
    if isinstance(cell, Blob) or (isinstance(cell, float) and not math.isfinite(cell)):
        return text_of(cell)
    return cell


def found_in(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Found:
    """Build it from JSON that a process of ours wrote: bytes are `{"x": "6162"}` there."""
    return Found(columns=tuple(map(str, columns)), rows=tuple(tuple(map(cell_of, row)) for row in rows))


def cell_of(value: object) -> Cell:
    if isinstance(value, dict):
        return Blob(str(cast("dict[str, object]", value)["x"]))
    return cast("Cell", value)


def digest_of(query: str) -> str:
    """Which query an answer belongs to, in a few hexadecimal digits."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def check_text(query: str) -> None:
    """Refuse a query that no database takes whole; half of a character does not get past the input model.

    Raises:
        IngressRefused: code `query_refused`.
    """
    if "\0" in query:
        raise IngressRefused("query_refused", "The query holds a NUL character. Write plain text.")


def refuse_rows(bounds: Bounds) -> IngressRefused:
    return IngressRefused(
        "too_many_rows",
        f"The query gives more than {bounds.max_rows} rows, which is the most that is shown; none of them is. Count or group "
        "them, narrow the condition, or write ORDER BY with LIMIT and OFFSET.",
    )


def refuse_bytes(bounds: Bounds) -> IngressRefused:
    return IngressRefused(
        "too_large",
        f"The query gives more than {bounds.max_bytes} bytes, which is the most that is shown; none of them is. Ask for "
        "fewer columns or rows, or for a part of a long text with substr(...).",
    )


def json_found(text: Foreign[bytes]) -> Foreign[Found]:
    """Read what a process of ours printed."""
    return text.map(lambda body: found_in(*(json.loads(body)[key] for key in ("columns", "rows"))))
