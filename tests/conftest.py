"""What holds for every test: warnings are errors, and the end says in one line what was not run."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.snapshots import Snapshots

PREFIX = "not run: "

# The examples and the tests' own processes are found from here; at the end, so that an installed wheel comes first.
sys.path.append(str(Path(__file__).parent.parent))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with one line of what was not run, and which program is missing for it."""
    reasons: Counter[str] = Counter()
    reports: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    for report in reports:
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(PREFIX):
                reasons[reason.removeprefix(PREFIX)] += 1
    said = "; ".join(f"{count} tests, since {reason}" for reason, count in sorted(reasons.items()))
    terminalreporter.write_line(f"Not run: {said or 'nothing'}.")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one flag that rewrites what snapshots are compared with."""
    parser.addoption("--rewrite-snapshots", action="store_true", help="Write tests/snapshots anew; then read the diff.")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a parameter of bytes by its place; a compressed body's bytes hold the second in which they were made."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def snapshots(request: pytest.FixtureRequest) -> Snapshots:
    """What is committed in tests/snapshots."""
    folder = Path(__file__).parent / "snapshots"
    return Snapshots(folder=folder, rewrite=bool(request.config.getoption("rewrite_snapshots")))
