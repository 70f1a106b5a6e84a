"""What rules look at: the analysis, the small forms of the files, and places and texts, read only when asked
for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from tools_check._analysis import Analysis, Judged
from tools_check._finding import Finding, Severity, TraceStep
from tools_check._ir import SITE_BITS, SITE_MASK, ModuleIR
from tools_check._positions import Positions, positions
from tools_check._run import Noted
from tools_check._suppress import Suppression
from tools_check._values import Label, Value

PLACES: Final = 24  # files of which the trees are kept: a thousand of them are most of a run's memory


@final
@dataclass(slots=True, kw_only=True)
class Facts:
    """Everything that a rule may ask for."""

    analysis: Analysis
    read: Callable[[str], str]
    modules: Mapping[str, ModuleIR]  # by shown path: the files that rules over text look at
    listed: frozenset[tuple[str, str, str]] | None = None  # the committed list of ways in: file, name, style
    list_name: str = ""
    from_list: Callable[[str], str] = lambda path: path  # how the list calls a file
    suppressions: Mapping[str, list[Suppression]] = field(default_factory=dict[str, list[Suppression]])
    _places: dict[str, Positions] = field(default_factory=dict[str, Positions])

    def places(self, path: str) -> Positions:
        """The positions of one file."""
        found = self._places.pop(path, None)
        if found is None:
            found = positions(self.read(path))
            while len(self._places) >= PLACES:
                del self._places[next(iter(self._places))]
        self._places[path] = found  # the last one asked for stands last
        return found

    def noted(self, rule: str) -> list[Noted]:
        """What was seen for a rule, in a stable order."""
        return sorted((n for n in self.analysis.noted.values() if n.rule == rule), key=lambda n: (n.path, n.site))

    def trace(self, label: Label | None, *, last: TraceStep | None = None) -> tuple[TraceStep, ...]:
        """The way of a label's bytes, one step a line."""
        out: list[TraceStep] = []
        for step in label.steps() if label is not None else ():
            places = self.places(step.path)
            line = places.of(step.site).line
            made = TraceStep(file=step.path, line=line, text=places.text(line), why=step.why)
            if out and (out[-1].file, out[-1].line) == (made.file, made.line):
                out[-1] = TraceStep(file=made.file, line=made.line, text=made.text, why=f"{out[-1].why}; {made.why}")
            else:
                out.append(made)
        if last is not None:
            out.append(last)
        return tuple(out)

    def finding(
        self,
        rule: str,
        severity: Severity,
        path: str,
        site: int,
        message: str,
        repair: str,
        *,
        tool: str | None = None,
        trace: tuple[TraceStep, ...] = (),
        identity: str = "",
    ) -> Finding:
        """A finding at a site."""
        places = self.places(path)
        position = places.of(site)
        return Finding(
            rule=rule,
            severity=severity,
            file=path,
            line=position.line,
            column=position.column,
            message=message,
            repair=repair,
            tool=tool,
            trace=trace,
            last_line=max(places.last_line(site), position.line),
            identity=identity,
        )

    def declaration(self, judged: Judged) -> TraceStep:
        """The line on which a tool declares."""
        places = self.places(judged.tool.path)
        line = places.keyword(judged.tool.site, "untrusted_output").line
        return TraceStep(file=judged.tool.path, line=line, text=places.text(line), why="declared as its own words here")


def tool_name(judged: Judged) -> str:
    """The tool's name as it is declared."""
    names = sorted(judged.tool.fields["name"].strings()) if "name" in judged.tool.fields else []
    return names[0] if len(names) == 1 else judged.handler_name or "?"


def declares_false(value: Value | None) -> bool:
    return value is not None and ("bool", False) in value.consts


def statement_site(ordinal: int) -> int:
    return ordinal << SITE_BITS | SITE_MASK
