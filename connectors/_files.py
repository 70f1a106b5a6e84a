"""The way in for files below a root. A path that leads out of the root must never be opened, whatever changes meanwhile.

Links are resolved first, and the result must lie below the root. It is then opened one folder after the other from the
root's own descriptor, and a link met on that way is refused: a resolved path has none, so one that is there was put there
after the check. Limits: a hard link and a mounted folder below the root are part of the root, and a folder that is moved
out of the root while it is being read is still read.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias, final

from connectors._bounds import time_left
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Entry", "EntryKind", "Walked", "list_dir", "read_file", "walk"]

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]
"""What an entry of a folder is itself; a link is not followed to say it."""

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would wait for a writer and a terminal would become ours, if one were put there between the look and the opening.
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NOTHING: Final = "There is nothing at that path. Write one that list_files shows."
MAX_DEPTH: Final = 64
MAX_ENTRIES: Final = 100_000
PIECE: Final = 256 * 1024


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a folder."""

    name: str
    """As the file system has it, bytes that are not UTF-8 as lone surrogates."""
    kind: EntryKind
    """What it is itself; a link is not followed."""
    size: int
    """In bytes."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walked:
    """What lies below a folder."""

    paths: Foreign[tuple[str, ...]]
    """Regular files, as paths from the root, sorted folder by folder."""
    complete: bool
    """False when a bound ended the walk."""


def read_file(root: Path, path: str, *, max_bytes: int = 5_000_000, origin: str | None = None) -> Foreign[bytes]:
    """Read a regular file below a root.

    Args:
        root: the folder that nothing leaves.
        path: relative to it, with '/', without '..'.
        max_bytes: the largest file.
        origin: who chose what is in it; None leaves it to the tool's declaration.

    Raises:
        IngressRefused: codes `path_refused`, `outside_root`, `not_found`, `not_a_file`, `too_large`.
        ToolFailed: the system could not read it.
    """
    with opened(root, path) as (folder, name):
        if name is None:
            refuse("not_a_file", "The path leads to a folder. Write the path of a file; list_files shows them.")
        with file_at(folder, name) as fd:
            return Foreign(read_bounded(fd, max_bytes), origin)


def list_dir(
    root: Path, path: str = "", *, max_entries: int = 10_000, origin: str | None = None
) -> Foreign[tuple[Entry, ...]]:
    """List a folder below a root, sorted by name. The empty path is the root.

    Raises:
        IngressRefused: codes `path_refused`, `outside_root`, `not_found`, `not_a_folder`, `too_large`.
        ToolFailed: the system could not read it.
    """
    with folder_at(root, path) as folder:
        return Foreign(entries(folder, max_entries), origin)


def walk(
    root: Path,
    path: str = "",
    *,
    max_files: int = 10_000,
    timeout_s: float = 10.0,
    skip: frozenset[str] = frozenset(),
    origin: str | None = None,
) -> Walked:
    """Find the regular files below a folder, without following links. Folders named in `skip` are left out.

    Raises:
        IngressRefused: codes `path_refused`, `outside_root`, `not_found`, `not_a_folder`.
        ToolFailed: the system could not read it.
    """
    deadline = time.monotonic() + time_left(timeout_s)
    found: list[str] = []
    with folder_at(root, path) as folder:
        for entry, is_file in below(folder, "/".join(parts_of(path)), skip, MAX_DEPTH):
            if entry is None or time.monotonic() > deadline or (is_file and len(found) >= max_files):
                return Walked(paths=Foreign(tuple(found), origin), complete=False)
            if is_file:
                found.append(entry)
    return Walked(paths=Foreign(tuple(found), origin), complete=True)


def below(folder: int, prefix: str, skip: frozenset[str], depth: int) -> Iterator[tuple[str | None, bool]]:
    """Yield each path below an open folder and whether it is a file; None where the depth ends the walk."""
    for entry in entries(folder, MAX_ENTRIES):
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        yield path, entry.kind == "file"
        if entry.kind != "folder" or entry.name in skip:
            continue
        if depth == 0:
            yield None, False
            return
        try:
            fd = os.open(entry.name, FOLDER, dir_fd=folder)
        except OSError:
            continue  # gone, closed to us, or a link by now
        try:
            yield from below(fd, path, skip, depth - 1)
        finally:
            os.close(fd)


def entries(folder: int, max_entries: int) -> tuple[Entry, ...]:
    names: list[str] = []
    with os.scandir(folder) as scan:
        for item in scan:
            names.append(item.name)
            if len(names) > max_entries:
                refuse("too_large", f"The folder holds more than {max_entries} entries. Ask for a folder below it.")
    return tuple(entry for name in sorted(names) if (entry := entry_at(folder, name)) is not None)


def entry_at(folder: int, name: str) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None  # gone meanwhile
    return Entry(name=name, kind=kind_of(status.st_mode), size=status.st_size)


def kind_of(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


# -- opening -------------------------------------------------------------------------------------------------------


def parts_of(path: str) -> list[str]:
    """Split a path, and refuse one that is not plainly below the root by its spelling alone."""
    if path.startswith("/"):
        refuse("path_refused", "The path is absolute. Write it relative to the root, without a leading '/'.")
    if "\0" in path:
        refuse("path_refused", "The path holds a NUL character. Write plain text.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        refuse("path_refused", "The path holds a character that no file name can hold. Write plain text.")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        refuse("path_refused", "The path holds '..'. Write it from the root on, without '..'.")
    return parts


@contextmanager
def opened(root: Path, path: str) -> Generator[tuple[int, str | None]]:
    """Open the folder that holds what a path leads to; the name is None when the path is the root itself."""
    parts = resolved(root, parts_of(path))
    with failures():
        fd = os.open(os.path.realpath(root), FOLDER)
    try:
        for part in parts[:-1]:
            with failures():
                below_it = os.open(part, FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below_it
        with failures():
            yield fd, parts[-1] if parts else None
    finally:
        os.close(fd)


def resolved(root: Path, parts: list[str]) -> list[str]:
    """Resolve every link; what remains is the way from the root, without links."""
    top = os.path.realpath(root)
    try:
        target = os.path.realpath(os.path.join(top, *parts))  # noqa: PTH118  # bytes outside of UTF-8 stay as they are
    except OSError:
        refuse("not_found", "The path cannot be followed. Write one that list_files shows.")
    if target == top:
        return []
    if not target.startswith(top.rstrip("/") + "/"):
        refuse("outside_root", "The path leads out of the root through a link. Write one that stays below the root.")
    return target[len(top.rstrip("/")) + 1 :].split("/")


@contextmanager
def folder_at(root: Path, path: str) -> Generator[int]:
    with opened(root, path) as (holder, name):
        if name is not None:
            look(holder, name)
        try:
            fd = os.open("." if name is None else name, FOLDER, dir_fd=holder)
        except NotADirectoryError:
            refuse("not_a_folder", "The path does not lead to a folder. Write the path of a folder, or leave it out.")
        try:
            yield fd
        finally:
            os.close(fd)


@contextmanager
def file_at(folder: int, name: str) -> Generator[int]:
    """Open a regular file; anything else is refused before it is opened, since opening alone can wait or change a device."""
    before = look(folder, name)
    if not stat.S_ISREG(before.st_mode):
        refuse("not_a_file", "The path does not lead to a regular file. Write the path of one; list_files shows them.")
    fd = os.open(name, FILE, dir_fd=folder)
    try:
        after = os.fstat(fd)
        if not stat.S_ISREG(after.st_mode) or (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            refuse("not_found", "The file was exchanged while it was opened. Ask again.")
        yield fd
    finally:
        os.close(fd)


def look(folder: int, name: str) -> os.stat_result:
    """Look at the end of a resolved path. A link there leads in a circle, or was put there since."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        refuse("not_found", NOTHING)
    return status


def read_bounded(fd: int, max_bytes: int) -> bytes:
    # The size that the system states is not relied on: some files have none, and one may grow while it is read.
    content = bytearray()
    while piece := os.read(fd, min(PIECE, max_bytes + 1 - len(content))):
        content += piece
        if len(content) > max_bytes:
            refuse("too_large", f"The file is larger than {max_bytes} bytes, which is the most that is read.")
    return bytes(content)


@contextmanager
def failures() -> Generator[None]:
    """Say what the system said, by its number: its text holds the path, which somebody else may have chosen."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
    else:
        return
    if number in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        refuse("not_found", NOTHING)
    raise ToolFailed(f"The file could not be read: {os.strerror(number)}.")


def refuse(code: str, sentence: str) -> NoReturn:
    raise IngressRefused(code, sentence)
