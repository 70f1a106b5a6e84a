"""Which files can import one another: two files of one module name stand in two worlds, and each is followed in its own.

A repository of several services has an `app/tools.py` in each, and a `main.py` beside every script. On one import path
only the first of them would be found, and the tools of the others would be passed over without a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tools_check._files import SourceFile


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Files that are seen together, and those of them that are judged here."""

    files: tuple[SourceFile, ...]
    own: frozenset[str]  # shown paths


def worlds(files: Iterable[SourceFile]) -> list[World]:
    """Split files so that within a world a name stands for one file; every file is judged in exactly one of them.

    Files below a folder whose names nobody else uses are seen in every world.
    """
    listed = list(files)
    folders: dict[Path, dict[str, SourceFile]] = {}
    hidden: list[tuple[Path, SourceFile]] = []
    for source in listed:
        folder = import_folder(source)
        names = folders.setdefault(folder, {})
        if source.name in names:
            hidden.append((folder, source))
        else:
            names[source.name] = source
    used: dict[str, int] = {}
    for names in folders.values():
        for name in names:
            used[name] = used.get(name, 0) + 1
    shared = [f for f, names in folders.items() if all(used[name] == 1 for name in names)]
    groups: list[dict[str, SourceFile]] = [{}]
    for folder in sorted(set(folders) - set(shared)):
        names = folders[folder]
        group = next((g for g in groups if not g.keys() & names.keys()), None)
        if group is None:
            groups.append(group := {})
        group.update(names)
    common = [source for folder in shared for source in folders[folder].values()]
    made = [[*common, *group.values()] for group in groups]
    owned = [frozenset(f.shown for f in (made[0] if not i else group.values())) for i, group in enumerate(groups)]
    for folder, source in hidden:
        beside = [f for f in folders[folder].values() if f.name != source.name]
        made.append([*(f for f in common if f.name != source.name and f not in beside), *beside, source])
        owned.append(frozenset({source.shown}))
    order = {source.shown: rank for rank, source in enumerate(listed)}
    return [
        World(files=tuple(sorted(seen, key=lambda f: order[f.shown])), own=own)
        for seen, own in zip(made, owned, strict=True)
    ]


def import_folder(source: SourceFile) -> Path:
    """The folder that must stand on the import path for the file to have its name."""
    parts = source.name.count(".") + 1
    up = parts if source.is_package else parts - 1
    folder = source.path.parent
    return folder.parents[up - 1] if 0 < up <= len(folder.parents) else folder
