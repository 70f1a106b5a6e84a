"""Asks one SQLite file one query, as a process of its own, and prints the rows as JSON. It must never write, and never import
anything but the standard library: it is started by its path, without the folders of any package.

How it ended is its exit code; what SQLite said is on standard error. The order to carry out is its standard input, which no
other user of the machine can read, and which has room for a query of any letters.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import quote

ROWS, BYTES, CHANGES, SEVERAL, NO_COLUMNS, SAID, MEMORY, NO_FILE = range(70, 78)

# What a query may do. Everything else is refused by SQLite before the statement runs.
READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
# Pragmas that describe a table; their table-valued functions come here too.
LOOKS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
# What the tables of FTS ask of a file when they are opened; with a value each would set something.
ASKS = frozenset({"data_version", "page_size"})
# They load code or open files; the last three are in no standard build.
REACHES = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})

MEMORY_BYTES = 512 * 1024 * 1024
SPILL_BYTES = 256 * 1024 * 1024


def main() -> None:
    order: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    limit(order)
    is_refused: list[str] = []
    try:
        connection = opened(order, is_refused)
        try:
            found = connection.execute(order["query"], order["parameters"])
        except sqlite3.DatabaseError:
            if is_refused:
                sys.exit(CHANGES)
            raise
        if found.description is None:
            sys.exit(NO_COLUMNS)
        columns = [str(column[0]) for column in found.description]
        rows = taken(found, order, sum(map(size_of, columns)))
    except MemoryError:
        sys.exit(MEMORY)
    except (sqlite3.Warning, sqlite3.ProgrammingError) as error:
        # Python's own words: more than one statement. The class has another name in each version.
        end(SEVERAL if "one statement" in str(error) else SAID, error)
    except (sqlite3.Error, UnicodeError, OverflowError) as error:  # the last is of a number past 64 bits
        end(SAID, error)
    sys.stdout.buffer.write(json.dumps({"columns": columns, "rows": rows}).encode())


def end(code: int, error: BaseException) -> NoReturn:
    sys.stderr.buffer.write(str(error).encode("utf-8", "surrogatepass"))
    sys.exit(code)


def limit(order: dict[str, Any]) -> None:
    """Bound what this process may take: memory, a sort that spills to disk, time; and leave no image of a crash."""
    # The parent kills at its deadline. If it is killed itself, this still ends.
    longest_s = int(order["timeout_s"]) + 5
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, SPILL_BYTES),
        (resource.RLIMIT_CPU, longest_s),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # macOS has no bound of memory, and a lower one may be there already
            resource.setrlimit(what, (most, most))


def opened(order: dict[str, Any], is_refused: list[str]) -> sqlite3.Connection:
    if not os.path.isfile(order["path"]):  # noqa: PTH113  # pathlib costs as much as the rest of this start
        sys.exit(NO_FILE)
    uri = f"file:{quote(os.fsencode(order['path']))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = decoded
    for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {pragma}")
    # Room for values that are looked at and not shown; `zeroblob(1000000000)` is refused by SQLite itself.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(order["max_bytes"] + 1, 16 * 1024 * 1024))
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)

    def allows(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in READS:
            return sqlite3.SQLITE_OK
        # A virtual table (FTS, `json_each`) declares its columns in the course of a query, which is asked as an update of
        # this table. A real one is refused by SQLite, and again by the way the file is opened.
        if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in REACHES:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in LOOKS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in ASKS and second is None:
            return sqlite3.SQLITE_OK
        is_refused.append("")
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(allows)
    return connection


def decoded(text: bytes) -> str:
    """What is not UTF-8 stays as lone surrogates."""
    return text.decode("utf-8", "surrogateescape")


def taken(found: sqlite3.Cursor, order: dict[str, Any], size: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for row in found:
        if len(rows) == order["max_rows"]:
            sys.exit(ROWS)
        size += sum(map(size_of, row))
        if size > order["max_bytes"]:
            sys.exit(BYTES)
        rows.append([{"x": cell.hex()} if isinstance(cell, bytes) else cell for cell in row])
    return rows


def size_of(cell: object) -> int:
    """Bytes of a cell as text."""
    if isinstance(cell, str):
        return len(cell.encode("utf-8", "surrogatepass"))
    return 2 * len(cell) if isinstance(cell, bytes) else len(str(cell))


if __name__ == "__main__":
    main()
