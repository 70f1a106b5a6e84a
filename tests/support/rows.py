"""Rows of test data: one JSON object a line, under tests/data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """Every row of a file; none is an error, so that a test over rows cannot pass by reading nothing."""
    read = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line]
    assert read, f"{name} holds no rows"
    return read
