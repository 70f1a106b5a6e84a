"""The checker over this repository's own code: nothing but the examples that are wrong on purpose."""

from __future__ import annotations

from pathlib import Path

from registry._fence import WORD
from tests.tools_check._running import findings
from tools_check.rules import fence_marker

ROOT = Path(__file__).parents[2]
WRONG_ON_PURPOSE = {
    ("docs/examples/demo/disagreeing.py", "false-declaration"),
    ("docs/examples/demo/lying.py", "false-declaration"),
    ("docs/examples/demo/undeclared.py", "missing-declaration"),
    ("docs/examples/test_my_tools.py", "false-declaration"),
}


def test_nothing_is_found_here_but_what_is_wrong_on_purpose() -> None:
    found = findings(ROOT, "--no-cache", "registry", "connectors", "tools_check", "docs/examples")

    assert {(item["file"], item["rule"]) for item in found} == WRONG_ON_PURPOSE
    assert len(found) == len(WRONG_ON_PURPOSE)


def test_the_marker_that_the_checker_looks_for_is_the_one_that_the_fence_writes() -> None:
    assert fence_marker.WORD == WORD
