"""Tools over a governed catalogue: `describe_catalog` says what is measured, `ask_metric` answers one question about it.

A question names a metric, a grain, a range, dimensions and filters, and has no place for anything else. What is not
offered is refused with a code, as a result and not as an error, and no refusal repeats what the caller wrote. Every answer
names the definitions that it was computed from, and the source and the identity of each leg.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, TypeAlias, assert_never, cast, final

from pydantic import Field, JsonValue

from connectors._metric_definitions import (
    GRAINS,
    MAX_VALUE,
    Definitions,
    Dimension,
    Grain,
    Leg,
    Metric,
    is_plain,
    read_definitions,
)
from connectors._metric_query import Measured, Number, Question, ask_legs
from registry import (
    AnyTool,
    CatalogProse,
    Foreign,
    MixedReply,
    OwnReply,
    ToolDef,
    ToolInput,
    escape_cell,
    quote_prose,
    refuse,
    render_table,
    reply,
)
from registry.errors import DeclarationError, IngressRefused

__all__ = [
    "AskMetric",
    "Definitions",
    "DescribeCatalog",
    "Dimension",
    "FilterBy",
    "Leg",
    "Metric",
    "Period",
    "read_definitions",
    "tools",
]

DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
NAME: Final = "^[a-z][a-z0-9_]{0,39}$"
# Whom a source is asked as. A file of DuckDB has no users, so this is the same for every caller.
IDENTITY: Final = "the deployment itself"
OMITTED: Final = "(What the author of the definitions wrote here is omitted by this deployment.)"


class DescribeCatalog(ToolInput):
    """What `describe_catalog` takes: nothing."""


class Period(ToolInput):
    """A half-open range of days."""

    start: date = Field(description="The first day, as YYYY-MM-DD.")
    end: date = Field(description="The day after the last one, as YYYY-MM-DD: June ends on 07-01.")


class FilterBy(ToolInput):
    """One filter: only rows where the dimension has this value."""

    dimension: str = Field(pattern=NAME, description="A dimension of the metric.")
    value: str = Field(
        max_length=1000, description="The value, exactly as it is written in the catalogue or in the data."
    )


class AskMetric(ToolInput):
    """What `ask_metric` takes: the five fields of a question, and no others."""

    metric: str = Field(pattern=NAME, description="A metric of the catalogue.")
    grain: Grain = Field(description="The period that each number is for; 'total' is the whole range.")
    range: Period = Field(description="From when until when. Both days begin a period of the grain.")
    dimensions: list[Annotated[str, Field(pattern=NAME)]] = Field(
        default=[], max_length=20, description="The dimensions of the metric to break it down by."
    )
    filters: list[FilterBy] = Field(default=[], max_length=20, description="What to restrict it to.")


def tools(
    definitions: Definitions,
    *,
    sources: Mapping[str, Path],
    catalog_prose: CatalogProse,
    digest: str | None = None,
    author: str | None = None,
    max_rows: int = 500,
    timeout_s: float = 20.0,
) -> tuple[AnyTool, ...]:
    """Make the tools of a catalogue.

    Args:
        definitions: what is measured; `read_definitions` reads them from a file.
        sources: the DuckDB file of each source that the definitions name.
        catalog_prose: what becomes of descriptions that `author` wrote; give the deployment's.
        digest: the digest of the definitions that were reviewed; others are refused. None takes them as they are.
        author: who wrote the definitions, in a few words; None is the owner. With it, descriptions and values are foreign.
        max_rows: the most rows of an answer; more are refused and not cut.
        timeout_s: the longest that a leg may take; the call's own deadline holds as well.

    Raises:
        DeclarationError: a setting is not of that kind, or the definitions are not the reviewed ones.
    """
    check_settings(definitions, sources, digest, author, max_rows, timeout_s)
    origin = f"metric definitions by {author}"
    carried = Carried.under(catalog_prose, definitions, None if author is None else origin)

    def describe_own(_: DescribeCatalog) -> OwnReply:
        return reply(carried.head, carried.text, data=carried.data)

    def describe_foreign(_: DescribeCatalog) -> MixedReply:
        return reply(carried.head, Foreign(carried.text, origin), data=Foreign(carried.data, origin))

    async def ask_metric(request: AskMetric) -> MixedReply:
        try:
            question = question_of(request, definitions)
            measured = await ask_legs(question, sources, max_rows=max_rows, timeout_s=timeout_s)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return answer(question, measured, definitions)

    words = "List the metrics that may be asked for, with their units, grains and dimensions."
    describe: AnyTool
    if author is None:
        describe = ToolDef(
            name="describe_catalog",
            description=words,
            input=DescribeCatalog,
            handler=describe_own,
            untrusted_output=False,
            effect="read",
        )
    else:
        describe = ToolDef(
            name="describe_catalog",
            description=words,
            input=DescribeCatalog,
            handler=describe_foreign,
            untrusted_output=origin,
            effect="read",
        )
    return (
        describe,
        ToolDef(
            name="ask_metric",
            description="Ask for one metric of the catalogue, by period and dimension, over a half-open range of days. What "
            "the catalogue does not offer is refused with a code that says what to ask instead.",
            input=AskMetric,
            handler=ask_metric,
            untrusted_output="metric sources",
            effect="read",
        ),
    )


def check_settings(
    definitions: Definitions,
    sources: Mapping[str, Path],
    digest: str | None,
    author: str | None,
    max_rows: int,
    timeout_s: float,
) -> None:
    check(
        isinstance(cast("object", definitions), Definitions),
        "definitions is something else. Write read_definitions('metrics.toml'), or Definitions(...)",
    )
    check(
        all(isinstance(cast("object", path), Path) for path in sources.values()),
        "sources holds something that is no Path. Write the Path of a DuckDB file for each source",
    )
    for name in definitions.sources:
        check(name in sources, f"sources has no {name!r}, which the definitions name. Write its Path")
    check(
        author is None or any(map(str.isalnum, author)),
        "author is blank. Say in a few words who wrote the definitions, or leave it out",
    )
    check(0 < max_rows <= 10_000, "max_rows is out of range. Write 1 to 10000")
    check(0 < timeout_s < math.inf, "timeout_s is out of range. Write seconds, more than 0")
    if digest is None:
        return
    check(
        bool(DIGEST.match(digest)), "digest is not of that form. Write the 64 hexadecimal digits of definitions.digest"
    )
    check(
        digest == definitions.digest,
        f"the definitions are not the reviewed ones: their digest is {definitions.digest}. Review them, and write that",
    )


def check(holds: bool, sentence: str) -> None:
    if not holds:
        raise DeclarationError(f"connectors.metrics: {sentence}.")


# -- the catalogue -------------------------------------------------------------------------------------------------

Json: TypeAlias = "dict[str, JsonValue]"


@final
@dataclass(frozen=True, slots=True, init=False)
class Carried:
    """The catalogue as it is shown, text and data. Made by `under`, which demands the setting, so the two cannot disagree."""

    head: str
    """Our sentence."""
    text: str
    data: Json

    def __init__(self) -> None:
        raise DeclarationError(
            "connectors.metrics: Carried is made by Carried.under(catalog_prose, definitions, author)."
        )

    @classmethod
    def under(cls, prose: CatalogProse, definitions: Definitions, origin: str | None) -> Carried:
        """Show definitions under a deployment's setting; the origin says whose they are, and None is the owner."""
        prose_of = Prose(is_shown=origin is None or quotes(prose), origin=origin)
        count = len(definitions.metrics)
        values: dict[str, object] = {
            "head": f"{count} metric{'' if count == 1 else 's'}, {pinned(definitions)}.",
            "text": "\n\n".join("\n".join(lines_of(metric, prose_of)) for metric in definitions.metrics),
            "data": {
                "catalog_prose": prose,
                "version": definitions.version,
                "digest": definitions.digest,
                "metrics": [body_of(metric, prose_of) for metric in definitions.metrics],
            },
        }
        made = object.__new__(cls)
        for field, value in values.items():
            object.__setattr__(made, field, value)
        return made


