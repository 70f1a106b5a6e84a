"""What a deployment measures: metrics as data, pinned by a version and a digest. Nothing here asks a source.

A definition names tables and columns and one of a few aggregates; it holds no SQL, so no text of it is ever run.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from registry.documents import read_document
from registry.errors import DeclarationError

__all__ = ["GRAINS", "MAX_VALUE", "Definitions", "Dimension", "Grain", "Leg", "Metric", "is_plain", "read_definitions"]

Grain: TypeAlias = Literal["day", "week", "month", "quarter", "year", "total"]
GRAINS: Final[tuple[Grain, ...]] = ("day", "week", "month", "quarter", "year", "total")

MAX_VALUE: Final = 100
NAMELIKE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")
NAME: Final = "^[a-z][a-z0-9_]{0,39}$"
# Characters that a reader does not see although they count as letters, marks or signs.
UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for block in (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0000, 0xE1000)) for code in block
}


def is_plain(value: str) -> bool:
    """Whether a value is one that a catalogue could hold: one line of 1 to 100 characters, all of which a reader sees."""
    if not 0 < len(value) <= MAX_VALUE or value != value.strip():
        return False
    return all(char == " " or (unicodedata.category(char)[0] not in "CZ" and char not in UNSEEN) for char in value)


def plain(value: str) -> str:
    if not is_plain(value):
        raise ValueError("write one line of 1 to 100 characters, without control or invisible ones")
    return value


Value: TypeAlias = Annotated[str, AfterValidator(plain)]
Name: TypeAlias = Annotated[str, Field(pattern=NAME)]
Identifier: TypeAlias = Annotated[str, AfterValidator(plain)]


class Part(BaseModel):
    """A table of the definitions."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Dimension(Part):
    """What a metric may be broken down by."""

    name: Name = Field(description="What a question calls it.")
    description: str = Field(min_length=1, max_length=2000, description="What it is, for whoever asks.")
    column: Identifier = Field(description="The column, in the table of each leg.")
    values: list[Value] | None = Field(
        default=None, max_length=1000, description="The only values that a filter may have; without it, any plain one."
    )


class Leg(Part):
    """One aggregate over one table of one source."""

    source: Name = Field(description="Which source; the deployment says where it is.")
    table: list[Identifier] = Field(min_length=1, max_length=3, description="The table, with its schema before it.")
    aggregate: Literal["sum", "avg", "min", "max", "count", "count_distinct"] = Field(
        description="How rows become one."
    )
    column: Identifier | None = Field(default=None, description="Of what; without it, `count` counts rows.")
    time: Identifier = Field(description="The column of dates or timestamps that a range and a grain go by.")

    @model_validator(mode="after")
    def check_column(self) -> Self:
        if self.column is None and self.aggregate != "count":
            raise ValueError("name the column that is aggregated")
        return self


class Metric(Part):
    """One number that may be asked for."""

    name: Name = Field(description="What a question calls it.")
    description: str = Field(min_length=1, max_length=2000, description="What it measures, for whoever asks.")
    unit: str = Field(pattern="^[A-Za-z0-9%/_.]{1,20}$", description="The unit, such as EUR or visits/day.")
    grains: list[Grain] = Field(min_length=1, description="The periods that it is offered by.")
    legs: list[Leg] = Field(min_length=1, max_length=2, description="One aggregate, or two whose ratio is the metric.")
    dimensions: list[Dimension] = Field(default=[], max_length=20, description="What it may be broken down by.")

    @model_validator(mode="after")
    def check_names(self) -> Self:
        no_twice([dimension.name for dimension in self.dimensions])
        return self


class Definitions(Part):
    """What a deployment measures."""

    version: str = Field(pattern="^[A-Za-z0-9._-]{1,40}$", description="What their author calls this state of them.")
    metrics: list[Metric] = Field(min_length=1, max_length=200, description="The metrics.")

    @model_validator(mode="after")
    def check_names(self) -> Self:
        no_twice([metric.name for metric in self.metrics])
        return self

    @property
    def digest(self) -> str:
        """The SHA-256 of the definitions in one canonical form, so that the same question against others is seen to be
        another one."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources, each once."""
        return tuple(dict.fromkeys(leg.source for metric in self.metrics for leg in metric.legs))


def no_twice(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError("two of them have one name")


def read_definitions(path: str | Path) -> Definitions:
    """Read definitions from a `.json` or `.toml` file.

    Raises:
        DocumentError: the file cannot be read.
        DeclarationError: it holds no definitions; names the file, and the line and the path of each mistake, and shows
            nothing of what is written there.
    """
    document = read_document(Path(path))
    try:
        return Definitions.model_validate(document.data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{document.name}, line {document.line(*one['loc'])}, {way_of(one['loc'])}: {one['msg']}." for one in found
    ]
    raise DeclarationError("\n".join(["connectors.metrics: these are no definitions.", *lines]))


def way_of(steps: tuple[str | int, ...]) -> str:
    """A path in the file. A key of it is shown only where it could be a name."""
    shown = (step if isinstance(step, int) or NAMELIKE.match(step) else "(a key)" for step in steps)
    return ".".join(map(str, shown)) or "the whole"
