"""The way in for the numbers behind a metric: DuckDB files, opened read only and shut off from everything else.

Every statement is put together here from the definitions, quoted, with the question's values as parameters. No text of a
question is a part of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

from connectors._blocking import in_thread
from connectors._bounds import seconds, time_left
from connectors._metric_definitions import MAX_VALUE, Dimension, Grain, Leg, Metric
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

try:
    import duckdb
except ImportError as error:  # pragma: no cover  # a subprocess test without duckdb runs it
    raise ImportError("Metrics need DuckDB. Write: pip install 'hedgerow[metrics]'", name="duckdb") from error

__all__ = ["Measured", "Number", "Question", "ask_legs"]

Number: TypeAlias = "int | float | Decimal | None"
Key: TypeAlias = "tuple[str | None, ...]"

MAX_DETAIL: Final = 4000
# No files, no network, no extensions, no Python variables as tables, and no way to change that; little memory, one thread,
# and nothing spilled to disk.
SHUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "memory_limit": "256MB",
        "threads": "1",
        "temp_directory": "",
        # Views of the library show its settings to whoever asks a view of the file; these would be folders of the user.
        "home_directory": "/",
        "secret_directory": "/secrets",
        "extension_directory": "/extensions",
        "lock_configuration": "true",
    }
)
AGGREGATES: Final = {
    "sum": "sum({})", "avg": "avg({})", "min": "min({})", "max": "max({})", "count": "count({})",
    "count_distinct": "count(DISTINCT {})",
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that has been checked against the definitions."""

    metric: Metric
    grain: Grain
    start: date
    end: date
    """Not included."""
    dimensions: tuple[Dimension, ...]
    filters: tuple[tuple[Dimension, str], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The rows of an answer: the period and the dimensions of each, and its number."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Key, Number], ...]


async def ask_legs(
    question: Question, files: Mapping[str, Path], *, max_rows: int, timeout_s: float
) -> Foreign[Measured]:
    """Ask each leg of a metric, one after the other, and put them together.

    Raises:
        IngressRefused: codes `too_many_rows`, `value_too_long`.
        ToolFailed: a source cannot be opened, gave an error (which is the detail), or did not answer in time.
    """
    legs = [
        await ask_leg(question, leg, files[leg.source], max_rows=max_rows, timeout_s=timeout_s)
        for leg in question.metric.legs
    ]
    measured = Foreign.join(legs).map(lambda rows: put_together(question, rows))
    if measured.measure(lambda them: len(them.rows)) > max_rows:
        raise too_many(max_rows)
    return measured


def put_together(question: Question, legs: Sequence[Mapping[Key, Number]]) -> Measured:
    """One leg as it is; of two legs the ratio, which is missing where one of them is."""
    columns = (*(() if question.grain == "total" else (question.grain,)), *(each.name for each in question.dimensions))
    if len(legs) == 1:
        rows = dict(legs[0])
    else:
        upper, lower = legs
        rows = {key: ratio(upper.get(key), lower.get(key)) for key in {**upper, **lower}}
    ordered = sorted(rows.items(), key=lambda row: [(cell is None, cell or "") for cell in row[0]])
    return Measured(columns=(*columns, question.metric.name), rows=tuple(ordered))


def ratio(upper: Number, lower: Number) -> Number:
    if upper is None or not lower:
        return None
    return float(upper) / float(lower)


# -- one leg -------------------------------------------------------------------------------------------------------


async def ask_leg(
    question: Question, leg: Leg, file: Path, *, max_rows: int, timeout_s: float
) -> Foreign[Mapping[Key, Number]]:
    asking = Asking(file, *statement(question, leg, max_rows))
    bound_s = time_left(timeout_s)
    try:
        rows = await in_thread(asking.run, stop=asking.stop, bound_s=bound_s)
    except TimeoutError:
        # tools-check: ignore[foreign-error] -- NAME holds the name of a source to 40 letters, digits and _
        failed = ToolFailed(
            f"The source {leg.source!r} did not answer within {seconds(bound_s)}; the question was stopped."
        )
    except NotOpened:
        # tools-check: ignore[foreign-error] -- NAME holds the name of a source to 40 letters, digits and _
        failed = ToolFailed(
            f"The source {leg.source!r} cannot be opened: it is not there, or another program writes to it."
        )
    except duckdb.Error as error:
        # tools-check: ignore[foreign-error] -- NAME holds the name of a source to 40 letters, digits and _
        failed = ToolFailed(
            f"The source {leg.source!r} gave an error instead of rows.",
            Foreign(without_folder(str(error), file)[:MAX_DETAIL], f"source {leg.source}"),
        )
    else:
        if len(rows) > max_rows:
            raise too_many(max_rows)
        if any(cell is not None and len(cell) > MAX_VALUE for row in rows for cell in row[:-1]):
            raise IngressRefused(
                "value_too_long",
                f"A dimension holds a text of more than {MAX_VALUE} characters, which no answer shows. Ask without it.",
            )
        return Foreign({key_of(row, file): number_of(row[-1]) for row in rows}, f"source {leg.source}")
    # Outside of the `except` blocks, so that no text of the source travels along as a context.
    raise failed


def key_of(row: Sequence[Any], file: Path) -> Key:
    return tuple(None if cell is None else without_folder(cell, file) for cell in row[:-1])


def without_folder(text: str, file: Path) -> str:
    """A text without the folder of the file, which the library shows in views of its own and in its errors."""
    folder = str(file.resolve().parent)
    return text if folder == "/" else text.replace(folder, "(a folder)")


def number_of(value: object) -> Number:
    """The number of a row. A leg over a column of texts or dates may have a `min` that is none."""
    if value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool)):
        return value
    raise ToolFailed("A source gave something other than a number for this metric. Its definition must be mended.")


