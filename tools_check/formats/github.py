"""Annotations of GitHub Actions: one where the tool is declared, one where the bytes came in."""

from __future__ import annotations

from tools_check._finding import Finding
from tools_check._report import Report

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
MAX_STEPS = 4


def render(report: Report) -> str:
    """The workflow commands."""
    return "".join(line + "\n" for f in report.findings for line in commands(f))


def commands(finding: Finding) -> list[str]:
    """The commands of one finding."""
    way = shortened([f"{s.file}:{s.line} {s.why}" for s in finding.trace])
    text = "\n".join([finding.message, *way, f"Write instead: {finding.repair}"])
    out = [command(LEVELS[finding.severity], finding.file, finding.line, finding.column, finding.rule, text)]
    if finding.trace and (finding.trace[0].file, finding.trace[0].line) != (finding.file, finding.line):
        first = finding.trace[0]
        there = f"{first.why}; they reach {finding.file}:{finding.line}. {finding.message}"
        out.append(command("notice", first.file, first.line, 1, finding.rule, there))
    return out


def shortened(steps: list[str]) -> list[str]:
    """At most four stations: the first ones and the last."""
    return steps if len(steps) <= MAX_STEPS else [*steps[: MAX_STEPS - 1], "...", steps[-1]]


def command(level: str, file: str, line: int, column: int, title: str, text: str) -> str:
    """One workflow command, its values escaped as the runner wants them."""
    return f"::{level} file={prop(file)},line={line},col={column},title={prop(title)}::{data(text)}"


def data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def prop(text: str) -> str:
    return data(text).replace(":", "%3A").replace(",", "%2C")