def quotes(prose: CatalogProse) -> bool:
    """Whether prose of a third party is shown. The one place that reads the setting."""
    match prose:
        case "quoted":
            return True
        case "omitted":
            return False
        case _:
            assert_never(prose)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """What becomes of a description and of declared values."""

    is_shown: bool
    origin: str | None

    def text(self, words: str) -> str:
        """Prose as lines of a text. Quoted, so that its lines do not pass for entries; whose it is, the fence says."""
        return quote_prose(words) if self.is_shown else OMITTED

    def body(self, words: str) -> JsonValue:
        """Prose for a program, in an envelope that says whose it is."""
        if self.origin is None:
            return {"own": words}
        if not self.is_shown:
            return {"omitted": OMITTED, "origins": [self.origin]}
        return {"untrusted": words, "origins": [self.origin]}


def pinned(definitions: Definitions) -> str:
    return f"definitions {definitions.version}, digest {definitions.digest[:12]}"


def lines_of(metric: Metric, prose: Prose) -> Iterator[str]:
    yield f"{metric.name} in {metric.unit}, by {', '.join(in_order(metric))}; {whence(metric)}"
    yield prose.text(metric.description)
    for dimension in metric.dimensions:
        yield f"  dimension {dimension.name}"
        yield prose.text(dimension.description)
        if dimension.values is not None and prose.is_shown:
            yield from (f"  = {escape_cell(value)}" for value in dimension.values)


