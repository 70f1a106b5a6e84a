"""The life of programs that run on after the call that started them: bounded in number, time and output, and ended with us.

What may run is what the deployment wrote down, argument by argument; a call chooses one by its name and adds nothing. What a
program prints is foreign, and the newest of it is kept.
"""

from __future__ import annotations

import atexit
import codecs
import os
import re
import secrets
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self, TypeAlias, cast, final

from connectors._process import PIECE, POLL_S, Order, end, end_marked, end_of, has_ended, order_of
from registry import Foreign
from registry.errors import DeclarationError, IngressRefused, ToolFailed

__all__ = ["Programs", "Run", "Seen", "State"]

State: TypeAlias = Literal["running", "ended", "stopped", "took too long", "printed too much"]
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}\Z")
STOP_S: Final = 5.0
MARK: Final = "HEDGEROW_RUN"


@final
class Seen:
    """What is known of a run at one moment."""

    def __init__(self, run: Run) -> None:
        with run.lock:
            self.state: State = run.state
            self.exit_code = run.exit_code
            self.total = run.total
            self.kept = len(run.kept)
            # A character may be cut at the beginning by the bound, and at the end by the moment.
            self.text = Foreign(decoded(bytes(run.kept), is_whole=run.state != "running"))


def decoded(content: bytes, *, is_whole: bool) -> str:
    """As UTF-8, bytes that are not as lone surrogates; the beginning of a character that is still coming is left out."""
    return codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(content, is_whole)


@final
class Run:
    """One program, and the thread that owns it from its start to its end."""

    def __init__(self, number: int, order: Order, max_kept: int, max_total: int) -> None:
        self.number = number
        self.order = order
        self.max_kept = max_kept
        self.max_total = max_total
        self.lock = threading.Lock()
        self.kept = bytearray()
        self.total = 0
        self.state: State = "running"
        self.exit_code: int | None = None
        self.wake_read, self.wake_write = os.pipe()
        self.thread = threading.Thread(target=self.own, name=f"hedgerow-run-{number}", daemon=True)

    def start(self) -> None:
        """Start the program.

        Raises:
            ToolFailed: it did not start.
        """
        try:
            self.process = subprocess.Popen(
                self.order.argv,
                cwd=self.order.cwd,
                env=self.order.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self.wake_read)
            os.close(self.wake_write)
            # The number's own text, not the exception's: that one holds the arguments.
            raise ToolFailed(f"The program did not start: {os.strerror(error.errno or 0)}.") from None
        self.thread.start()

    def stop(self) -> None:
        """End the program with all it started, and wait until it is gone."""
        with self.lock:
            if self.state == "running":
                os.write(self.wake_write, b"x")
        self.thread.join(STOP_S)

    def own(self) -> None:
        """Read until the program has ended or must end, then kill its group and reap it."""
        process = self.process
        state: State = "stopped"
        try:
            state = self.watch(process)
        finally:
            # First by the mark, since what left the group, as a daemon does, is the child of what is killed next.
            end_marked(f"{MARK}={self.order.env[MARK]}".encode())
            end(process)
            with self.lock:
                self.state = state
                self.exit_code = process.returncode
                os.close(self.wake_write)
            os.close(self.wake_read)

    def watch(self, process: subprocess.Popen[bytes]) -> State:
        assert process.stdout is not None
        out = process.stdout.fileno()
        os.set_blocking(out, False)
        with selectors.DefaultSelector() as selector, end_of(process.pid) as ended:
            for fd in (out, self.wake_read, *ended):
                selector.register(fd, selectors.EVENT_READ)
            while not has_ended(process.pid):
                left = self.order.deadline - time.monotonic()
                if left <= 0:
                    return "took too long"
                ready = {key.fd for key, _ in selector.select(left if ended else min(left, POLL_S))}
                if self.wake_read in ready:
                    return "stopped"
                if out in ready and not self.take(out):
                    selector.unregister(out)
                if self.total > self.max_total:
                    return "printed too much"
        while self.take(out):
            if self.total > self.max_total:
                return "printed too much"
        return "ended"

    def take(self, fd: int) -> bool:
        """Read one piece; false when there is no more for now, or at all."""
        try:
            data = os.read(fd, PIECE)
        except BlockingIOError:
            return False
        with self.lock:
            self.total += len(data)
            self.kept += data
            del self.kept[: -self.max_kept]
        return bool(data)


