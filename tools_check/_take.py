"""From scanned files to the list of the ways in."""

from __future__ import annotations

from collections.abc import Iterable

from tools_check import _frameworks
from tools_check._analysis import Analysis, analyse
from tools_check._facts import Facts
from tools_check._files import SourceFile
from tools_check._judge import catalog_of, depth_notes, imports_of
from tools_check._options import Options
from tools_check._row import Row, order
from tools_check._scan import FRAMEWORK, REGISTRY, decorated_users, importers
from tools_check._store import Store
from tools_check._ways import rows_of


def take_anew(files: list[SourceFile], store: Store, options: Options) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The ways in of files that have been scanned, in order, and what is to be said of them."""
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
    return tuple(sorted(unique.values(), key=order)), tuple(notes_of(analysis))


def notes_of(analysis: Analysis) -> Iterable[str]:
    """What was not followed whole: a tool that is defined there may be missing, or its verdict be short of an origin."""
    yield from depth_notes(analysis)
    for path in sorted(analysis.cut - analysis.too_deep):
        yield f"{path} has code outside its functions that is too large to follow whole; tools that it makes may be missing"
    large = {(j.handler_path, j.handler_name) for j in analysis.tools if j.cut and j.verdict != "foreign"}
    yield from (f"{path}: {name} is too large to follow whole" for path, name in sorted(large))