def body_of(metric: Metric, prose: Prose) -> Json:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "grains": list(in_order(metric)),
        "legs": legs_of(metric),
        "description": prose.body(metric.description),
        "dimensions": [
            {
                "name": dimension.name,
                "description": prose.body(dimension.description),
                "values": list(dimension.values) if dimension.values is not None and prose.is_shown else None,
            }
            for dimension in metric.dimensions
        ],
    }


def in_order(metric: Metric) -> tuple[Grain, ...]:
    return tuple(grain for grain in GRAINS if grain in metric.grains)


def legs_of(metric: Metric) -> list[JsonValue]:
    return [{"source": leg.source, "identity": IDENTITY} for leg in metric.legs]


def whence(metric: Metric) -> str:
    """The source and the identity of each leg, in words."""
    return "; ".join(f"leg {n}: source {leg.source}, as {IDENTITY}" for n, leg in enumerate(metric.legs, start=1))


# -- a question ----------------------------------------------------------------------------------------------------


def question_of(request: AskMetric, definitions: Definitions) -> Question:
    """Check a question against the definitions.

    Raises:
        IngressRefused: something is not offered; no sentence repeats a word of the caller's.
    """
    metric = next((each for each in definitions.metrics if each.name == request.metric), None)
    if metric is None:
        raise IngressRefused(
            "unknown_metric", "There is no metric of this name. Write one that describe_catalog shows."
        )
    if request.grain not in metric.grains:
        raise IngressRefused(
            "grain_not_offered", f"This metric is not offered by that grain. Write {' or '.join(in_order(metric))}."
        )
    check_range(request.range, request.grain)
    dimensions = tuple(dimension_of(metric, name) for name in request.dimensions)
    if len(set(request.dimensions)) != len(dimensions):
        raise IngressRefused("dimension_repeated", "A dimension is named twice. Write each once.")
    filters = tuple(
        filter_of(metric, number, one.dimension, one.value) for number, one in enumerate(request.filters, start=1)
    )
    if len({one.dimension for one in request.filters}) != len(filters):
        raise IngressRefused("filter_repeated", "Two filters are on one dimension. Write one; no row has two values.")
    return Question(
        metric=metric,
        grain=request.grain,
        start=request.range.start,
        end=request.range.end,
        dimensions=dimensions,
        filters=filters,
    )


