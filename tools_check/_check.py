"""The command `check`: files in, findings out, in one order whatever the number of processes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, final

from tools_check import _catalog, _frameworks
from tools_check._analysis import Analysis, analyse
from tools_check._config import Config
from tools_check._facts import Facts
from tools_check._files import SourceFile, find_files
from tools_check._finding import Finding, TraceStep
from tools_check._scan import REGISTRY, SUPPRESSES, WORDINGS, importers
from tools_check._second_look import OVER_TEXTS, Seen, doubt
from tools_check._store import FOLDER, Store
from tools_check._suppress import Suppression, suppressions
from tools_check._ways import listed
from tools_check.rules import ALL, BY_NAME, NAMES
from tools_check.rules.fence_marker import BYTES

VERSION: Final = "0.1.0"
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


@final
@dataclass(slots=True, kw_only=True)
class Options:
    """How a run is made."""

    config: Config = field(default_factory=Config)
    jobs: int = 1
    cache: bool = True
    tick: Callable[[str], None] = lambda _text: None
    overlay: dict[str, bytes] = field(default_factory=dict[str, bytes])


def make_store(options: Options) -> Store:
    folder = options.config.folder / FOLDER if options.cache else None
    return Store(folder, BYTES, _frameworks.words(options.config.frameworks), checker_digest())


def check_paths(paths: Iterable[Path], options: Options) -> Report:
    """Check files and folders.

    Raises:
        NotFound: when a path does not exist.
        NoPython: when a folder holds no Python file.
    """
    files = find_files(paths, options.config.exclude, options.overlay, strict=True)
    store = make_store(options)
    for shown, data in options.overlay.items():
        store.overlay[shown] = data
    store.scan_all(files)
    key = answer_key("check", files, options)
    if store.unchanged() and not options.overlay:
        kept = store.answer(key)
        if kept.get("digest") == state_digest(store):
            return from_kept(kept)
    report = check_files(files, store, options)
    store.finish()
    if not options.overlay:
        store.keep(key, to_kept(report, state_digest(store)))
    return report


def check_files(files: list[SourceFile], store: Store, options: Options) -> Report:
    """Check files that have been scanned."""
    config = options.config
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


# -- answers kept between runs


def answer_key(command: str, files: list[SourceFile], options: Options) -> str:
    """A name for this question: the command, the files by name, the configuration, the list of ways in, the checker."""
    text = "\0".join([VERSION, command, str(Path.cwd()), options.config.digest, *(f.shown for f in files)])
    work = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16)
    ingresses = options.config.ingresses
    if ingresses is not None and ingresses.is_file():
        work.update(ingresses.read_bytes())
    return work.hexdigest() + checker_digest()


def checker_digest() -> str:
    """Changes with the checker itself: sizes and times of its own files."""
    own = Path(__file__).parent
    parts: list[str] = []
    for path in sorted([*own.glob("*.py"), *own.glob("*.toml"), *own.glob("rules/*.py")]):
        found = path.stat()
        parts.append(f"{path.name}:{found.st_size}:{found.st_mtime_ns}")
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()


def state_digest(store: Store) -> str:
    work = blake2b(digest_size=16)
    for shown in sorted(store.scans):
        work.update(shown.encode("utf-8", "surrogateescape") + store.scans[shown].digest)
    return work.hexdigest()


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
