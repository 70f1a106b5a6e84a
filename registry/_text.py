"""Text that a table's cells and a third party's prose cannot break out of, and the way back.

A text surface owns its delimiters: a line end, a tab, a trailer. No value may spell one. Everything here can be read back
exactly, so nothing is removed and nothing is guessed. It marks nothing as foreign: that is the fence's work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from registry.errors import TextError

__all__ = ["Table", "escape_cell", "parse_table", "quote_prose", "render_table", "unescape_cell", "unquote_prose"]

# Every character that `str.splitlines` takes for a line end, and CR LF as one. Readers disagree about which of them count
# (`split("\n")`, text files, JavaScript, YAML, Markdown), so all of them do here.
LINE_END: Final = re.compile("(\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])")

# Beside the line ends, the tab and the backslash: what moves a terminal's cursor or the order of letters, and what UTF-8
# does not have (a lone surrogate would fail after the tool has run).
UNSAFE: Final = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]")
SHORT: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
LONG: Final = {escaped[1]: character for character, escaped in SHORT.items()}
ESCAPE: Final = re.compile(
    r"\\(?:(?P<short>[\\tnr])|x(?P<two>[0-9a-f]{2})|u(?P<four>[0-9a-f]{4})|U(?P<eight>000e00[0-7][0-9a-f]))"
)

QUOTE: Final = "> "

HEADER: Final = "#"
TRAILER: Final = "--"


# -- cells ---------------------------------------------------------------------------------------------------------


def escape_cell(cell: str) -> str:
    """Return a cell on one line and in one column: backslash escapes for what could open another, and for controls."""
    return UNSAFE.sub(escaped, cell)


def unescape_cell(text: str) -> str:
    """Return the cell that `escape_cell` was given.

    Raises:
        TextError: the text is not one that `escape_cell` returns.
    """
    cell = ESCAPE.sub(unescaped, text)
    if escape_cell(cell) != text:
        raise TextError("unescape_cell: this is not what escape_cell returns. Unescape a cell once, and only a cell.")
    return cell


def escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in SHORT:
        return SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unescaped(found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    return LONG[found[kind]] if kind == "short" else chr(int(found[kind], 16))


# -- prose ---------------------------------------------------------------------------------------------------------


def quote_prose(prose: str) -> str:
    """Return prose with `> ` before every line, blank and last ones too, whichever way a reader finds lines.

    Line ends are kept as they are, so the way back is exact. It breaks no control tokens; the catalogue does that first.
    """
    pieces = LINE_END.split(prose)
    return "".join(piece if is_end else f"{QUOTE}{piece}" for piece, is_end in with_ends(pieces))


def unquote_prose(quoted: str) -> str:
    """Return the prose that `quote_prose` was given.

    Raises:
        TextError: a line is not quoted.
    """
    pieces = LINE_END.split(quoted)
    if not all(is_end or piece.startswith(QUOTE) for piece, is_end in with_ends(pieces)):
        raise TextError("unquote_prose: a line does not begin with '> '. Give it what quote_prose returned, whole.")
    return "".join(piece if is_end else piece.removeprefix(QUOTE) for piece, is_end in with_ends(pieces))


def with_ends(pieces: Sequence[str]) -> Iterable[tuple[str, bool]]:
    """Lines and line ends take turns in what a split with a group returns."""
    return ((piece, bool(number % 2)) for number, piece in enumerate(pieces))


# -- tables --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a rendered table holds."""

    columns: tuple[str, ...]
    """The names of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """The cells, as many in each row as there are columns."""
    provenance: str
    """Where the table comes from."""


def render_table(columns: Iterable[str], rows: Iterable[Iterable[str]], provenance: str) -> str:
    """Return a table as text: a header line, a line for each row, and a trailer that says how many rows there are and where
    they come from.

    Every line begins with a mark of ours (`#`, the row's number, `--`), so no cell begins one, and cells are parted by tabs.

    Raises:
        TextError: a row has more or fewer cells than there are columns.
    """
    names = tuple(columns)
    lines = [line(HEADER, names)]
    for number, row in enumerate(rows, start=1):
        cells = tuple(row)
        if len(cells) != len(names):
            raise TextError(f"render_table: row {number} has {len(cells)} cells for {len(names)} columns.")
        lines.append(line(str(number), cells))
    return "\n".join([*lines, line(trailer(len(lines) - 1), [provenance])])


def parse_table(text: str) -> Table:
    """Return the table that `render_table` was given.

    Raises:
        TextError: the text is not one that `render_table` returns: cut, joined or edited.
    """
    marks, cells = zip(*map(cells_of, text.split("\n")), strict=True)
    count = len(marks) - 2
    if marks != (HEADER, *map(str, range(1, count + 1)), trailer(count)):
        raise TextError("parse_table: this is not a whole table. Give it what render_table returned, whole.")
    columns, *rows, provenance = cells
    if any(len(row) != len(columns) for row in rows) or len(provenance) != 1:
        raise TextError("parse_table: a line has more or fewer cells than it must have.")
    return Table(columns=columns, rows=tuple(rows), provenance=provenance[0])


def trailer(rows: int) -> str:
    return f"{TRAILER} {rows} rows from"


def line(mark: str, cells: Iterable[str]) -> str:
    return "\t".join([mark, *map(escape_cell, cells)])


def cells_of(text: str) -> tuple[str, tuple[str, ...]]:
    mark, *cells = text.split("\t")
    return mark, tuple(map(unescape_cell, cells))
