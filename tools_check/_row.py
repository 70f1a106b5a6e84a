"""One way in for bytes that somebody else chose, as a reviewer reads it and as a committed list keeps it.

It is named without line numbers, so that only a change of the ways in changes the list.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, final

from tools_check._finding import TraceStep

Verdict: TypeAlias = Literal["own", "foreign", "undecided"]
Listed: TypeAlias = tuple[str, str, str]

UNTRUSTED: Final[dict[Verdict, bool | None]] = {"foreign": True, "own": False, "undecided": None}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way in."""

    file: str
    line: int
    qualname: str
    name: str  # the tool's; empty where the program makes it up while it runs
    style: str
    declaration: str
    verdict: Verdict
    origins: tuple[str, ...]
    sources: tuple[str, ...]
    trace: tuple[TraceStep, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "qualname": self.qualname,
            "name": self.name or None,
            "style": self.style,
            "declaration": self.declaration,
            "verdict": self.verdict,
            "untrusted": UNTRUSTED[self.verdict],
            "origins": list(self.origins),
            "sources": list(self.sources),
            "trace": [{"file": s.file, "line": s.line, "text": s.text, "why": s.why} for s in self.trace],
        }

    def to_keep(self) -> tuple[Any, ...]:
        """Plain data, for `marshal`."""
        facts = [getattr(self, f.name) for f in fields(self) if f.name != "trace"]
        return (*facts, tuple((s.file, s.line, s.text, s.why) for s in self.trace))

    @classmethod
    def kept(cls, data: tuple[Any, ...]) -> Row:
        """The inverse of `to_keep`."""
        *facts, trace = data
        names = [f.name for f in fields(cls) if f.name != "trace"]
        steps = tuple(TraceStep(file=file, line=line, text=text, why=why) for file, line, text, why in trace)
        return cls(**dict(zip(names, facts, strict=True)), trace=steps)


def order(row: Row) -> tuple[str, int, str, str, str]:
    return (row.file, row.line, row.qualname, row.style, row.name)


HEADS: Final = ("tool", "handler", "style", "declared", "verdict", "from")
# What is no tool: the rule that notes it, its style, and what it says of itself.
SEAMS: Final = (
    ("fence-call", "seam", "fenced by hand"),
    ("prompt-part", "prompt", "a stranger's part"),
    ("unfenced-prompt", "prompt", "no fence"),
)
PAST: Final = frozenset(style for _, style, _ in SEAMS)


def cells(row: Row) -> tuple[str, ...]:
    """What a table shows of a row, under `HEADS`, behind where it stands."""
    name = "-" if row.style in PAST else printable(row.name) or "(computed)"
    return (
        f"{row.file}:{row.line}",
        name,
        row.qualname,
        row.style,
        row.declaration or "-",
        row.verdict,
        ", ".join(row.sources) or "-",
    )


def printable(name: str) -> str:
    """A name on one line: what is wrong with it is another rule's, and must not tear the table."""
    return name if name.isprintable() else repr(name)


def key(row: Row) -> Listed:
    return (row.file, row.qualname, row.style)
