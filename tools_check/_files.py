"""Which files are read, what a module of theirs is called, and which of them cannot matter; runs nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "node_modules", ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".mypy_cache",
     ".ruff_cache", ".pytest_cache", ".hypothesis", ".tools_check_cache", ".eggs"}
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file: where it is, how it is shown, and what it is called when imported."""

    at: str  # its absolute path, which tells it from every other file
    shown: str  # relative to the current folder where possible, with forward slashes
    names: tuple[str, ...]  # module names it can be imported by, the surest first
    is_package: bool

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def path(self) -> Path:
        return Path(self.at)


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

    A run that has nothing else to do does this, so that what is asked of each file is asked of its text and not of the disk.

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
    left_out = [re.compile(pattern) for pattern in exclude]
    disk = Disk()
    for path in paths:
        if not path.exists() and shown(path) not in unsaved:
            raise NotFound(str(path))
        is_folder = path.is_dir()
        root = str((path if is_folder else path.parent).absolute())
        seen_any = kept_any = False
        for folder, names in walk_folder(root, disk, strict=strict) if is_folder else [(root, [path.name])]:
            seen_any = True
            place = place_of(folder, root, disk)
            for name in names:
                source = describe(name, place)
                if not any(pattern.search(source.shown) for pattern in left_out):
                    kept_any = True
                    found.setdefault(source.at, source)
        if strict and is_folder and not kept_any:
            within = "" if shown(path) == "." else f"{shown(path)}/"
            if not any(name.startswith(within) for name in unsaved):
                raise NoPython(str(path), left_out=seen_any)
    return sorted(found.values(), key=lambda source: source.shown)


@final
class Disk:
    """What is on the disk, each folder looked at once."""

    def __init__(self) -> None:
        self.packages: dict[str, bool] = {}  # is it a package of modules, or of their stubs?
        self.installed: dict[str, bool] = {}  # were packages installed into it?

    def listed(self, folder: str, folders: Iterable[str], files: Collection[str]) -> None:
        """Keep what a listing says."""
        self.packages[folder] = "__init__.py" in files or "__init__.pyi" in files
        self.installed[folder] = any(name.endswith(".dist-info") for name in folders)

    def is_package(self, folder: str) -> bool:
        if folder not in self.packages:
            self.packages[folder] = is_package_folder(Path(folder))
        return self.packages[folder]

    def is_installed(self, folder: str) -> bool:
        if folder not in self.installed:
            self.installed[folder] = any(Path(folder).glob("*.dist-info"))
        return self.installed[folder]


def walk_folder(root: str, disk: Disk, *, strict: bool) -> Iterator[tuple[str, list[str]]]:
    """Each folder below a folder, with its Python files; links to folders are not followed, so that a cycle ends."""

    def refuse(error: OSError) -> None:
        if strict and not isinstance(error, FileNotFoundError):  # a folder may go while others are looked into
            raise NoEntry(f"{shown(Path(error.filename))} cannot be looked into: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse):
        if "pyvenv.cfg" in files and folder != root:
            folders.clear()  # a virtual environment holds other people's code
            continue
        here = frozenset(files)
        disk.listed(folder, folders, here)
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        names = [name for name in files if name.endswith(".py") or (name.endswith(".pyi") and name[:-1] not in here)]
        if names:
            yield folder, names


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the files of one folder have in common, which is all of their names but the last."""

    at: str
    shown: str
    folders: tuple[str, ...]  # what may stand before a module's own name
    top: int  # how many of them, from the front, are no packages
    installed: bool  # below a folder that packages were installed into: only the whole name is its own


def describe(file: str, place: Place) -> SourceFile:
    """The names of one file of a folder."""
    own = file.rpartition(".")[0]
    is_package = own == "__init__" and not (place.installed and not place.folders)
    parts = place.folders if is_package else (*place.folders, own)
    # From each folder that is no package, and from the first package on, which gives the surest.
    surest = min(place.top, max(len(parts) - 1, 0))
    names = [".".join(parts[i:]) for i in range(surest + 1)] if parts else ["__init__"]
    others = [name for name in names[:-1] if name != names[-1]]
    return SourceFile(at=place.at + file, shown=place.shown + file, names=(names[-1], *others), is_package=is_package)


def place_of(folder: str, root: str, disk: Disk) -> Place:
    """What the names of a folder's files begin with."""
    at, before = os.path.join(folder, ""), shown(Path(folder, "x.py")).removesuffix("x.py")
    installed = import_folder(folder, disk)
    within = parts_below(installed, folder) if installed is not None else []
    if installed is not None and all(part.isidentifier() for part in within):
        # A package in a folder without `__init__` may be called as a library is: only its whole name is its own.
        return Place(at=at, shown=before, folders=tuple(within), top=0, installed=True)
    folders = parts_below(root, folder)
    # A root that lies inside a package: the package's own folders belong to the name.
    above = root
    while disk.is_package(above) and (higher := os.path.dirname(above)) != above:
        folders.insert(0, os.path.basename(above))
        above = higher
    top, here = len(folders), folder
    while top and disk.is_package(here):
        top, here = top - 1, os.path.dirname(here)
    return Place(at=at, shown=before, folders=tuple(folders), top=top, installed=False)


def parts_below(root: str, folder: str) -> list[str]:
    """The names of the folders from a folder down to another."""
    return [part for part in folder[len(root) :].split(os.sep) if part]


def import_folder(folder: str, disk: Disk) -> str | None:
    """The folder that packages were installed into, which is the one that modules are imported from."""
    for _ in range(9):
        if disk.is_installed(folder):
            return folder
        folder = os.path.dirname(folder)
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
