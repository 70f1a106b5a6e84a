"""From scanned files to findings: what the rules say of what was followed, without what is silenced, in one order."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tools_check import _catalog, _frameworks
from tools_check._analysis import Analysis, analyse
from tools_check._config import Config
from tools_check._facts import Facts
from tools_check._files import SourceFile
from tools_check._finding import Finding
from tools_check._options import Options
from tools_check._report import Report
from tools_check._scan import REGISTRY, SUPPRESSES, WORDINGS, importers
from tools_check._second_look import OVER_TEXTS, Seen, doubt
from tools_check._store import Store
from tools_check._suppress import Suppression, suppressions
from tools_check._ways import listed
from tools_check.rules import ALL, BY_NAME, NAMES

ENVIRONMENT: Final = {
    "builtins": {"origin": "console", "sources": ["input"]},
    "os": {
        "origin": "environment",
        "sources": ["getenv", "environ.get", "environ.copy"],
        "attributes": ["environ"],
    },
    "sys": {
        "origin": "console",
        "sources": ["stdin.read", "stdin.readline", "stdin.readlines"],
        "attributes": ["argv", "stdin"],
    },
    "getpass": {"origin": "console", "sources": ["getpass"]},
}


def check_files(files: list[SourceFile], store: Store, options: Options) -> Report:
    """Check files that have been scanned."""
    config = options.config
    _frameworks.load(config.frameworks)  # a table that is wrong is refused, whether or not a tool is found by it
    by_path = {f.shown: f for f in files}
    words = {shown: found.words for shown, found in store.scans.items()}
    roots = importers(by_path, store.scans, {p for p, w in words.items() if w & REGISTRY})
    texts = [f for f in files if words.get(f.shown, 0) & WORDINGS]
    wanted = [f for f in files if f.shown in roots or words.get(f.shown, 0) & WORDINGS]
    store.preload(wanted, options.jobs)
    analysis = follow(files, [f for f in files if f.shown in roots], store, options)
    modules = {f.shown: module for f in texts if (module := store.load(f)) is not None}
    silencers = {f.shown: suppressions(store.text(f), NAMES) for f in files if words.get(f.shown, 0) & SUPPRESSES}
    facts = Facts(
        analysis=analysis,
        read=lambda path: store.text(by_path[path]),
        modules=modules,
        suppressions=silencers,
        listed=None if config.ingresses is None else listed(config.ingresses),
        list_name="" if config.ingresses is None else Path(os.path.relpath(config.ingresses)).as_posix(),
        from_list=lambda path: Path(os.path.relpath(path, config.folder)).as_posix(),
    )
    found = raw_findings(facts)
    kept, silenced = apply_silence(found, facts, config)
    seen = Seen(
        files=files,
        users=lambda paths: importers(by_path, store.scans, paths),
        load=store.load,
        catalog=lambda: catalog_of(config),
        imports=imports_of(store),
        exclude=config.exclude,
    )
    doubt(facts, seen, options.tick)
    findings = [*kept, *unused(facts, config)]
    loud = {finding.file for finding in found if finding.rule in OVER_TEXTS}
    for source in texts:
        if source.shown not in loud and source.shown not in options.overlay:
            store.quiet(source)
    for source in files:
        store.check_syntax(source)
    return Report(
        findings=tuple(sorted(findings, key=Finding.order)),
        faults=tuple(sorted(store.faults.items())),
        files=len(files),
        parsed=store.parsed,
        silenced=silenced,
        notes=(*shadow_notes(files, analysis), *depth_notes(analysis)),
        shown_files=tuple(f.shown for f in files),
    )


def follow(files: list[SourceFile], roots: list[SourceFile], store: Store, options: Options) -> Analysis:
    """The analysis with the catalogue of this configuration."""
    catalog = catalog_of(options.config)
    return analyse(files, roots, store.load, catalog, options.tick, imports=imports_of(store))


def catalog_of(config: Config) -> _catalog.Catalog:
    """The catalogue with the tables of a configuration."""
    foreign = config.environment == "foreign"
    catalog = _catalog.load(config.sources, ENVIRONMENT if foreign else None)
    catalog.environment = foreign
    return catalog


def imports_of(store: Store) -> dict[str, tuple[str, ...]]:
    """What each file imports, by its shown path."""
    return {shown: found.imports for shown, found in store.scans.items()}


def raw_findings(facts: Facts) -> list[Finding]:
    """Every rule's findings, each once. The last rule reads what comments silenced, so `unused` asks it."""
    seen: set[tuple[str, str, int, int, str]] = set()
    found: list[Finding] = []
    for finding in (finding for rule in ALL if rule.name != UNUSED for finding in rule.check(facts)):
        key = (finding.rule, finding.file, finding.line, finding.column, finding.tool or "")
        if key not in seen:
            seen.add(key)
            found.append(finding)
    return found


UNUSED: Final = "unused-suppression"


def apply_silence(found: list[Finding], facts: Facts, config: Config) -> tuple[list[Finding], int]:
    """The findings without those that a comment or the configuration silences, and the number of those."""
    kept = [f for f in found if not is_ignored(f, config) and not silences(facts.suppressions.get(f.file, []), f)]
    return kept, len(found) - len(kept)


def unused(facts: Facts, config: Config) -> list[Finding]:
    """The comments that silence nothing."""
    return [f for f in BY_NAME[UNUSED].check(facts) if not is_ignored(f, config)]


def is_ignored(finding: Finding, config: Config) -> bool:
    """Whether the configuration silences a finding."""
    return any(re.search(pattern, finding.file) and finding.rule in rules for pattern, rules in config.ignores)


def silences(found: list[Suppression], finding: Finding) -> bool:
    """Whether a comment silences a finding; it may stand on any line of the call that the finding is about."""
    if finding.rule in ("bad-suppression", "unused-suppression"):
        return False
    hit = False
    for item in found:
        if finding.rule in item.rules and finding.line <= item.covers <= max(finding.last_line, finding.line):
            item.used = hit = True
    return hit


def shadow_notes(files: list[SourceFile], analysis: Analysis) -> tuple[str, ...]:
    """A module of the user's own that hides ours is told in one sentence."""
    if not analysis.hides_ours:
        return ()
    shown = next((f.shown for f in files if f.name == "registry"), "registry")
    return (
        f"{shown} is a module named `registry`, which hides hedgerow's own: its tools are not seen where it is imported.",
    )


def depth_notes(analysis: Analysis) -> tuple[str, ...]:
    """Code that the checker gave up on is told, never passed over."""
    return tuple(
        f"{path} holds code that goes deeper than can be followed: what depends on it is undecided, and the rules over "
        "calls may have missed something there"
        for path in sorted(analysis.too_deep)
    )
