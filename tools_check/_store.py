"""Files and their small forms, kept between runs by content; a cache that is broken in any way is worked around, never
trusted and never a crash."""

from __future__ import annotations

import ast
import errno
import marshal
import os
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeGuard, final

from tools_check._collector import no_collections
from tools_check._files import SourceFile
from tools_check._ir import ModuleIR, is_node, pack, unpack
from tools_check._scan import WORDINGS, Scan, digest_of, scan

# Grows with every change of the small form, of the scan, or of what either holds.
FORMAT: Final = 7
FOLDER: Final = ".tools_check_cache"
Stat = tuple[int, int, int]


@final
class Store:
    """One run's view of the files."""

    def __init__(self, folder: Path | None, frameworks: Callable[[], re.Pattern[bytes]], version: str = "") -> None:
        self.folder = folder / f"{FORMAT}-{sys.version_info[0]}.{sys.version_info[1]}" if folder is not None else None
        self.frameworks = frameworks  # what a file that defines a tool mentions; asked only when a file is new
        self.scans: dict[str, Scan] = {}
        self.faults: dict[str, str] = {}
        self.parsed = 0
        self.bytes_parsed = 0
        self.overlay: dict[str, bytes] = {}  # what stands for a file instead of its bytes on disk
        self._ready: dict[str, ModuleIR | None] = {}
        self._index_name = f"index-{version}" if version else "index"  # what rules found is in it: of one version
        self._known: dict[str, Any] = self._read(self._index_name, {})
        self._index: dict[str, Any] = {}
        self._fresh: set[str] = set()

    # -- the cache's files

    def _read(self, name: str, default: Any) -> Any:
        if self.folder is None:
            return default
        try:
            raw = (self.folder / name).read_bytes()
            value = marshal.loads(raw)  # noqa: S302
        except (OSError, ValueError, EOFError, TypeError, MemoryError):
            return default
        return value if isinstance(value, type(default)) else default

    def _write(self, name: str, value: Any) -> None:
        if self.folder is None:
            return
        try:
            raw = marshal.dumps(value)
        except ValueError:
            return  # nested deeper than marshal follows: parsed anew each time
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            ignore = self.folder.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
            Path(temporary).replace(path)
        except OSError:
            self.folder = None  # a folder that cannot be written is no reason to stop

    # -- files

    def read(self, source: SourceFile) -> bytes:
        """The bytes of a file; an unreadable one is a fault, and so is one that is another than it was a moment ago.

        They are read each time they are asked for: what a thousand files hold is most of what a run would keep.
        """
        given = self.overlay.get(source.shown)
        if given is not None:
            return given
        try:
            if source.path.exists() and not source.path.is_file():
                raise OSError(errno.EINVAL, "no regular file")  # a pipe or a device would never end
            data = source.path.read_bytes()
        except OSError as error:
            self.faults[source.shown] = error.strerror or type(error).__name__
            return b""
        scanned = self.scans.get(source.shown)
        if scanned is not None and source.shown not in self.faults and scanned.digest != digest_of(data):
            self.faults[source.shown] = "changed while it was being checked"
        return data

    def scan_all(self, files: Iterable[SourceFile]) -> None:
        """Scan every file, by its state on disk where that is known."""
        for source in files:
            # What is given instead of a file's bytes has no state on disk: the index would tell of the bytes that lie there.
            stat = state(source.at) if source.shown not in self.overlay else None
            known = self._known.get(source.at)
            if stat is not None and valid(known) and tuple(known[0]) == stat and known[4] == source.name:
                self.scans[source.shown] = Scan(known[1], known[2], known[3])
                if known[5]:
                    self.faults[source.shown] = known[5]
                self._index[source.at] = known
                continue
            found = scan(self.read(source), source, self.frameworks())
            self.scans[source.shown] = found
            self._fresh.add(source.shown)
            if stat is not None:
                self._index[source.at] = (stat, found.digest, found.words, found.imports, source.name, "")

    def quiet(self, source: SourceFile) -> None:
        """No rule over texts says anything of this file: until it changes, it need not be looked at for that."""
        key = source.at
        if key in self._index:
            stat, digest, words, *rest = self._index[key]
            self._index[key] = (stat, digest, words & ~WORDINGS, *rest)

    def unchanged(self) -> bool:
        """Whether every file is as it was in the run before."""
        return not self._fresh and len(self._index) == len(self.scans)

    def load(self, source: SourceFile) -> ModuleIR | None:
        """The small form of a file; None when it is no Python, which is a fault."""
        if source.shown in self._ready:
            return self._ready[source.shown]
        if source.shown in self.faults:
            return None
        found = self.scans.get(source.shown)
        cached = self._cached(found) if found is not None else None
        if cached is None:
            cached = self._parse(source, found)
        self._ready[source.shown] = cached
        return cached

    def _cached(self, found: Scan) -> ModuleIR | None:
        raw = self._read(entry_name(found.digest), ())
        if len(raw) != 3:
            return None
        try:
            return unpack(raw)
        except (TypeError, ValueError, IndexError):
            return None

    def _parse(self, source: SourceFile, found: Scan | None) -> ModuleIR | None:
        from tools_check._parse import Unparsable, parse

        data = self.read(source)
        if source.shown in self.faults:
            return None
        try:
            module = parse(data)
        except Unparsable as error:
            self.fault(source, str(error))
            return None
        self.parsed += 1
        self.bytes_parsed += len(data)
        packed = pack(module)
        if found is not None:
            self._write(entry_name(found.digest), packed)
        return unpack(packed)

    def fault(self, source: SourceFile, text: str) -> None:
        self.faults[source.shown] = text
        key = source.at
        if key in self._index:
            self._index[key] = (*self._index[key][:5], text)

    def check_syntax(self, source: SourceFile) -> None:
        """A file that need not be followed is at least Python: the faster parser says so."""
        if source.shown in self.faults or source.shown in self._ready or source.shown not in self._fresh:
            return
        data = self.read(source)
        if b"\0" in data:
            self.fault(source, "holds a null byte")
            return
        try:
            with no_collections(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.load(source)  # newer syntax than this Python's is no fault; the other parser decides

    def text(self, source: SourceFile) -> str:
        """The text of a file, for its lines."""
        from io import BytesIO
        from tokenize import detect_encoding

        data = self.read(source)
        try:
            encoding, _ = detect_encoding(BytesIO(data).readline)
            return data.decode(encoding, "replace").replace("\r\n", "\n")
        except (SyntaxError, LookupError):
            return data.decode("utf-8", "replace")

    def preload(self, sources: list[SourceFile], jobs: int) -> None:
        """Parse files in several processes."""
        todo: list[SourceFile] = []
        for source in sources:
            if source.shown in self._ready or source.shown in self.faults:
                continue
            cached = self._cached(self.scans[source.shown])
            if cached is None:
                todo.append(source)
            else:
                self._ready[source.shown] = cached
        if jobs < 2 or len(todo) < 64:
            return
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        context = multiprocessing.get_context("spawn")
        try:
            with ProcessPoolExecutor(
                min(jobs, len(todo)), mp_context=context, initializer=leave_interrupts_to_the_run
            ) as pool:
                for source, (packed, fault) in zip(
                    todo, pool.map(lowered, [str(s.path) for s in todo], chunksize=8), strict=True
                ):
                    if fault:
                        self.fault(source, fault)
                        continue
                    self.parsed += 1
                    self._ready[source.shown] = unpack(packed)
                    self._write(entry_name(self.scans[source.shown].digest), packed)
        except (BrokenProcessPool, OSError):
            return  # a process that could not start or did not survive: the rest is parsed here

    # -- answers of whole runs

    def answer(self, key: str) -> Any:
        """What was stored under a key when all files were as they are now."""
        return self._read(f"answers/{key}", {})

    def keep(self, key: str, value: Any) -> None:
        self._write(f"answers/{key}", value)

    def finish(self) -> None:
        """Write the index of this run."""
        if (
            self._fresh
            or self._known.keys() != self._index.keys()
            or any(self._known[k] != v for k, v in self._index.items())
        ):
            self._write(
                self._index_name, {**{k: v for k, v in self._known.items() if k not in self._index}, **self._index}
            )


def state(path: str) -> Stat | None:
    """What the file system says of a file."""
    try:
        found = os.stat(path)  # noqa: PTH116  # for each file of each run
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def valid(known: Any) -> TypeGuard[tuple[Any, ...]]:
    """Whether an entry of the index has its form."""
    return is_node(known) and len(known) == 6 and isinstance(known[1], bytes) and is_node(known[3])


def entry_name(digest: bytes) -> str:
    text = digest.hex()
    return f"{text[:2]}/{text[2:]}"


def leave_interrupts_to_the_run() -> None:
    """Ctrl-C reaches every process of a terminal; the run itself ends the others, and they say nothing of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def lowered(path: str) -> tuple[Any, str]:
    """Parse one file in another process."""
    from tools_check._ir import pack
    from tools_check._parse import Unparsable, parse

    sys.setrecursionlimit(20_000)
    try:
        return pack(parse(Path(path).read_bytes())), ""
    except Unparsable as error:
        return None, str(error)
    except OSError as error:
        return None, error.strerror or type(error).__name__
