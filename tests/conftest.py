"""What holds for every test: warnings are errors, and the end says in one line what was not run."""

from __future__ import annotations

from collections import Counter

import pytest

PREFIX = "not run: "


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
