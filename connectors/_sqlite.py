"""The way in for what a SQLite file answers to one query. The file is opened read only, in a process of its own.

A process and not a thread: SQLite looks for an interruption between two steps of a statement, and a single call of a
function (`instr` or `trim` over two long texts) can be one step for minutes; a file that somebody else made may crash the
library. A process is killed at the deadline, in its bounds of memory, and takes nothing else along.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias

from connectors import _sqlite_child as child
from connectors._bounds import time_left
from connectors._databases import Sqlite
from connectors._paging import as_text
from connectors._process import run_process
from connectors._sql_rows import Bounds, Found, check_text, json_found, refuse_bytes, refuse_rows
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Parameter", "ask_sqlite", "query_sqlite"]

Parameter: TypeAlias = "str | int | float | None"

# JSON may need six characters for one byte, and a quote or a comma beside each cell.
PRINTED: Final = 8
MAX_DETAIL: Final = 4000

CHANGES: Final = (
    "The statement does more than read. Write one SELECT, VALUES or WITH, without ATTACH, PRAGMA, functions that load code, "
    "and anything that changes something."
)
SEVERAL: Final = "The text holds more than one statement. Write one."
NO_COLUMNS: Final = "The statement gives no rows. Write one SELECT, VALUES or WITH."


async def query_sqlite(
    database: Sqlite,
    query: str,
    parameters: Sequence[Parameter] = (),
    *,
    max_rows: int = 200,
    max_bytes: int = 40_000,
    timeout_s: float = 20.0,
    origin: str | None = None,
) -> Foreign[Found]:
    """Ask a SQLite file one query that only reads, and return all of its rows.

    Args:
        database: the file, and what it is called.
        query: one SELECT, VALUES or WITH. Write `?` where a value of somebody else stands.
        parameters: those values, in order.
        max_rows: the most rows; more are refused and not cut.
        max_bytes: the most bytes of names and cells; more are refused and not cut.
        timeout_s: the longest it may take; the call's own deadline holds as well.
        origin: who chose what the rows hold; None leaves it to the tool's declaration.

    Raises:
        IngressRefused: codes `query_refused`, `not_a_query`, `too_many_rows`, `too_large`.
        ToolFailed: the file is not there, SQLite gave an error (which is the detail), or it did not answer in time.
    """
    bounds = Bounds(max_rows=max_rows, max_bytes=max_bytes, timeout_s=timeout_s)
    return await ask_sqlite(database, query, bounds, parameters=parameters, origin=origin)


async def ask_sqlite(
    database: Sqlite,
    query: str,
    bounds: Bounds,
    *,
    parameters: Sequence[Parameter] = (),
    origin: str | None = None,
) -> Foreign[Found]:
    """The same with bounds that are made once for many queries."""
    check_text(query)
    order = {
        "path": os.fspath(database.path),
        "query": query,
        "parameters": list(parameters),
        "max_rows": bounds.max_rows,
        "max_bytes": bounds.max_bytes,
        "timeout_s": time_left(bounds.timeout_s),
    }
    ran = await run_process(
        [sys.executable, "-I", "-S", child.__file__],
        stdin=json.dumps(order).encode(),
        timeout_s=bounds.timeout_s,
        max_bytes=PRINTED * bounds.max_bytes + 1_000_000,
        origin=origin,
    )
    if ran.exit_code != 0:
        give_up(database, bounds, ran.exit_code, as_text(ran.stderr).map(lambda said: said[:MAX_DETAIL]))
    return json_found(ran.stdout)


def give_up(database: Sqlite, bounds: Bounds, exit_code: int, said: Foreign[str]) -> NoReturn:
    match exit_code:
        case child.ROWS:
            raise refuse_rows(bounds)
        case child.BYTES:
            raise refuse_bytes(bounds)
        case child.CHANGES:
            raise IngressRefused("not_a_query", CHANGES)
        case child.SEVERAL:
            raise IngressRefused("not_a_query", SEVERAL)
        case child.NO_COLUMNS:
            raise IngressRefused("not_a_query", NO_COLUMNS)
        case child.SAID:
            raise ToolFailed(f"The database {database.name!r} gave an error instead of rows.", said)
        case child.MEMORY:
            raise ToolFailed(f"The query on the database {database.name!r} needs more memory than one may take.")
        case child.NO_FILE:
            raise ToolFailed(f"The file of the database {database.name!r} is not there.")
        case _:
            # Without what it printed: that is a traceback, with paths of this machine.
            raise ToolFailed(
                f"The process that asked the database {database.name!r} ended early (exit code {exit_code}). The query may "
                "need more memory or disk than one may take."
            )
