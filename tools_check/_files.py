"""Which files are read, what a module of theirs is called, and which of them cannot matter; runs nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "node_modules", ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".mypy_cache",
     ".ruff_cache", ".pytest_cache", ".hypothesis", ".tools_check_cache", ".eggs"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file: where it is, how it is shown, and what it is called when imported."""

    path: Path
    shown: str  # relative to the current folder where possible, with forward slashes
    names: tuple[str, ...]  # module names it can be imported by, the surest first
    is_package: bool

    @property
    def name(self) -> str:
        return self.names[0]


class NotFound(Exception):
    """A path given on the command line does not exist."""


class NoPython(Exception):
    """A folder given on the command line holds no Python file, or none that the settings leave in.

    It is a mistake and not a clean run, since a run in CI over a folder that was renamed would else pass for ever. A file
    that is left out is no mistake: hooks give the names of files that changed.
    """

    def __init__(self, folder: str, *, left_out: bool) -> None:
        super().__init__(folder)
        self.left_out = left_out


class NoEntry(Exception):
    """A folder cannot be looked into, so what is in it would pass unseen."""


def find_files(
    paths: Iterable[Path], exclude: tuple[str, ...] = (), unsaved: Collection[str] = (), *, strict: bool = False
) -> list[SourceFile]:
    """Every Python file under the paths, each once, in the order of their shown names.

    Args:
        paths: files and folders.
        exclude: regular expressions over shown names that are left out.
        unsaved: shown names of files whose text is given, and which need not exist.
        strict: whether a folder must hold one, and be possible to look into to its end.

    Raises:
        NotFound: when a path does not exist.
        NoPython: with `strict`, when a folder holds no Python file.
        NoEntry: with `strict`, when a folder cannot be looked into.
    """
    found: dict[str, SourceFile] = {}
    seen: dict[Path, bool] = {}
    for path in paths:
        if not path.exists() and shown(path) not in unsaved:
            raise NotFound(str(path))
        root = path if path.is_dir() else path.parent
        candidates = walk_folder(path, strict=strict) if path.is_dir() else [path]
        places: dict[Path, Place] = {}
        seen_any = kept_any = False
        for file in candidates:
            seen_any = True
            folder = file.parent
            if folder not in places:
                places[folder] = place_of(folder, root, seen)
            source = describe(file, places[folder])
            if not any(re.search(pattern, source.shown) for pattern in exclude):
                kept_any = True
                found.setdefault(str(file.absolute()), source)
        if strict and path.is_dir() and not kept_any:
            within = "" if shown(path) == "." else f"{shown(path)}/"
            if not any(name.startswith(within) for name in unsaved):
                raise NoPython(str(path), left_out=seen_any)
    return sorted(found.values(), key=lambda source: source.shown)


def walk_folder(root: Path, *, strict: bool) -> Iterator[Path]:
    """The Python files below a folder; links to folders are not followed, so that a cycle ends."""

    def refuse(error: OSError) -> None:
        if strict and not isinstance(error, FileNotFoundError):  # a folder may go while others are looked into
            raise NoEntry(f"{shown(Path(error.filename))} cannot be looked into: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not is_environment(Path(folder, f)))
        for name in sorted(files):
            if name.endswith((".py", ".pyi")) and not (name.endswith(".pyi") and name[:-1] in files):
                yield Path(folder, name)


def is_environment(folder: Path) -> bool:
    """A virtual environment holds other people's code."""
    return (folder / "pyvenv.cfg").exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the files of one folder have in common, which is all of their names but the last."""

    shown: str
    folders: tuple[str, ...]  # what may stand before a module's own name
    top: int  # how many of them, from the front, are no packages
    installed: bool  # below a folder that packages were installed into: only the whole name is its own


def describe(file: Path, place: Place) -> SourceFile:
    """The names of one file."""
    own = file.stem
    is_package = own == "__init__" and not (place.installed and not place.folders)
    parts = place.folders if is_package else (*place.folders, own)
    names = [".".join(parts[i:]) for i in range(len(parts))] or ["__init__"]
    surest = names[min(place.top, len(names) - 1)]
    others = [name for name in names[: place.top + 1] if name != surest]
    return SourceFile(path=file, shown=place.shown + file.name, names=(surest, *others), is_package=is_package)


def place_of(folder: Path, root: Path, seen: dict[Path, bool]) -> Place:
    """What the names of a folder's files begin with; `seen` keeps which folders packages were installed into."""
    here, before = folder.absolute(), shown(folder / "x.py").removesuffix("x.py")
    installed = import_folder(here, seen)
    within = here.parts[len(installed.parts) :] if installed is not None else ()
    if installed is not None and all(part.isidentifier() for part in within):
        # A package in a folder without `__init__` may be called as a library is: only its whole name is its own.
        return Place(shown=before, folders=within, top=0, installed=True)
    folders = list(here.relative_to(root.absolute()).parts)
    # A root that lies inside a package: the package's own folders belong to the name.
    above = root.absolute()
    while is_package_folder(above):
        folders.insert(0, above.name)
        above = above.parent
    top = len(folders)
    while top and is_package_folder(here):
        top, here = top - 1, here.parent
    return Place(shown=before, folders=tuple(folders), top=top, installed=False)


def import_folder(folder: Path, seen: dict[Path, bool]) -> Path | None:
    """The folder that packages were installed into, which is the one that modules are imported from."""
    for above in (folder, *folder.parents[:8]):
        if above not in seen:
            seen[above] = any(above.glob("*.dist-info"))
        if seen[above]:
            return above
    return None


def is_package_folder(folder: Path) -> bool:
    """Whether a folder is a package of modules, or of their stubs."""
    return (folder / "__init__.py").exists() or (folder / "__init__.pyi").exists()


def shown(file: Path) -> str:
    """The path as it is printed."""
    try:
        relative = os.path.relpath(file)
    except ValueError:
        return file.as_posix()
    return file.as_posix() if relative.startswith("..") else Path(relative).as_posix()