@final
class Programs:
    """The programs that a model may start, and those that run.

    Use it as a context, or call `close`; the end of the process ends them too.

    Args:
        commands: by name, the program and its arguments; nothing is added to them, and no shell reads them.
        folder: where they run.
        env: set beside PATH and a UTF-8 locale.
        max_runs: how many may run at once; as many again are remembered after their end.
        max_kept: how many bytes of a run's output are kept, the newest ones.
        max_total: how many bytes a run may print before it is ended.
        max_s: how long a run may take before it is ended.

    Raises:
        DeclarationError: an argument is not what it must be.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        *,
        folder: Path,
        env: Mapping[str, str] = MappingProxyType({}),
        max_runs: int = 4,
        max_kept: int = 1_000_000,
        max_total: int = 100_000_000,
        max_s: float = 3600.0,
    ) -> None:
        if not commands:
            raise DeclarationError("Programs: commands is empty. Write {'tests': ['make', 'test']}.")
        for name, argv in commands.items():
            check_command(name, argv)
        if not isinstance(cast("object", folder), Path) or not folder.is_dir():
            raise DeclarationError("Programs: folder is not the Path of a folder. Write Path(...) of one that exists.")
        for name, value in (
            ("max_runs", max_runs), ("max_kept", max_kept), ("max_total", max_total), ("max_s", max_s),
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(cast("object", value), int | float) or not value > 0:
                raise DeclarationError(f"Programs: {name} is not a number above 0. Write one.")
        self.commands = {name: tuple(argv) for name, argv in commands.items()}
        self.folder = folder
        self.env = dict(env)
        self.max_runs = max_runs
        self.max_kept = max_kept
        self.max_total = max_total
        self.max_s = max_s
        self.lock = threading.Lock()
        self.runs: dict[int, Run] = {}
        self.last_number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every program that runs."""
        atexit.unregister(self.close)
        with self.lock:
            runs = list(self.runs.values())
        for run in runs:
            run.stop()

    def start(self, name: str) -> int:
        """Start a program, and return the number of its run.

        Raises:
            IngressRefused: codes `no_program`, `too_many_runs`.
            ToolFailed: it is not installed, or did not start.
        """
        if name not in self.commands:
            raise IngressRefused("no_program", f"There is no program of that name. Write one of: {self.names()}.")
        order = order_of(self.commands[name], cwd=self.folder, env=self.env, timeout_s=self.max_s)
        # Not the call's deadline, which has no say here: the run goes on after the call.
        # And a mark that no other process has, by which all that it starts is found again.
        marked = {**order.env, MARK: secrets.token_hex(16)}
        order = replace(order, deadline=time.monotonic() + self.max_s, env=marked)
        with self.lock:
            if sum(run.state == "running" for run in self.runs.values()) >= self.max_runs:
                raise IngressRefused(
                    "too_many_runs", f"{self.max_runs} programs are running, which is the most. Stop one first."
                )
            ended = [number for number, other in self.runs.items() if other.state != "running"]
            for number in ended[: -self.max_runs]:
                del self.runs[number]
            self.last_number += 1
            run = Run(self.last_number, order, self.max_kept, self.max_total)
            run.start()
            self.runs[run.number] = run
        atexit.register(self.close)
        return run.number

    def names(self) -> str:
        return ", ".join(sorted(self.commands))

    def look(self, number: int) -> Seen:
        """What is known of a run.

        Raises:
            IngressRefused: code `no_run`.
        """
        return Seen(self.run(number))

    def wait(self, number: int, timeout_s: float) -> bool:
        """Block until a run is over, and say whether it is.

        Raises:
            IngressRefused: code `no_run`.
        """
        thread = self.run(number).thread
        thread.join(timeout_s)
        return not thread.is_alive()

    def stop(self, number: int) -> None:
        """End a run with all it started; one that has ended stays as it is.

        Raises:
            IngressRefused: code `no_run`.
        """
        self.run(number).stop()

    def run(self, number: int) -> Run:
        with self.lock:
            if number not in self.runs:
                raise IngressRefused("no_run", "There is no run of that number. Start a program with start_program.")
            return self.runs[number]


def check_command(name: str, argv: object) -> None:
    if not isinstance(cast("object", name), str) or not NAME.match(name):
        raise DeclarationError(
            "Programs: a name is not a word of at most 40 letters, digits, '_' and '-'. Write one such as 'tests'."
        )
    is_list = isinstance(argv, Sequence) and not isinstance(argv, str | bytes)
    arguments = cast("Sequence[object]", argv) if is_list else ()
    if not arguments or not all(isinstance(argument, str) and "\0" not in argument for argument in arguments):
        raise DeclarationError(
            f"Programs: command {name!r} is not a list of texts. Write ['make', 'test'], no shell line."
        )
