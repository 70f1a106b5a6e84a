"""For people: what is wrong, the way of the bytes line by line, and the one line to change."""

from __future__ import annotations

from tools_check._finding import Finding
from tools_check._report import Report


def render(report: Report) -> str:
    """The report in paragraphs, and a last line that counts."""
    parts = [paragraph(f) for f in report.findings]
    return "\n".join([*parts, summary(report)]) + "\n"


def paragraph(finding: Finding) -> str:
    """One finding."""
    lines = [
        f"{finding.file}:{finding.line}:{finding.column}: {finding.severity} {finding.rule}",
        f"  {finding.message}",
    ]
    if finding.trace:
        lines += ["", "  The way of the bytes:"]
        width = len(str(len(finding.trace)))
        for number, step in enumerate(finding.trace, 1):
            lines.append(f"  {number:>{width}}. {step.file}:{step.line}: {step.why}")
            if step.text:
                lines.append(f"  {'':>{width}}      {step.text}")
    lines += [
        "",
        f"  Write instead:  {finding.repair}",
        f"  More:           tools-check explain {finding.rule}",
        "",
    ]
    return "\n".join(lines)


def summary(report: Report) -> str:
    """What was done, in one line."""
    counts = {s: sum(f.severity == s for f in report.findings) for s in ("error", "warning", "info")}
    said = (
        ", ".join(f"{n} {s}{'s' if n != 1 and s != 'info' else ''}" for s, n in counts.items() if n) or "nothing found"
    )
    unread = f" ({len(report.faults)} could not be read)" if report.faults else ""
    silenced = f", {report.silenced} silenced by a comment or the configuration" if report.silenced else ""
    return f"{said} in {report.files} file{'s' if report.files != 1 else ''}{unread}{silenced}"
