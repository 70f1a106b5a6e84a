"""Which comments that silence nothing in this run may silence something once more files are in it.

A rule over values speaks where a stranger's text arrives, and in a part of a project the callers that bring it may be
missing: a connector alone, a file in a commit hook.  So what is left over is looked at again, with everything that comes
from elsewhere counted as a stranger's.  A comment on a line where the rule speaks then, or on one that was not reached, is
in doubt and nobody is told to delete it.  One that stays silent even so is stale, and so is one on a function whose callers
are all here and bring nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, final

from tools_check._analysis import Analysis, Judged, analyse
from tools_check._catalog import Catalog
from tools_check._elsewhere import ROOT, Elsewhere, Statement, is_from
from tools_check._facts import Facts
from tools_check._files import SourceFile, find_files, is_package_folder
from tools_check._ir import ModuleIR
from tools_check._suppress import Suppression
from tools_check._values import flat, join
from tools_check._worlds import import_folder

OVER_TEXTS: Final = frozenset({"hand-rolled-fence", "fence-marker"})
OF_ONE_FILE: Final = OVER_TEXTS | {"bad-suppression", "unused-suppression"}  # more files give them nothing to say
OVER_TOOLS: Final = frozenset(
    {"false-declaration", "missing-declaration", "empty-origin", "computed-declaration", "undecided-declaration",
     "needless-origin", "double-fence", "dispatch-mismatch", "unlisted-ingress"}
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the run was made of."""

    files: list[SourceFile]
    users: Callable[[set[str]], set[str]]  # the files that import one of these, directly or not; by shown path
    load: Callable[[SourceFile], ModuleIR | None]
    catalog: Callable[[], Catalog]
    imports: Mapping[str, tuple[str, ...]]
    exclude: tuple[str, ...]


def doubt(facts: Facts, seen: Seen, tick: Callable[[str], None]) -> None:
    """Mark the comments of which this run cannot tell whether they silence something."""
    open_ones = {
        path: left
        for path, found in facts.suppressions.items()
        if (
            left := [
                item for item in found if not item.used and not item.fault and not OF_ONE_FILE.issuperset(item.rules)
            ]
        )
    }
    if not open_ones:
        return
    elsewhere = Elsewhere(is_absent=absences(seen.files), is_entry=entries(seen, facts.analysis.called))
    looks = [Look(facts, elsewhere, path, left) for path, left in open_ones.items()]
    users = {look.path: seen.users({look.path}) for look in looks}  # nobody else can bring anything to its lines
    elsewhere.is_asked = lambda path: any(path in users[look.path] and not look.is_answered() for look in looks)
    roots = [f for f in seen.files if any(f.shown in of_one for of_one in users.values())]
    roots.sort(key=lambda f: f.shown not in open_ones)  # most comments are in doubt for what stands beside them
    second = analyse(
        seen.files, roots, seen.load, seen.catalog(), tick, imports=seen.imports, elsewhere=elsewhere
    )  # fmt: skip
    for look in looks:
        look.judge(second)


