"""The command `inventory`: every tool and every other way in of foreign bytes, with what the checker sees of
it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from tools_check import _frameworks
from tools_check._analysis import Analysis, analyse
from tools_check._check import Options, answer_key, catalog_of, depth_notes, imports_of, make_store, state_digest
from tools_check._facts import Facts
from tools_check._files import SourceFile, find_files
from tools_check._scan import FRAMEWORK, REGISTRY, decorated_users, importers
from tools_check._store import Store
from tools_check._ways import HEADS, Row, cells, order, rows_of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The list, and what could not be read."""

    rows: tuple[Row, ...]
    faults: tuple[tuple[str, str], ...]
    files: int
    notes: tuple[str, ...] = ()


def take_inventory(paths: Iterable[Path], options: Options) -> Inventory:
    """List the ways in of foreign bytes below some paths.

    Raises:
        NotFound: when a path does not exist.
        NoPython: when a folder holds no Python file.
    """
    files = find_files(paths, options.config.exclude, strict=True)
    store = make_store(options)
    store.scan_all(files)
    key = answer_key("inventory", files, options)
    if store.unchanged():
        kept = store.answer(key)
        if kept.get("digest") == state_digest(store):
            return Inventory(
                rows=tuple(Row.kept(row) for row in kept["rows"]),
                faults=tuple(kept["faults"]),
                files=len(files),
                notes=tuple(kept["notes"]),
            )
    found = take_anew(files, store, options)
    store.finish()
    rows = [row.to_keep() for row in found.rows]
    store.keep(key, {"digest": state_digest(store), "rows": rows, "faults": found.faults, "notes": found.notes})
    return found


def take_anew(files: list[SourceFile], store: Store, options: Options) -> Inventory:
    """List the ways in of files that have been scanned."""
    by_path = {f.shown: f for f in files}
    seeds = {p for p, found in store.scans.items() if found.words & (REGISTRY | FRAMEWORK)}
    registry_users = importers(by_path, store.scans, {p for p, found in store.scans.items() if found.words & REGISTRY})
    decorated = decorated_users(by_path, store.scans, seeds)
    wanted = [f for f in files if f.shown in seeds or f.shown in registry_users or f.shown in decorated]
    store.preload(wanted, options.jobs)
    catalog = catalog_of(options.config)
    frameworks = _frameworks.load(options.config.frameworks)
    analysis = analyse(files, wanted, store.load, catalog, options.tick, frameworks, imports_of(store))
    facts = Facts(analysis=analysis, read=lambda path: store.text(by_path[path]), modules={})
    rows = rows_of(facts, analysis.tools)
    for source in files:
        store.check_syntax(source)
    unique = {(r.file, r.qualname, r.style, r.name): r for r in sorted(rows, key=order)}
    return Inventory(
        rows=tuple(sorted(unique.values(), key=order)),
        faults=tuple(sorted(store.faults.items())),
        files=len(files),
        notes=tuple(notes_of(analysis)),
    )


def notes_of(analysis: Analysis) -> Iterable[str]:
    """What was not followed whole: a tool that is defined there may be missing, or its verdict be short of an origin."""
    yield from depth_notes(analysis)
    for path in sorted(analysis.cut - analysis.too_deep):
        yield f"{path} has code outside its functions that is too large to follow whole; tools that it makes may be missing"
    large = {(j.handler_path, j.handler_name) for j in analysis.tools if j.cut and j.verdict != "foreign"}
    yield from (f"{path}: {name} is too large to follow whole" for path, name in sorted(large))


# -- formats


def jsonl(found: Inventory) -> str:
    return "".join(json.dumps(row.as_json(), ensure_ascii=False) + "\n" for row in found.rows)


def table(found: Inventory) -> str:
    """Columns for a terminal."""
    head = ("where", *HEADS)
    lines = [head, *(cells(row) for row in found.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    return text + "\n" + summary(found) + "\n"


def markdown(found: Inventory) -> str:
    """A page that can be committed: no line numbers, so that only a change of the ways in changes it."""
    lines = ["# Ways in for bytes that somebody else chose", ""]
    lines += ["Made by `tools-check inventory --write`; compared by `tools-check inventory --check`.", ""]
    lines += [f"| {' | '.join(('file', *HEADS))} |", "| --- " * (len(HEADS) + 1) + "|"]
    for row in found.rows:
        where, *rest = cells(row)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (where.rpartition(":")[0], *rest)) + " |")
    return "\n".join([*lines, "", summary(found), ""])


def summary(found: Inventory) -> str:
    counts = {v: sum(r.verdict == v for r in found.rows) for v in ("foreign", "own", "undecided")}
    return f"{len(found.rows)} ways in: " + ", ".join(f"{n} {v}" for v, n in counts.items())


FORMATS: Final = {"table": table, "markdown": markdown, "jsonl": jsonl}
