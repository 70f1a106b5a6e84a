"""Tools that ask a database one question: `sql_query` runs a query, `sql_tables` shows what there is to ask.

That nothing is changed is held by the database itself and not by a look at the text of the query. The number of rows and
the words of a refusal are ours; names, cells and the text of an error are whoever's who wrote into the database.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

from pydantic import Field

from connectors._databases import Postgres, Sqlite
from connectors._sql_rows import Bounds, Found, digest_of
from connectors._sqlite import ask_sqlite
from registry import AnyTool, Foreign, MixedReply, ToolDef, ToolInput, refuse, reply
from registry.errors import DeclarationError, IngressRefused

__all__ = ["Postgres", "SqlQuery", "SqlTables", "Sqlite", "tools"]

Database: TypeAlias = "Sqlite | Postgres"
Ask: TypeAlias = "Callable[[str, Bounds], Awaitable[Foreign[Found]]]"

PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")

SQLITE_TABLES: Final = (
    'SELECT m.name AS "table", m.type AS kind, c.name AS "column", c.type AS type FROM sqlite_master AS m '
    # A view is named and not looked into: one that cannot be resolved would make the whole list an error.
    "LEFT JOIN pragma_table_xinfo(CASE m.type WHEN 'table' THEN m.name END) AS c "
    "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite|_%' ESCAPE '|' "
    "ORDER BY m.name, c.cid LIMIT {limit} OFFSET {offset}"
)
POSTGRES_TABLES: Final = (
    'SELECT table_schema AS "schema", table_name AS "table", column_name AS "column", data_type AS type '
    "FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema') "
    "ORDER BY table_schema, table_name, ordinal_position LIMIT {limit} OFFSET {offset}"
)


class SqlQuery(ToolInput):
    """What `sql_query` takes."""

    query: str = Field(
        min_length=1,
        max_length=20_000,
        description="One query that only reads, such as SELECT name FROM item ORDER BY name LIMIT 20. Too many rows are "
        "refused and not cut, so count or limit them.",
    )


class SqlTables(ToolInput):
    """What `sql_tables` takes."""

    offset: int = Field(default=0, ge=0, le=10_000_000, description="How many columns to skip.")
    limit: int = Field(default=200, ge=1, le=1000, description="How many columns to show at most.")


def tools(
    database: Database,
    *,
    prefix: str = "sql",
    max_rows: int = 200,
    max_bytes: int = 40_000,
    timeout_s: float = 20.0,
) -> tuple[AnyTool, ...]:
    """Make the tools of one database.

    Args:
        database: `Sqlite(path=..., name=...)` or `Postgres(name=..., secrets=...)`.
        prefix: what the names of the tools begin with; another one for each database.
        max_rows: the most rows of an answer; more are refused and not cut.
        max_bytes: the most bytes of an answer, as text in UTF-8; more are refused and not cut.
        timeout_s: the longest that a query may run; the call's own deadline holds as well.

    Raises:
        DeclarationError: a setting is not of that kind.
    """
    check(bool(PREFIX.match(prefix)), "prefix is not plain", "letters, digits, '_' and '-', such as 'sql'")
    check(0 < max_rows <= 100_000, "max_rows is out of range", "1 to 100000")
    check(0 < max_bytes <= 10_000_000, "max_bytes is out of range", "1 to 10000000")
    check(0 < timeout_s < math.inf, "timeout_s is out of range", "seconds, more than 0")
    ask = way_of(database)
    bounds = Bounds(max_rows=max_rows, max_bytes=max_bytes, timeout_s=timeout_s)
    listing = SQLITE_TABLES if isinstance(database, Sqlite) else POSTGRES_TABLES

    async def sql_query(request: SqlQuery) -> MixedReply:
        try:
            found = await ask(request.query, bounds)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        rows, columns = found.measure(lambda them: len(them.rows)), found.measure(lambda them: len(them.columns))
        provenance = f"database {database.name}, query {digest_of(request.query)}"
        return reply(
            f"{counted(rows, 'row')}, {counted(columns, 'column')}.",
            found.map(lambda them: them.table(provenance)),
            data=found.map(Found.data),
        )

    async def sql_tables(request: SqlTables) -> MixedReply:
        # One more than is shown, to know whether there are more.
        query = listing.format(limit=request.limit + 1, offset=request.offset)
        try:
            found = await ask(query, Bounds(max_rows=request.limit + 1, max_bytes=max_bytes, timeout_s=timeout_s))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        total = found.measure(lambda them: len(them.rows))
        shown = found.map(lambda them: Found(columns=them.columns, rows=them.rows[: request.limit]))
        end = request.offset + min(total, request.limit)
        head = f"Columns {request.offset + 1} to {end}" if total else f"No columns after {request.offset}"
        more = f"; ask again with offset={end} for more" if total > request.limit else ""
        provenance = f"database {database.name}, its tables and views"
        return reply(f"{head}{more}.", shown.map(lambda them: them.table(provenance)), data=shown.map(Found.data))

    return (
        ToolDef(
            name=f"{prefix}_query",
            description=f"Ask the database {database.name!r} ({kind_of(database)}) one query in SQL. It can only be read. "
            "In the answer NULL stands for no value, and a text that reads like it stands in single quotes.",
            input=SqlQuery,
            handler=sql_query,
            untrusted_output=f"database {database.name}",
            effect="read",
        ),
        ToolDef(
            name=f"{prefix}_tables",
            description=f"List the tables, views and columns of the database {database.name!r} ({kind_of(database)}).",
            input=SqlTables,
            handler=sql_tables,
            untrusted_output=f"database {database.name}",
            effect="read",
        ),
    )


def way_of(database: object) -> Ask:
    """How a database is asked. A missing driver is noticed here, where the tools are made, and not at the first call."""
    if isinstance(database, Sqlite):
        return partial(ask_sqlite, database)
    if not isinstance(database, Postgres):
        raise DeclarationError(
            "connectors.sql: database is neither. Write Sqlite(path=..., name=...) or Postgres(name=..., secrets=...)."
        )
    from connectors._postgres import ask_postgres

    return partial(ask_postgres, database)


def kind_of(database: Database) -> str:
    return "SQLite" if isinstance(database, Sqlite) else "PostgreSQL"


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def check(holds: bool, what: str, wanted: str) -> None:
    if not holds:
        raise DeclarationError(f"connectors.sql: {what}. Write {wanted}.")
