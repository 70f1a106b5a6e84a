"""What one run of `check` says; knows neither how it was found nor how it is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from tools_check._finding import Finding, TraceStep

VERSION: Final = "0.1.0"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one run."""

    findings: tuple[Finding, ...]
    faults: tuple[tuple[str, str], ...]
    files: int
    parsed: int
    silenced: int
    notes: tuple[str, ...] = ()
    shown_files: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        if self.faults:
            return 2
        return 1 if any(f.severity != "info" for f in self.findings) else 0

    def statistics(self) -> list[tuple[str, int]]:
        return sorted(Counter(f.rule for f in self.findings).items(), key=lambda item: (-item[1], item[0]))


# -- as plain data, for an answer that is kept

KEPT: Final = (
    "rule",
    "severity",
    "file",
    "line",
    "column",
    "message",
    "repair",
    "tool",
    "last_line",
    "identity",
)


def to_kept(report: Report, digest: str) -> dict[str, object]:
    findings = [
        (*(getattr(f, name) for name in KEPT), tuple((t.file, t.line, t.text, t.why) for t in f.trace))
        for f in report.findings
    ]
    return {
        "digest": digest, "findings": findings, "faults": report.faults, "files": report.files,
        "silenced": report.silenced, "notes": report.notes, "shown": report.shown_files,
    }  # fmt: skip


def from_kept(kept: Mapping[str, Any]) -> Report:
    """The report that was kept; written by `to_kept` under the same digest."""
    findings: list[Finding] = []
    for item in kept["findings"]:
        *facts, trace = item
        steps = tuple(TraceStep(file=a, line=b, text=c, why=d) for a, b, c, d in trace)
        findings.append(Finding(**dict(zip(KEPT, facts, strict=True)), trace=steps))
    return Report(
        findings=tuple(findings),
        faults=tuple(kept["faults"]),
        files=kept["files"],
        parsed=0,
        silenced=kept["silenced"],
        notes=tuple(kept["notes"]),
        shown_files=tuple(kept["shown"]),
    )
