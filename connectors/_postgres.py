"""The way in for what PostgreSQL answers to one query. It must never change anything there, and never show a credential.

The query is sent alone first, as a prepared statement that the server reads and does not run: it knows whether that is one
statement, and which columns it gives. It then runs as a part of one of ours, `WITH found(...) AS (query) SELECT ...`, where
the grammar has no place for anything but a query, in a transaction that is read only and is never committed. The server
itself cuts what is larger than the bounds, so that no value has to be held here to be refused.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar, final

from connectors._bounds import seconds, time_left
from connectors._databases import Postgres
from connectors._postgres_roles import LOOK, OUR_NAME, TOO_MUCH
from connectors._sql_rows import Blob, Bounds, Cell, Found, check_text, refuse_bytes, refuse_rows, size_of
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

try:
    import psycopg
    from psycopg import generators, pq, waiting
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGresult
except ImportError as error:  # pragma: no cover  # a subprocess test without psycopg runs it
    raise ImportError("PostgreSQL needs psycopg. Write: pip install 'hedgerow[sql]'", name="psycopg") from error

__all__ = ["ask_postgres"]

T = TypeVar("T")
Connection: TypeAlias = "psycopg.AsyncConnection[Any]"

# The transaction is read only by its own right, whatever the session's defaults are. What is set is what the text of a
# value depends on, and holds for this transaction alone, so that a pooled connection is given back as it was.
BEGIN: Final = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL default_transaction_read_only = on; "
    "SET LOCAL statement_timeout = {timeout_ms}; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; "
    "SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1"
)
# A session that is just beginning has no name yet.
LOOKS: Final = 3
AGAIN_S: Final = 0.1
MAX_DETAIL: Final = 4000
# For the connection that asks the server to stop, and between two looks of psycopg at whether it was interrupted.
CANCEL_S: Final = 1.0
LOOK_S: Final = 0.1
TIMED_OUT: Final = "57014"
# The classes of errors that a statement gives where the grammar has no place for it: syntax, and what is not supported.
NO_PLACE: Final = frozenset({"42", "0A"})

BOOL, BYTEA, INTEGERS, FLOATS = 16, 17, frozenset({20, 21, 23}), frozenset({700, 701})

NO_QUERY: Final = (
    "The statement is not a query that can be read from. Write one SELECT, VALUES, TABLE or WITH without a semicolon, and "
    "nothing in it that changes something."
)


@final
class Answered(Exception):  # private signal: what the server said went wrong
    """An error of the server."""

    def __init__(self, result: PGresult) -> None:
        super().__init__()
        self.state = field_of(result, pq.DiagnosticField.SQLSTATE)
        self.said = Foreign("\n".join(said_in(result))[:MAX_DETAIL])


async def ask_postgres(database: Postgres, query: str, bounds: Bounds) -> Foreign[Found]:
    """Run one query and return all of its rows.

    Raises:
        IngressRefused: codes `query_refused`, `not_a_query`, `too_many_rows`, `too_large`.
        ToolFailed: the server cannot be reached, its role may do more than read, it gave an error (which is the detail), or
            it did not answer in time.
    """
    check_text(query)
    bound_s = time_left(bounds.timeout_s)
    ends = time.monotonic() + bound_s
    try:
        async with asyncio.timeout(bound_s):
            connection = await connected(database)
            try:
                return await asked(connection, query, bounds, bound_s)
            finally:
                await ended(connection)
    except TimeoutError:
        failed = ToolFailed(late(database, bound_s))
    except psycopg.Error:  # the connection broke; what the library says of it names hosts and users
        failed = ToolFailed(f"The connection to the database {database.name!r} was lost.")
    except Answered as error:
        # A query can cancel itself by a function, and then nothing took too long.
        if error.state == TIMED_OUT and time.monotonic() >= ends:
            failed = ToolFailed(late(database, bound_s))
        else:
            failed = ToolFailed(f"The database {database.name!r} gave an error instead of rows.", error.said)
    # Outside of the `except` blocks, so that no text of the library travels along as a context.
    raise failed


def late(database: Postgres, bound_s: float) -> str:
    return f"The database {database.name!r} did not answer within {seconds(bound_s)}; the query was stopped."


async def connected(database: Postgres) -> Connection:
    """Connect. What the library says of a connection string or a server holds pieces of the string, so none of it leaves."""
    given = database.secrets(database.name)
    try:
        return await psycopg.AsyncConnection.connect(
            given, autocommit=True, client_encoding="UTF8", application_name=OUR_NAME
        )
    except psycopg.ProgrammingError:
        failed = ToolFailed(f"The connection string of the database {database.name!r} cannot be read.")
    except (psycopg.Error, UnicodeError, ValueError):
        failed = ToolFailed(
            f"The database {database.name!r} cannot be reached, or did not accept the connection. What it said may hold "
            "credentials and is not shown."
        )
    raise failed


async def ended(connection: Connection) -> None:
    """Stop what still runs on the server, and close without COMMIT: what a function did in spite of it all is undone."""
    try:
        if connection.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):
                await connection.cancel_safe(timeout=CANCEL_S)
    finally:
        await connection.close()


async def asked(connection: Connection, query: str, bounds: Bounds, bound_s: float) -> Foreign[Found]:
    await run(connection, BEGIN.format(timeout_ms=max(1, int(bound_s * 1000))))
    await check_role(connection)
    plain = await prepared(connection, query)
    names = [decoded(plain.fname(number)) for number in range(plain.nfields)]
    types = [plain.ftype(number) for number in range(plain.nfields)]
    if not names:
        raise IngressRefused("not_a_query", NO_QUERY)
    taken = sum(map(size_of, names))
    if taken > bounds.max_bytes:
        raise refuse_bytes(bounds)
    whole = wrapped(query, len(names), bounds)
    try:
        await prepared(connection, whole)
    except Answered as error:
        if error.state[:2] not in NO_PLACE:
            raise
        # The statement alone was accepted and has columns, so it is one that cannot stand where a query can.
        raise IngressRefused("not_a_query", NO_QUERY) from None
    rows = await streamed(connection, types, bounds, taken)
    return Foreign(Found(columns=tuple(names), rows=tuple(rows)))


async def check_role(connection: Connection) -> None:
    """Refuse a role that may do what no read-only transaction keeps it from.

    Raises:
        ToolFailed: it may do such a thing.
    """
    found = await too_much(connection)
    for _ in range(LOOKS):
        if found is None:
            return
        await asyncio.sleep(AGAIN_S)
        found = await too_much(connection)
    if found is not None:
        raise ToolFailed(found)


async def too_much(connection: Connection) -> str | None:
    (answers,) = await run(connection, LOOK)
    return next((said for column, said in enumerate(TOO_MUCH) if answers.get_value(0, column) == b"t"), None)


def wrapped(query: str, width: int, bounds: Bounds) -> str:
    """The query as a part of one of ours: each row as one JSON text, cut where it is more than may be shown."""
    names = [f"c{number}" for number in range(width)]
    # A cell that is cut here is over the bound alone, and a row that is cut is no JSON; both are refused below.
    cells = ", ".join(f"pg_catalog.left({name}::pg_catalog.text, {bounds.max_bytes + 1})" for name in names)
    row = f"pg_catalog.array_to_json(ARRAY[{cells}])::pg_catalog.text"
    return (
        f"WITH found({', '.join(names)}) AS MATERIALIZED (\n{query}\n)\n"
        f"SELECT pg_catalog.left({row}, {longest_row(width, bounds)}) FROM found LIMIT {bounds.max_rows + 1}"
    )


def longest_row(width: int, bounds: Bounds) -> int:
    """Characters of a row as JSON: each byte may be an escape of six, and each cell has quotes and a comma."""
    return 6 * bounds.max_bytes + 8 * width + 2


async def streamed(connection: Connection, types: Sequence[int], bounds: Bounds, taken: int) -> list[tuple[Cell, ...]]:
    """Take the rows one by one, so that at most one is held that is too many."""
    rows: list[tuple[Cell, ...]] = []
    connection.pgconn.send_query_prepared(b"", None)
    connection.pgconn.set_single_row_mode()
    await waited(connection, generators.send(connection.pgconn))
    while True:
        result = await waited(connection, generators.fetch(connection.pgconn))
        if result is None:
            return rows
        if result.status == pq.ExecStatus.TUPLES_OK:
            continue  # the end of the rows
        if result.status != pq.ExecStatus.SINGLE_TUPLE:
            raise Answered(result)
        if len(rows) == bounds.max_rows:
            raise refuse_rows(bounds)
        text = decoded(result.get_value(0, 0))
        if len(text) >= longest_row(len(types), bounds):
            raise refuse_bytes(bounds)
        texts: list[str | None] = json.loads(text)
        taken += sum(map(size_of, filter(None, texts)))
        if taken > bounds.max_bytes:
            raise refuse_bytes(bounds)
        rows.append(tuple(map(cell_of, types, texts)))


def cell_of(kind: int, text: str | None) -> Cell:
    """A cell of a type whose text has one reading as JSON; every other stays the server's text, exact as it is."""
    if text is None:
        return None
    if kind == BOOL:
        return text == "true"
    if kind in INTEGERS:
        return int(text)
    if kind in FLOATS:
        return float(text)
    return Blob(text.removeprefix("\\x")) if kind == BYTEA else text


