"""What a rule reports, and what a rule is made of; facts only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, final

Severity = Literal["error", "warning", "info"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One station of the way of the bytes."""

    file: str
    line: int
    text: str
    why: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, where, why, and the one line that puts it right."""

    rule: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    repair: str
    tool: str | None = None
    trace: tuple[TraceStep, ...] = ()
    last_line: int = 0
    identity: str = ""

    def as_json(self) -> dict[str, Any]:
        """The fields that the formats json and jsonl print."""
        out = asdict(self)
        out["trace"] = list(out["trace"])
        for name in ("last_line", "identity"):
            del out[name]
        return out

    def order(self) -> tuple[str, int, int, str, str]:
        return (self.file, self.line, self.column, self.rule, self.message)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A module that a rule must report (at `line`, when given) or must leave alone."""

    title: str
    source: str
    line: int | None = None
    listed: tuple[tuple[str, str], ...] | None = None
    """The name and the style of the ways in that the project's list holds; None without a list."""