def check_range(period: Period, grain: Grain) -> None:
    if period.start >= period.end:
        raise IngressRefused("range_refused", "The range ends before it begins. Its end is the day after its last day.")
    if not (begins(period.start, grain) and begins(period.end, grain)):
        # Half a month beside whole ones reads like a fall.
        raise IngressRefused(
            "range_not_aligned",
            f"The range cuts a {grain} in two. Write a start and an end that are both the first day of one.",
        )


def begins(day: date, grain: Grain) -> bool:
    """Whether a period of the grain begins on this day."""
    match grain:
        case "day" | "total":
            return True
        case "week":
            return day.weekday() == 0
        case "month":
            return day.day == 1
        case "quarter":
            return day.day == 1 and day.month % 3 == 1
        case "year":
            return (day.month, day.day) == (1, 1)
        case _:
            assert_never(grain)


def dimension_of(metric: Metric, name: str) -> Dimension:
    for dimension in metric.dimensions:
        if dimension.name == name:
            return dimension
    offered = " or ".join(dimension.name for dimension in metric.dimensions) or "none"
    # tools-check: ignore[foreign-framing] -- NAME holds what definitions name to letters, digits and _
    raise IngressRefused("unknown_dimension", f"This metric has no dimension of such a name. It has {offered}.")


def filter_of(metric: Metric, number: int, name: str, value: str) -> tuple[Dimension, str]:
    dimension = dimension_of(metric, name)
    if not is_plain(value):
        raise IngressRefused(
            "value_refused",
            f"The value of filter {number} is not plain. Write one line of 1 to {MAX_VALUE} characters, without control or "
            "invisible ones, and without a blank at its ends.",
        )
    if dimension.values is not None and value not in dimension.values:
        # tools-check: ignore[foreign-framing] -- NAME holds what definitions name to letters, digits and _
        raise IngressRefused(
            "value_not_declared",
            f"The value of filter {number} is none of those that the catalogue declares for the dimension {dimension.name}.",
        )
    return dimension, value


# -- an answer -----------------------------------------------------------------------------------------------------


def answer(question: Question, measured: Foreign[Measured], definitions: Definitions) -> MixedReply:
    """Our sentence, and the rows with what they were computed from: values of dimensions are whoever's who wrote them."""
    metric = question.metric
    rows = measured.measure(lambda them: len(them.rows))
    head = (
        f"{rows} row{'' if rows == 1 else 's'} of {metric.name} in {metric.unit} by {question.grain}, from {question.start} "
        f"to before {question.end}; {pinned(definitions)}."
    )
    provenance = f"metric {metric.name}, {pinned(definitions)}; {whence(metric)}"
    asked: Json = {
        "metric": metric.name,
        "unit": metric.unit,
        "grain": question.grain,
        "range": {"start": question.start.isoformat(), "end": question.end.isoformat()},
        "provenance": {"version": definitions.version, "digest": definitions.digest, "legs": legs_of(metric)},
    }
    # tools-check: ignore[foreign-framing] -- NAME holds what definitions name to letters, digits and _
    return reply(
        head,
        measured.map(lambda them: table_of(them, provenance)),
        data=measured.map(lambda them: {**asked, **rows_of(them)}),
    )


def table_of(measured: Measured, provenance: str) -> str:
    cells = ((*map(cell_text, key), number_text(number)) for key, number in measured.rows)
    return render_table(measured.columns, cells, provenance)


def rows_of(measured: Measured) -> Json:
    return {
        "columns": list(measured.columns),
        "rows": [[*key, number_json(number)] for key, number in measured.rows],
    }


def cell_text(cell: str | None) -> str:
    """A value of a dimension. A text that reads like a missing one stands in quotes."""
    if cell is None:
        return "NULL"
    return f"'{cell}'" if cell == "NULL" or cell.startswith("'") else cell


def number_text(number: Number) -> str:
    return "NULL" if number is None else str(number)


def number_json(number: Number) -> JsonValue:
    """A number for a program; one that JSON has not, and one with digits of its own, as text."""
    if isinstance(number, Decimal) or (isinstance(number, float) and not math.isfinite(number)):
        return str(number)
    return number
