"""The checker against a bare parse, as ratios in one process: `python -m tests.benchmarks.bench_checker FOLDER`.

The cold figure is the CPU time of a whole check without a cache, divided by that of `libcst.parse_module` over the same
files; the warm one is a second run with the cache, as its own process, above an empty Python.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import libcst

from tools_check._check import Options, check_paths


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.stat().st_size < 1_000_000)


def parse_all(paths: list[Path]) -> float:
    """CPU seconds of the bare parse."""
    start = time.process_time()
    for path in paths:
        try:
            libcst.parse_module(path.read_bytes())
        except libcst.ParserSyntaxError:
            continue
    return time.process_time() - start


def check_all(folder: Path) -> tuple[float, int]:
    """CPU seconds of a cold check, and how many files it parsed."""
    start = time.process_time()
    report = check_paths([folder], Options(cache=False, jobs=1))
    return time.process_time() - start, report.parsed


def process_seconds(arguments: list[str], folder: Path) -> float:
    """CPU seconds of a process."""
    # An installed wheel has its byte code beside it; a checkout where Python may not write any would be measured compiling.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def warm(folder: Path) -> tuple[float, float]:
    """CPU seconds above an empty Python: nothing changed, and one file edited."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "pyproject.toml"
        config.write_text("", encoding="utf-8")
        command = ["-m", "tools_check", "check", "--config", str(config), "--format", "concise", str(folder)]
        empty = min(process_seconds(["-c", ""], folder) for _ in range(3))
        process_seconds(command, folder)
        same = min(process_seconds(command, folder) for _ in range(3)) - empty
        edited = files(folder)[0]
        text = edited.read_bytes()
        try:
            edited.write_bytes(text + b"\n")
            changed = process_seconds(command, folder) - empty
        finally:
            edited.write_bytes(text)
    return same, changed


def main() -> None:
    """Print the figures of one folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(libcst.__file__).parent
    paths = files(folder)
    size = sum(path.stat().st_size for path in paths)
    bare = parse_all(paths)
    cold, parsed = check_all(folder)
    same, changed = warm(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(paths)} files, {size / 1e6:.2f} MB")
    print(f"cold: {cold / bare:.2f} x a bare libcst parse of all files ({parsed} of {len(paths)} files were parsed)")
    print(f"warm: {same * 1000:.0f} ms CPU above an empty Python, one file edited: {changed * 1000:.0f} ms")
    print(f"peak memory of this process: {peak:.0f} MB")


if __name__ == "__main__":
    sys.setrecursionlimit(12_000)
    threading.stack_size(512 * 1024 * 1024)
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
