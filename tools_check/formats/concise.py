"""One line a finding: `file:line:column: severity rule: message`."""

from __future__ import annotations

from tools_check._report import Report


def render(report: Report) -> str:
    """The report in lines."""
    return "".join(f"{f.file}:{f.line}:{f.column}: {f.severity} {f.rule}: {f.message}\n" for f in report.findings)
