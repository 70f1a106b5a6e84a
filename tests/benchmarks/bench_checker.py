"""The checker against a bare parse and against bandit, as ratios in one run: `python -m tests.benchmarks checker`.

The packages of `corpus.txt` are fetched from the package index, by hash, into a folder that is kept for the next time; or
`python -m tests.benchmarks.bench_checker FOLDER` takes a folder of yours.  All figures are CPU seconds of this process or of
its children, and every ratio is of two figures of one run:

- cold: a run without a cache, against `libcst.parse_module` over the same files that it parsed;
- bandit: `bandit -r` over the folder, against the cold check of the same folder;
- warm: a process with the cache of the run before, above an empty Python; with no file changed, and with one edited.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import libcst

from tools_check import _parse
from tools_check._check import check_paths
from tools_check._cli import RECURSION, STACK
from tools_check._inventory import take_inventory
from tools_check._options import Options

HERE = Path(__file__).parent
KEPT = Path(tempfile.gettempdir()) / "hedgerow-checker-corpus"
EDITED = 7  # files, spread over the folder, each edited by itself


class Cold(NamedTuple):
    """One run without a cache."""

    seconds: float
    parsed: tuple[bytes, ...]


def fetch(folder: Path) -> Path:
    """The packages of `corpus.txt`, unpacked; they are fetched when they are not there yet."""
    done = folder / "sources"
    if not done.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        wheels = folder / "wheels"
        command = ["pip", "download", "--quiet", "--no-deps", "--require-hashes", "--dest", str(wheels)]
        subprocess.run([sys.executable, "-m", *command, "-r", str(HERE / "corpus.txt")], check=True)
        unpacked = folder / "unpacked"
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if name.endswith(".py")]
                archive.extractall(unpacked / wheel.name.partition("-")[0], names)
        unpacked.rename(done)
    return done


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.is_file())


def cold(work: Callable[[], object]) -> Cold:
    """CPU seconds of a run, and the bytes of the files that it parsed."""
    parsed: list[bytes] = []
    before = _parse.parse

    def counted(data: bytes) -> object:
        parsed.append(data)
        return before(data)

    _parse.parse = counted  # type: ignore[assignment]
    try:
        start = time.process_time()
        work()
        return Cold(time.process_time() - start, tuple(parsed))
    finally:
        _parse.parse = before


def parse_all(texts: tuple[bytes, ...]) -> float:
    """CPU seconds of libcst's bare parse."""
    start = time.process_time()
    for text in texts:
        try:
            libcst.parse_module(text)
        except libcst.ParserSyntaxError:
            continue
    return time.process_time() - start


def children(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU seconds of a process, and its peak memory in MB."""
    # An installed wheel has its byte code beside it; a checkout where Python may not write any would be measured compiling.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def bandit(folder: Path, home: Path) -> float:
    """CPU seconds of bandit over a folder, each of its rules."""
    place = home / "bandit"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        command = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(HERE / "bandit.txt")]
        subprocess.run([str(python), *command], check=True)
    return children([str(python), "-m", "bandit", "-q", "-r", str(folder)], folder)[0]


def warm(folder: Path, command: str, empty: float) -> None:
    """Print what a process costs above an empty Python: nothing changed, and one file edited."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "pyproject.toml"
        config.write_text("", encoding="utf-8")
        arguments = [sys.executable, "-m", "tools_check", command, "--config", str(config), str(folder)]
        _, peak = children(arguments, folder)
        same = min(children(arguments, folder)[0] for _ in range(3)) - empty
        edits: list[float] = []
        every = files(folder)
        for edited in every[:: max(1, len(every) // EDITED)][:EDITED]:
            text = edited.read_bytes()
            try:
                edited.write_bytes(text + b"\n# edited\n")
                edits.append(children(arguments, folder)[0] - empty)
            finally:
                edited.write_bytes(text)
            children(arguments, folder)
        print(f"{command}, warm: {same * 1000:.0f} ms above an empty Python; one file edited: "
              f"{statistics.median(edits) * 1000:.0f} ms, at most {max(edits) * 1000:.0f} ms of {len(edits)} files; "
              f"peak memory of the cold process: {peak:.0f} MB", flush=True)  # fmt: skip


def measure(folder: Path, home: Path) -> None:
    """Print the figures of one folder."""
    size = sum(path.stat().st_size for path in files(folder))
    print(f"{len(files(folder))} files, {size / 1e6:.1f} MB, Python {sys.version.partition(' ')[0]}", flush=True)
    # Processes first: what a process may have used before it became another program counts as its peak memory.
    empty = min(children([sys.executable, "-c", ""], folder)[0] for _ in range(5))
    warm(folder, "check", empty)
    warm(folder, "inventory", empty)
    theirs = bandit(folder, home)
    options = Options(cache=False, jobs=1)
    works: dict[str, Callable[[], object]] = {
        "check": lambda: check_paths([folder], options),
        "inventory": lambda: take_inventory([folder], options),
    }
    for name, work in works.items():
        run = cold(work)
        bare = parse_all(run.parsed)
        print(f"{name}, cold: {run.seconds:.1f} s; libcst's bare parse of the same {len(run.parsed)} files: {bare:.1f} s, "
              f"ratio {run.seconds / bare:.2f}; bandit: {theirs:.1f} s, ratio {run.seconds / theirs:.2f}")  # fmt: skip


def main() -> None:
    """Print the figures of the corpus, or of the folder that is named."""
    given = sys.argv[1:] if Path(sys.argv[0]).stem == Path(__file__).stem else []
    folder = Path(given[0]).resolve() if given else fetch(KEPT)
    sys.setrecursionlimit(RECURSION)
    threading.stack_size(STACK)
    thread = threading.Thread(target=measure, args=(folder, KEPT))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
