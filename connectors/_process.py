"""The way in for what a program prints. It starts an argument list, never a shell, and leaves no process behind.

One thread owns a process from its start to its end, so that the same code serves coroutines and threads, and so that the
process is looked at, killed as a group and only then reaped: a number that has not been reaped cannot belong to another.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

from connectors._bounds import seconds, time_left
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = [
    "PIECE",
    "POLL_S",
    "Order",
    "Ran",
    "end",
    "end_marked",
    "end_of",
    "has_ended",
    "marked",
    "order_of",
    "run_process",
    "run_process_sync",
]

PIECE: Final = 64 * 1024
# Without the pidfd of Linux, how often the end of a process is looked for.
POLL_S: Final = 0.05
# How often it is looked for processes that fork as fast as they are killed.
LOOKS: Final = 50
STANDARD_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ran:
    """How a process ended, and what it printed."""

    exit_code: int
    """0 to 255; negative is the signal that ended it."""
    stdout: Foreign[bytes]
    """Standard output, whole."""
    stderr: Foreign[bytes]
    """Standard error, whole."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run, checked."""

    argv: tuple[str, ...]
    cwd: Path | None
    env: dict[str, str]
    bound_s: float
    deadline: float
    max_bytes: int
    origin: str | None
    stdin: bytes


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 30.0,
    max_bytes: int = 1_000_000,
    origin: str | None = None,
    stdin: bytes = b"",
) -> Ran:
    """Run a program and return what it printed.

    Its standard input ends after what is given, and its environment is PATH and a UTF-8 locale, without HOME. At the
    deadline, at the byte bound, when this call is cancelled, and when the program has ended, its whole process group is
    killed. A process that left the group (a daemon) is out of reach.

    Args:
        argv: the program, found on the absolute folders of PATH, and its arguments.
        cwd: where it runs; None is where this process runs.
        env: set beside PATH and the locale.
        timeout_s: the longest it may run; the call's own deadline holds as well.
        max_bytes: the most it may print, on each of both streams.
        origin: who chose what it prints; None leaves it to the tool's declaration.
        stdin: what it may read.

    Raises:
        IngressRefused: `argument_refused` (not text, or a NUL in it), `too_large`.
        ToolFailed: it is not installed, did not start, or did not end in time.
    """
    order = ordered(argv, cwd, env, timeout_s, max_bytes, origin, stdin)
    wake_read, wake_write = os.pipe()
    running = asyncio.ensure_future(asyncio.to_thread(run, order, wake_read))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        os.write(wake_write, b"x")
        # The thread needs a moment to kill the group. Whoever cancelled must find nothing running afterwards, so a second
        # cancellation does not cut this short; the first one is raised below.
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        running.exception()
        raise
    finally:
        os.close(wake_read)
        os.close(wake_write)


def run_process_sync(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
    timeout_s: float = 30.0,
    max_bytes: int = 1_000_000,
    origin: str | None = None,
    stdin: bytes = b"",
) -> Ran:
    """The same, for a thread: it blocks until the program has ended."""
    return run(ordered(argv, cwd, env, timeout_s, max_bytes, origin, stdin), None)


def order_of(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float) -> Order:
    """What is to be run, checked, for one who runs it otherwise than here.

    Raises:
        IngressRefused: `argument_refused`.
        ToolFailed: it is not installed.
    """
    return ordered(argv, cwd, env, timeout_s, 0, None, b"")


def ordered(
    argv: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str],
    timeout_s: float,
    max_bytes: int,
    origin: str | None,
    stdin: bytes,
) -> Order:
    if isinstance(argv, str) or not argv:
        raise IngressRefused(
            "argument_refused", "The command is not a list of arguments. Write one, the program first."
        )
    for number, argument in enumerate(argv):
        check_argument(number, argument)
    # A relative folder on PATH would find a program in the folder that is looked at.
    folders = os.environ.get("PATH", STANDARD_PATH).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    program = shutil.which(argv[0], path=path)
    if program is None:
        # tools-check: ignore[foreign-error] -- the deployment names the program: no input fills it, no third party names one
        raise ToolFailed(f"The program {Path(argv[0]).name!r} is not installed on this machine.")
    bound_s = time_left(timeout_s)
    return Order(
        argv=(program, *argv[1:]),
        cwd=cwd,
        env={"PATH": path, "LC_ALL": "C.UTF-8", **env},
        bound_s=bound_s,
        deadline=time.monotonic() + bound_s,
        max_bytes=max_bytes,
        origin=origin,
        stdin=stdin,
    )


