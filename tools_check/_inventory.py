"""The command `inventory`: every tool and every other way in of foreign bytes, with what the checker sees of
it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from tools_check import _frameworks
from tools_check._analysis import Judged, Verdict, analyse
from tools_check._check import Options, catalog_of, imports_by_name, make_store
from tools_check._facts import Facts, statement_site, tool_name
from tools_check._files import find_files
from tools_check._finding import TraceStep
from tools_check._scan import FRAMEWORK, REGISTRY, importers

UNTRUSTED: Final[dict[Verdict, bool | None]] = {"foreign": True, "own": False, "undecided": None}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way in."""

    file: str
    line: int
    qualname: str
    name: str
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
            "name": self.name,
            "style": self.style,
            "declaration": self.declaration,
            "verdict": self.verdict,
            "untrusted": UNTRUSTED[self.verdict],
            "origins": list(self.origins),
            "sources": list(self.sources),
            "trace": [{"file": s.file, "line": s.line, "text": s.text, "why": s.why} for s in self.trace],
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The list, and what could not be read."""

    rows: tuple[Row, ...]
    faults: tuple[tuple[str, str], ...]


def take_inventory(paths: Iterable[Path], options: Options) -> Inventory:
    """List the ways in of foreign bytes below some paths.

    Raises:
        NotFound: when a path does not exist.
    """
    files = find_files(paths, options.config.exclude)
    store = make_store(options)
    store.scan_all(files)
    by_path = {f.shown: f for f in files}
    seeds = {p for p, found in store.scans.items() if found.words & (REGISTRY | FRAMEWORK)}
    registry_users = importers(by_path, store.scans, {p for p, found in store.scans.items() if found.words & REGISTRY})
    wanted = [f for f in files if f.shown in seeds or f.shown in registry_users]
    store.preload(wanted, options.jobs)
    catalog = catalog_of(options.config)
    frameworks = _frameworks.load(options.config.frameworks)
    analysis = analyse(files, wanted, store.load, catalog, options.tick, frameworks, imports_by_name(files, store))
    facts = Facts(analysis=analysis, read=lambda path: store.text(by_path[path]), modules={})
    rows = [row_of(facts, judged) for judged in analysis.tools if judged.handler_name] + seams(facts)
    for source in files:
        store.check_syntax(source)
    store.finish()
    unique = {(r.file, r.qualname, r.style, r.name): r for r in sorted(rows, key=order)}
    return Inventory(rows=tuple(sorted(unique.values(), key=order)), faults=tuple(sorted(store.faults.items())))


def order(row: Row) -> tuple[str, int, str, str, str]:
    return (row.file, row.line, row.qualname, row.style, row.name)


def row_of(facts: Facts, judged: Judged) -> Row:
    """A tool's row."""
    path = judged.handler_path or judged.tool.path
    line = facts.places(path).of(statement_site(judged.handler_ordinal)).line
    label = judged.first("foreign") or judged.first("unknown")
    kind = "foreign" if judged.verdict == "foreign" else "unknown"
    labels = [la for root, la in sorted(judged.labels.items()) if root.kind == kind]
    return Row(
        file=path,
        line=line,
        qualname=judged.handler_name,
        name=tool_name(judged) if judged.tool.style == "registry" else judged.handler_name.rpartition(".")[2],
        style=judged.tool.style,
        declaration=declaration(judged),
        verdict=judged.verdict,
        origins=tuple(sorted({la.origin for la in labels if la.origin})),
        sources=tuple(sorted({la.root.name for la in labels})),
        trace=facts.trace(label),
    )


def declaration(judged: Judged) -> str:
    """What the tool says of itself, as far as it is a constant."""
    if judged.tool.style != "registry":
        return ""
    value = judged.tool.fields.get("untrusted_output")
    if value is None:
        return "missing"
    if value.exact and value.consts:
        return " or ".join(sorted("False" if c == ("bool", False) else repr(c[1]) for c in value.consts))
    return "a function of the input" if value.refs else "computed"


def seams(facts: Facts) -> list[Row]:
    """Calls of the fence past the dispatcher."""
    out: list[Row] = []
    for noted in facts.noted("fence-call"):
        line = facts.places(noted.path).of(noted.site).line
        label = min(noted.labels.values(), key=lambda la: (la.depth, la.root), default=None)
        out.append(
            Row(
                file=noted.path,
                line=line,
                qualname=f"line {line}",
                name="fence_untrusted",
                style="seam",
                declaration="fenced by hand",
                verdict="foreign",
                origins=tuple(sorted({la.origin for la in noted.labels.values() if la.origin})),
                sources=tuple(sorted({la.root.name for la in noted.labels.values()})),
                trace=facts.trace(label),
            )
        )
    return out


# -- formats


def jsonl(found: Inventory) -> str:
    return "".join(json.dumps(row.as_json(), ensure_ascii=False) + "\n" for row in found.rows)


def table(found: Inventory) -> str:
    """Columns for a terminal."""
    head = ("where", "handler", "style", "declared", "verdict", "from")
    lines = [head, *(cells(row) for row in found.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    return text + "\n" + summary(found) + "\n"


def markdown(found: Inventory) -> str:
    """A page that can be committed: no line numbers, so that only a change of the ways in changes it."""
    lines = ["# Ways in for bytes that somebody else chose", ""]
    lines += ["Made by `tools-check inventory --write`; compared by `tools-check inventory --check`.", ""]
    lines += [
        "| file | handler | style | declared | verdict | from |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in found.rows:
        where, *rest = cells(row)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (where.rpartition(":")[0], *rest)) + " |")
    return "\n".join([*lines, "", summary(found), ""])


def cells(row: Row) -> tuple[str, ...]:
    named = row.qualname if row.style != "seam" else row.name
    return (
        f"{row.file}:{row.line}",
        named,
        row.style,
        row.declaration or "-",
        row.verdict,
        ", ".join(row.sources) or "-",
    )


def summary(found: Inventory) -> str:
    counts = {v: sum(r.verdict == v for r in found.rows) for v in ("foreign", "own", "undecided")}
    return f"{len(found.rows)} ways in: " + ", ".join(f"{n} {v}" for v, n in counts.items())


FORMATS: Final = {"table": table, "markdown": markdown, "jsonl": jsonl}
