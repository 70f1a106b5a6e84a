"""Every Python file of a folder through parser and lowering: `python -m tests.benchmarks.lower_folder FOLDER...`.

Nothing is skipped for what it does not mention.  A file that takes longer than the bound, or that ends its process, is
told by name and the rest goes on; the exit code is then 1.  A file that the checker refuses is counted, not a crash.

With `--follow` every function of each file is followed too, as if it were a tool's, each file by itself.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, final

from tools_check import _analysis, _catalog
from tools_check._cli import RECURSION, STACK
from tools_check._files import SourceFile, find_files
from tools_check._ir import ModuleIR, unpack
from tools_check._link import Module
from tools_check._run import Run
from tools_check._store import lowered


class Outcome(NamedTuple):
    """What became of one file."""

    path: str
    seconds: float
    refused: str = ""
    crash: str = ""


@final
@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of all files."""

    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, outcome: Outcome) -> None:
        with self.lock:
            self.outcomes.append(outcome)

    @property
    def crashes(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.crash]


def follow(path: str) -> str:
    """Follow every function of a file, and say why it was refused."""
    sources = find_files([Path(path)])
    refused: list[str] = []

    def load(source: SourceFile) -> ModuleIR | None:
        packed, fault = lowered(str(source.path))
        refused.append(fault)
        return None if fault else unpack(packed)

    _analysis.spoken_of = every_function
    _analysis.analyse(sources, sources, load, _catalog.load())
    return refused[0] if refused else ""


def every_function(run: Run, module: Module) -> set[int]:
    del run
    return set(range(len(module.ir.defs)))


def serve(pipe: Connection, work: Callable[[str], str]) -> None:
    """The other process: a path in, what is wrong with it out."""
    threading.stack_size(STACK)
    sys.setrecursionlimit(RECURSION)
    thread = threading.Thread(target=answer, args=(pipe, work), daemon=True)
    thread.start()
    thread.join()


def answer(pipe: Connection, work: Callable[[str], str]) -> None:
    while path := pipe.recv():
        start = time.process_time()
        try:
            refused = work(path)
        except Exception as error:  # noqa: BLE001  (a crash is what is looked for)
            pipe.send((time.process_time() - start, "", f"{type(error).__name__}: {error}"))
        else:
            pipe.send((time.process_time() - start, refused, ""))


def lower(path: str) -> str:
    """Parse and lower a file, and say why it was refused."""
    return lowered(path)[1]


def drive(
    todo: queue.SimpleQueue[str],
    work: Callable[[str], str],
    bound: float,
    until: float,
    tell: Callable[[Outcome], None],
) -> None:
    """Keep one process busy; start another when it is stuck or dead."""
    context = multiprocessing.get_context("spawn")
    while not todo.empty() and time.monotonic() < until:
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, work), daemon=True)
        process.start()
        theirs.close()
        feed(todo, ours, bound, until, tell)
        process.kill()
        process.join()


def feed(
    todo: queue.SimpleQueue[str], pipe: Connection, bound: float, until: float, tell: Callable[[Outcome], None]
) -> None:
    """Send files until none is left or the process is of no use any more."""
    while time.monotonic() < until:
        try:
            path = todo.get_nowait()
        except queue.Empty:
            return
        try:
            pipe.send(path)
            if not pipe.poll(bound):
                tell(Outcome(path, bound, crash=f"longer than {bound:g} s"))
                return
            seconds, refused, crash = pipe.recv()
        except (EOFError, OSError):
            tell(Outcome(path, 0.0, crash="ended its process"))
            return
        tell(Outcome(path, seconds, refused, crash))


def work_all(paths: list[str], work: Callable[[str], str], jobs: int, bound: float, until: float) -> Tally:
    """Work on files in several processes, each file within a bound of seconds, until a monotonic time."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for path in paths:
        todo.put(path)
    tally = Tally()
    drivers = [threading.Thread(target=drive, args=(todo, work, bound, until, tally.add)) for _ in range(jobs)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    return tally


def main() -> int:
    """Print the count, the slowest five, what was refused and what crashed."""
    parser = argparse.ArgumentParser(description="Parse and lower every Python file of some folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--follow", action="store_true", help="follow every function of each file too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="take each n-th file only")
    parser.add_argument("--total", type=float, default=3600.0, help="seconds for all; what is left then is told")
    parser.add_argument("--bound", type=float, default=60.0, help="seconds for one file")
    options = parser.parse_args()
    paths = [str(source.path) for source in find_files(options.folders)][:: options.every]
    work = follow if options.follow else lower
    tally = work_all(paths, work, options.jobs, options.bound, time.monotonic() + options.total)
    refused = [outcome for outcome in tally.outcomes if outcome.refused]
    seconds = sum(outcome.seconds for outcome in tally.outcomes)
    print(f"{len(tally.outcomes)} of {len(paths)} files in {seconds:.1f} CPU s, {len(refused)} refused, "
          f"{len(tally.crashes)} crashed")  # fmt: skip
    for outcome in sorted(tally.outcomes, key=lambda outcome: -outcome.seconds)[:5]:
        print(f"  {outcome.seconds:6.2f} s  {outcome.path}")
    for outcome in refused:
        print(f"  refused  {outcome.path}: {outcome.refused}")
    for outcome in tally.crashes:
        print(f"  CRASH    {outcome.path}: {outcome.crash}")
    return 1 if tally.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