def check_argument(number: int, argument: object) -> None:
    try:
        if isinstance(argument, str) and b"\0" not in os.fsencode(argument):
            return
    except UnicodeEncodeError:
        pass
    raise IngressRefused(
        "argument_refused", f"Argument {number} of the command is not text without a NUL character. Write plain text."
    )


def run(order: Order, wake: int | None) -> Ran:
    """Own one process from its start to its end."""
    if wake is not None and select.select([wake], [], [], 0)[0]:
        raise ToolFailed("The call was given up before the program was started.")
    try:
        with readable(order.stdin) as stdin:
            process = subprocess.Popen(
                order.argv,
                cwd=order.cwd,
                env=order.env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except OSError as error:
        # The number's own text, not the exception's: that one holds the arguments.
        raise ToolFailed(f"The program did not start: {os.strerror(error.errno or 0)}.") from None
    try:
        out, err = collect(process, order, wake)
    finally:
        end(process)
    return Ran(
        exit_code=process.returncode,
        stdout=Foreign(out, order.origin),
        stderr=Foreign(err, order.origin),
    )


@contextmanager
def readable(content: bytes) -> Generator[int]:
    """A descriptor that gives the content and then ends: a file without a name, so that nobody has to feed a pipe."""
    if not content:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group and reap. Killing comes first: until it is reaped, the number is taken."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def end_marked(mark: bytes) -> None:
    """Kill every process that was started with this in its environment, and its children, whatever group they are in by now.

    A process that was forked before it was seen is found by the next look, so the looks go on until one finds nothing. Where
    there is no /proc nothing is found; nor is a process whose parent has ended and which took the mark out of its
    environment.
    """
    for _ in range(LOOKS):
        found = marked(mark)
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def marked(mark: bytes) -> set[int]:
    """The processes that were started with this variable in their environment, and all that descend from them.

    Some programs write over their environment (Chromium does), so a child is known by its parent too.
    """
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            state, parent, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if state in (b"Z", b"X"):
                continue  # it has ended, and waits for its parent to look
            parents[int(entry.name)] = int(parent)
            if mark + b"\0" in (entry / "environ").read_bytes():
                found.add(int(entry.name))
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def collect(process: subprocess.Popen[bytes], order: Order, wake: int | None) -> tuple[bytes, bytes]:
    """Read both streams until the program itself has ended; what it left running is not waited for."""
    assert process.stdout is not None
    assert process.stderr is not None
    streams = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as selector, end_of(process.pid) as ended:
        for fd in streams:
            os.set_blocking(fd, False)
        for fd in (*streams, *ended, *(() if wake is None else (wake,))):
            selector.register(fd, selectors.EVENT_READ)
        while not has_ended(process.pid):
            ready = wait(selector, order, POLL_S if not ended else order.bound_s)
            if wake in ready:
                raise ToolFailed("The call was given up, and the program was stopped.")
            for fd in ready & streams.keys():
                if not take(fd, streams[fd], order.max_bytes):
                    selector.unregister(fd)
    for fd, taken in streams.items():
        while take(fd, taken, order.max_bytes):
            pass
    out, err = streams.values()
    return bytes(out), bytes(err)


def wait(selector: selectors.BaseSelector, order: Order, longest_s: float) -> set[int]:
    left = order.deadline - time.monotonic()
    if left <= 0:
        raise ToolFailed(f"The program did not end within {seconds(order.bound_s)} and was stopped.")
    return {int(key.fd) for key, _ in selector.select(min(left, longest_s))}


def take(fd: int, taken: bytearray, max_bytes: int) -> bool:
    """Read one piece; false when there is no more for now, or at all."""
    try:
        data = os.read(fd, PIECE)
    except BlockingIOError:
        return False
    taken += data
    if len(taken) > max_bytes:
        raise IngressRefused(
            "too_large",
            f"The program printed more than {max_bytes} bytes, which is the most that is read. Ask for a smaller part.",
        )
    return bool(data)


def has_ended(pid: int) -> bool:
    """Whether the program has ended, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@contextmanager
def end_of(pid: int) -> Generator[tuple[int, ...]]:
    """A descriptor that becomes readable when the program ends; none where the system has no such thing."""
    if not hasattr(os, "pidfd_open"):
        yield ()
        return
    fd = os.pidfd_open(pid)
    try:
        yield (fd,)
    finally:
        os.close(fd)