@final
class Look:
    """The comments of one file against what the second look saw there."""

    def __init__(self, facts: Facts, elsewhere: Elsewhere, path: str, items: list[Suppression]) -> None:
        self.places = facts.places(path)
        self.elsewhere = elsewhere
        self.path = path
        self.items = [(item, self.statement(item.covers)) for item in items]
        self.known = 0  # how much of what rules noted has been looked at

    def is_answered(self) -> bool:
        """Whether every comment is in doubt by now, which nothing that is followed from here on can change."""
        spoken = self.elsewhere.spoken[self.known :]
        self.known += len(spoken)
        here = [(rule, site) for rule, path, site in spoken if path == self.path and rule not in OVER_TOOLS]
        for item, inside in self.items:
            item.doubted = (
                item.doubted
                or inside in self.elsewhere.asked
                or any(rule in item.rules and self.covers(site, item) for rule, site in here)
            )
        return all(item.doubted for item, _ in self.items)

    def judge(self, second: Analysis) -> None:
        """Doubt what may silence something, now that everything was followed that can tell."""
        if self.is_answered():
            return
        tools = [judged for judged in second.tools if judged.tool.path == self.path]
        for item, inside in self.items:
            if inside is None:
                # Either text that this Python cannot parse, or nothing stands there.
                item.doubted = not self.places.statements
            elif self.path in second.too_deep or inside not in self.elsewhere.reached:
                item.doubted = True
            else:
                item.doubted = item.doubted or any(self.may_speak(rule, item, inside, tools) for rule in item.rules)

    def may_speak(self, rule: str, item: Suppression, inside: Statement, tools: list[Judged]) -> bool:
        """Whether a rule may have something to say on the line of a comment, in a run with more files."""
        if rule not in OVER_TOOLS:
            return False  # it was silent, or the comment would be in doubt by now
        return any(self.covers(j.tool.site, item) and self.is_open(j, rule) for j in tools) or (
            rule == "unlisted-ingress" and self.is_definition(inside)
        )

    def statement(self, line: int) -> Statement | None:
        """The innermost statement on a line."""
        found: Statement | None = None
        for ordinal, node in enumerate(self.places.statements):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if first <= line <= (node.end_lineno or node.lineno):
                found = (self.path, ordinal)
        return found

    def is_definition(self, statement: Statement) -> bool:
        return isinstance(self.places.statements[statement[1]], ast.FunctionDef | ast.AsyncFunctionDef)

    def covers(self, site: int, item: Suppression) -> bool:
        line = self.places.of(site).line
        return line <= item.covers <= max(self.places.last_line(site), line)

    def is_open(self, judged: Judged, rule: str) -> bool:
        """Whether what is said of a tool hangs on something elsewhere."""
        if rule == "dispatch-mismatch":
            # Which tools a handler calls is not told by what it returns.
            return bool(self.elsewhere.asked) or judged.tool.opaque
        if rule in ("needless-origin", "undecided-declaration") and any(
            root.kind == "foreign" and root != ROOT for root in judged.labels
        ):
            return False  # it is foreign already
        fields = flat(join(*judged.tool.fields.values()))
        return judged.tool.opaque or is_from(judged.labels) or is_from(fields) or not judged.whole


# -- what is elsewhere ----------------------------------------------------------------------------------------------


def absences(files: list[SourceFile]) -> Callable[[str], bool]:
    """Tells names that lie in the project on disk, and not among the files."""
    folders = {import_folder(source) for source in files}
    have = {name for source in files for name in source.names}

    @cache
    def is_on_disk(top: str) -> bool:
        return any(
            (folder / f"{top}.py").is_file() or next((folder / top).glob("*.py"), None) is not None
            for folder in folders
        )  # fmt: skip

    def is_absent(qname: str) -> bool:
        parts = qname.split(".")
        seen = qname in have or any(".".join(parts[:end]) in have for end in range(len(parts), 1, -1))
        return not seen and is_on_disk(parts[0])

    return is_absent


def entries(seen: Seen, called: AbstractSet[tuple[str, int]]) -> Callable[[str, int], bool]:
    """Tells functions that code elsewhere may call: nobody here does, or not every file is here that could."""
    files = {source.name: source for source in seen.files}
    have = {source.path for source in seen.files}

    @cache
    def is_whole(module: str) -> bool:
        return have.issuperset(neighbours(files[module], seen.exclude)) if module in files else True

    return lambda module, at: (module, at) not in called or not is_whole(module)


def neighbours(source: SourceFile, exclude: tuple[str, ...]) -> set[Path]:
    """The files of the package that a file stands in; of its folder, when that is no package."""
    folder = source.path.parent
    if not is_package_folder(folder):
        return {f.path for f in find_files(sorted(folder.glob("*.py")), exclude)}
    while is_package_folder(folder.parent):
        folder = folder.parent
    return {f.path for f in find_files([folder], exclude)}