# -- the protocol --------------------------------------------------------------------------------------------------


async def run(connection: Connection, statements: str) -> list[PGresult]:
    """Run statements of ours."""
    connection.pgconn.send_query(statements.encode())
    return await results(connection, generators.execute(connection.pgconn))


async def prepared(connection: Connection, statement: str) -> PGresult:
    """Have a statement read and not run; what comes back describes its columns."""
    connection.pgconn.send_prepare(b"", statement.encode())
    await results(connection, generators.execute(connection.pgconn))
    connection.pgconn.send_describe_prepared(b"")
    (description,) = await results(connection, generators.execute(connection.pgconn))
    return description


async def waited(connection: Connection, work: PQGen[T]) -> T:
    """Wait for the server. `AsyncConnection.wait` would do the same, and take up to ten seconds for each cancellation."""
    return await waiting.wait_async(work, connection.pgconn.socket, interval=LOOK_S)


async def results(connection: Connection, work: PQGen[list[PGresult]]) -> list[PGresult]:
    got = await waited(connection, work)
    for result in got:
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise Answered(result)
    return got


def decoded(text: bytes | None) -> str:
    """A server that does not check its characters may send anything; what is not UTF-8 stays as lone surrogates."""
    return (text or b"").decode("utf-8", "surrogateescape")


def field_of(result: PGresult, field: pq.DiagnosticField) -> str:
    return decoded(result.error_field(field))


def said_in(result: PGresult) -> list[str]:
    """Everything that an error says, a hint too: all of it is the other side's, and nothing is done because of it."""
    fields = pq.DiagnosticField
    lines = [f"{field_of(result, fields.SEVERITY)}: {field_of(result, fields.MESSAGE_PRIMARY)}"]
    for name, field in (
        ("DETAIL", fields.MESSAGE_DETAIL),
        ("HINT", fields.MESSAGE_HINT),
        ("CONTEXT", fields.CONTEXT),
        ("POSITION", fields.STATEMENT_POSITION),
    ):
        said = field_of(result, field)
        lines += [f"{name}: {said}"] if said else []
    return lines
