"""The checker over this repository's own code: nothing but the examples that are wrong on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry._fence import WORD
from tests.tools_check._running import findings
from tools_check import _hints

ROOT = Path(__file__).parents[2]
WRONG_ON_PURPOSE = {
    ("docs/examples/demo/disagreeing.py", "false-declaration"),
    ("docs/examples/demo/lying.py", "false-declaration"),
    ("docs/examples/demo/undeclared.py", "missing-declaration"),
}


def test_nothing_is_found_here_but_what_is_wrong_on_purpose() -> None:
    found = findings(ROOT, "--no-cache", "registry", "connectors", "tools_check", "docs/examples")

    assert {(item["file"], item["rule"]) for item in found} == WRONG_ON_PURPOSE
    assert len(found) == len(WRONG_ON_PURPOSE)


@pytest.mark.parametrize("folders", ["connectors", "registry", "registry connectors", "tools_check"])
def test_a_part_checked_without_those_who_call_it_has_no_finding(folders: str) -> None:
    assert findings(ROOT, "--no-cache", *folders.split()) == []


@pytest.mark.parametrize(
    "file",
    sorted(
        p.name for p in (ROOT / "connectors").glob("*.py") if "tools-check: ignore" in p.read_text(encoding="utf-8")
    ),
)
def test_a_connector_with_a_comment_can_be_checked_alone(file: str) -> None:
    assert findings(ROOT, "--no-cache", f"connectors/{file}") == []


def test_the_marker_that_the_checker_looks_for_is_the_one_that_the_fence_writes() -> None:
    assert _hints.WORD == WORD
