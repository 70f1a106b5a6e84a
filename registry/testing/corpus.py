"""The one hostile corpus: texts that try to leave the place in which they are shown. Data, for every renderer and surface.

`BODIES` are answers of tools, `CELLS` values in tables, `PROSE` descriptions in a catalogue, `FAILURES` what the other side
says when something fails. A new attack is one line in `data/`. None of them may be shown to a model outside of a test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final, final

from registry.testing._marks import GUESSED, filled, marks_of

__all__ = ["BODIES", "CELLS", "FAILURES", "PROSE", "Attack"]


@final
@dataclass(frozen=True, kw_only=True)
class Attack:
    """One hostile text."""

    id: str
    """Stable, for the name of a test."""
    kind: str
    """What it tries; `class` in the data."""
    template: str
    """The text, with holes for the marks of the fence."""
    note: str
    """What is special about it."""

    @cached_property
    def text(self) -> str:
        """The text as somebody writes it who knows the source code of the fence, and no key."""
        return filled(self.template, GUESSED)

    def after(self, block: str) -> str:
        """Return the text as somebody writes it who has seen a block, and copies its marks and its id."""
        return filled(self.template, marks_of(block))

    def __repr__(self) -> str:
        return f"<Attack {self.id}>"


def read(name: str) -> Iterator[Attack]:
    data = files("registry.testing").joinpath("data", f"{name}.jsonl").read_text(encoding="utf-8")
    for line in data.split("\n"):
        if not line:
            continue
        row: dict[str, Any] = json.loads(line)
        # Long ones are stored as a unit and a number.
        unit, times = row.get("repeat", (row.get("text"), 1))
        yield Attack(id=row["id"], kind=row["class"], template=unit * times, note=row["note"])


BODIES: Final = tuple(read("bodies"))
"""Texts that a tool may bring back."""
CELLS: Final = tuple(read("cells"))
"""Cells of a table."""
PROSE: Final = tuple(read("prose"))
"""Descriptions that a third party writes of its tools."""
FAILURES: Final = tuple(read("failures"))
"""What the other side says when it fails."""
