"""What a program can meet has a place in the reference: every error, every outcome, every code that is ours."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from registry import Answered, Failed, Malformed, Shed, TimedOut, errors
from registry._outcome import Outcome
from registry._reply import RESERVED_CODES

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \|", re.MULTILINE)
HEADING = re.compile(r"^## (\w+)\n\n(.*?)(?=\n\n## |\Z)", re.DOTALL | re.MULTILINE)


def test_every_error_has_a_heading_that_says_what_else_it_is() -> None:
    told = dict(HEADING.findall((REFERENCE / "errors.md").read_text(encoding="utf-8")))
    assert sorted(told) == sorted(errors.__all__)
    bases = {name: {base.__name__ for base in getattr(errors, name).__bases__} for name in errors.__all__}
    missing = {
        name: found - {"Exception", "HedgerowError", *re.findall(r"\w+", told[name])} for name, found in bases.items()
    }
    assert {name: left for name, left in missing.items() if left} == {}


def test_every_outcome_and_every_code_of_ours_is_in_the_tables() -> None:
    rows = dict(ROW.findall((REFERENCE / "outcomes.md").read_text(encoding="utf-8")))
    codes = {
        kind.__name__: next(field.default for field in fields(kind) if field.name == "code")
        for kind in (Answered, Malformed, Failed, Shed, TimedOut)
    }
    assert str(Outcome).split(" | ") == list(rows)[:6]
    assert {name: rows[name] for name in codes} == {name: f"`{code}`" for name, code in codes.items()}
    # A caller that is cancelled gets no outcome; the code is kept from handlers for the audit.
    assert set(list(rows)[6:]) == RESERVED_CODES - set(codes.values()) - {"cancelled"}