def too_many(max_rows: int) -> IngressRefused:
    return IngressRefused(
        "too_many_rows",
        f"The answer has more than {max_rows} rows, which is the most that is shown; none of them is. Ask for a coarser "
        "grain, a shorter range, fewer dimensions, or set a filter.",
    )


def statement(question: Question, leg: Leg, max_rows: int) -> tuple[str, list[object]]:
    """The statement for a leg and its parameters, in order."""
    time = quoted(leg.time)
    keys = (
        [] if question.grain == "total" else [f"CAST(CAST(date_trunc('{question.grain}', {time}) AS DATE) AS VARCHAR)"]
    )
    # One character more than may be shown, so that a long text is seen and not fetched.
    keys += [f"left({text_of(each)}, {MAX_VALUE + 1})" for each in question.dimensions]
    value = AGGREGATES[leg.aggregate].format("*" if leg.column is None else quoted(leg.column))
    where = [f"{time} >= CAST(? AS DATE)", f"{time} < CAST(? AS DATE)"]
    where += [f"{text_of(dimension)} = ?" for dimension, _ in question.filters]
    places = ", ".join(str(number) for number in range(1, len(keys) + 1))
    table = ".".join(map(quoted, leg.table))
    group = f" GROUP BY {places} ORDER BY {places}" if keys else ""
    of = f"FROM {table} WHERE {' AND '.join(where)}{group} LIMIT {max_rows + 1}"
    return (
        f"SELECT {', '.join([*keys, value])} {of}",
        [question.start.isoformat(), question.end.isoformat(), *(value for _, value in question.filters)],
    )


def text_of(dimension: Dimension) -> str:
    return f"CAST({quoted(dimension.column)} AS VARCHAR)"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class NotOpened(Exception):  # private signal; what DuckDB says of a file holds paths and the numbers of processes
    """The file could not be opened."""


def opened(file: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        return duckdb.connect(str(file), read_only=True, config=dict(SHUT))
    except duckdb.Error:
        return None


@final
class Asking:
    """One statement on its way. `stop` may come from another thread, and before `run` has begun."""

    def __init__(self, file: Path, sql: str, values: Sequence[object]) -> None:
        self.file = file
        self.sql = sql
        self.values = values
        self.connection: duckdb.DuckDBPyConnection | None = None
        self.is_stopped = False

    def run(self) -> list[tuple[Any, ...]]:
        connection = opened(self.file)
        if connection is None:
            raise NotOpened
        self.connection = connection
        try:
            if self.is_stopped:
                return []
            return connection.execute(self.sql, list(self.values)).fetchall()
        finally:
            self.connection = None
            connection.close()

    def stop(self) -> None:
        self.is_stopped = True
        connection = self.connection
        if connection is not None:
            with suppress(duckdb.Error):  # it has been closed meanwhile
                connection.interrupt()
