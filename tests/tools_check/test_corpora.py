"""The labelled cases: small projects whose one tool declares False, and modules that do or do not word a fence.

The rows are copies of the shared corpora `taint` and `wordings`; about as many of their kinds are held back. `variants` are
our own: one small tool for each way that Python has of handing a value on, and a clean twin where there is one.
`wordings_own` are texts of our own that word a fence, and near misses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools_check._running import rows, write
from tools_check._check import check_paths
from tools_check._options import Options

TAINT = rows("taint.jsonl")
VARIANTS = rows("variants.jsonl")
WORDINGS = rows("wordings.jsonl") + rows("wordings_own.jsonl")


@pytest.mark.parametrize("row", TAINT, ids=[r["id"] for r in TAINT])
def test_a_false_declaration_is_reported_exactly_where_it_is_false(row: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, row["files"])
    report = check_paths([tmp_path], Options(cache=False))
    said = {f.rule for f in report.findings}
    assert ("false-declaration" in said) == row["flag"]
    assert "undecided-declaration" not in said


@pytest.mark.parametrize("row", VARIANTS, ids=[r["title"] for r in VARIANTS])
def test_every_way_of_handing_a_value_on_is_followed(row: dict[str, Any], tmp_path: Path) -> None:
    test_a_false_declaration_is_reported_exactly_where_it_is_false(row, tmp_path)


@pytest.mark.parametrize("row", WORDINGS, ids=[r["id"] for r in WORDINGS])
def test_a_second_fence_is_found_by_what_it_says(row: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(row["source"], encoding="utf-8")
    report = check_paths([tmp_path], Options(cache=False))
    said = {f.rule for f in report.findings} & {"hand-rolled-fence", "fence-marker"}
    assert bool(said) == (row["label"] == "positive")
