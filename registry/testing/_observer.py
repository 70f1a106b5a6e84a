"""Watches what a tool opens while it runs: files, sockets, processes, databases. For tests, never for production.

A tool that declares `False` says that its answer is its own words; one that reads a file or asks a server on the way has
something to explain. The observer stands on Python's audit hooks and changes nothing: a hook of it never raises. While it
watches, `Thread.start` and `ThreadPoolExecutor.submit` are wrapped to remember which tool they work for, and then do as ever.

What it cannot see: reads by C code that raises no audit event (most database drivers and HTTP clients in C or Rust), a file
or socket that was open before the tool ran, what a child process does, environment variables, a thread of the tool's own
that takes its work from a queue or was started through `_thread` (its events are `unattributed`), and what happens after the
handler has returned. What it does not report on purpose: imports, files of Python and of installed packages, the reading of
source lines for a traceback, and opening a file for writing alone. A report is a question and not a verdict.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, TypeAlias, TypeVar, final
from weakref import WeakKeyDictionary

from registry._call import CURRENT, Call

__all__ = ["Ingress", "Observed", "observe_ingress"]

Arguments: TypeAlias = "tuple[Any, ...]"
T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ingress:
    """Something that was opened."""

    tool: str | None
    """The tool that was running there; None where that is not known."""
    declared_own: bool
    """Whether the tool declares `untrusted_output=False`."""
    event: str
    """The audit event of Python, such as `open` or `socket.connect`."""
    subject: str
    """What was opened: a path, an address, a command line. It may hold foreign text; it is for a test's reader."""
    where: str
    """The innermost line outside of Python and of installed packages, as `file:line`; empty where there is none."""

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"{self.tool or 'some tool'}: {self.event} {self.subject}{place}"


@final
class Observed:
    """What has been seen so far. Threads add to it."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: list[Ingress] = []

    @property
    def seen(self) -> tuple[Ingress, ...]:
        """Everything that a running tool opened."""
        return tuple(found for found in self._seen if found.tool is not None)

    @property
    def undeclared(self) -> tuple[Ingress, ...]:
        """What tools opened that declare `False`."""
        return tuple(found for found in self._seen if found.declared_own)

    @property
    def unattributed(self) -> tuple[Ingress, ...]:
        """What was opened where no tool was known to run: by the test itself, or by a pool that a tool uses."""
        return tuple(found for found in self._seen if found.tool is None)

    def add(self, found: Ingress) -> None:
        """Remember something that was opened."""
        self._seen.append(found)


@contextmanager
def observe_ingress() -> Generator[Observed]:
    """Watch what tools open while the block runs, in every thread. Nested and parallel observers each see everything."""
    install()
    observed = Observed()
    with LOCK:
        OBSERVERS.append(observed)
        follow_threads()
    try:
        yield observed
    finally:
        with LOCK:
            OBSERVERS.remove(observed)
            follow_threads()


# -- the hook ------------------------------------------------------------------------------------------------------

OBSERVERS: Final[list[Observed]] = []
LOCK: Final = threading.Lock()


@functools.cache
def install() -> None:
    """Add the hook. Python cannot take one away again, so it is added once, at the first use; idle, it is one comparison."""
    sys.addaudithook(hook)


def hook(event: str, arguments: Arguments) -> None:
    # For every event of the process, so the way out for those that nobody watches comes first.
    if not OBSERVERS:
        return
    try:
        if event in WATCHED:
            subject = WATCHED[event](arguments)
            if subject is not None:
                notice(event, subject)
    except Exception:  # noqa: BLE001, S110  # raised from an audit hook, it would stop what is watched
        pass


def notice(event: str, subject: str) -> None:
    frame = sys._getframe(2)
    if is_machinery(frame):
        return
    call = running_call()
    tool = None if call is None else call.tool
    found = Ingress(
        tool=None if tool is None else tool.name,
        declared_own=tool is not None and tool.untrusted_output is False,
        event=event,
        subject=subject,
        where=innermost(frame),
    )
    for observer in tuple(OBSERVERS):
        observer.add(found)


def running_call() -> Call | None:
    """The call that runs here: by the context, which the dispatcher's threads share, or by who gave this thread its work."""
    call = CURRENT.get()
    if call is None:
        call = getattr(WORKS_FOR, "call", None)
    if call is None:
        # Not `current_thread()`, which would make a thread object where there is none yet.
        active: Mapping[int, threading.Thread] = getattr(threading, "_active", {})
        thread = active.get(threading.get_ident())
        call = None if thread is None else STARTED_BY.get(thread)
    # A pool's thread lives on; what it does later is not this tool's.
    return None if call is None or call.ended else call


# -- threads -------------------------------------------------------------------------------------------------------

# A plain thread does not inherit the context that says which tool runs, and a pool's thread has that of its first task.
STARTED_BY: Final[WeakKeyDictionary[threading.Thread, Call]] = WeakKeyDictionary()
WORKS_FOR: Final = threading.local()

start_thread: Final = threading.Thread.start
submit: Final = ThreadPoolExecutor.submit


def follow_threads() -> None:
    """Put the wrappers on for the first observer, and take them off with the last."""
    watching = bool(OBSERVERS)
    setattr(threading.Thread, "start", start_remembered if watching else start_thread)  # noqa: B010
    setattr(ThreadPoolExecutor, "submit", submit_remembered if watching else submit)  # noqa: B010


def start_remembered(thread: threading.Thread) -> None:
    call = running_call()
    if call is not None:
        STARTED_BY[thread] = call
    start_thread(thread)


def submit_remembered(pool: ThreadPoolExecutor, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
    call = running_call()
    work = function if call is None else functools.partial(working_for, call, function)
    return submit(pool, work, *args, **kwargs)


def working_for(call: Call, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    before = getattr(WORKS_FOR, "call", None)
    WORKS_FOR.call = call
    try:
        return function(*args, **kwargs)
    finally:
        WORKS_FOR.call = before


# -- what is watched -----------------------------------------------------------------------------------------------


def shown(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes) else str(value)


def first(arguments: Arguments) -> str:
    return shown(arguments[0]) if arguments else ""


def second(arguments: Arguments) -> str:
    return shown(arguments[1])


def host(arguments: Arguments) -> str:
    return ":".join(shown(part) for part in arguments[:2])


def command(arguments: Arguments) -> str:
    """The command line of `subprocess.Popen`: its second argument is a list or a string."""
    line = arguments[1]
    return shown(line) if isinstance(line, str | bytes) else " ".join(map(shown, line))


def read_path(arguments: Arguments) -> str | None:
    """The path of a file that is opened for reading; None for one that is written alone, and for files of Python."""
    path, mode, flags = arguments[0], arguments[1], arguments[2]
    if not isinstance(path, str | bytes):
        return None  # a descriptor that is open already
    if isinstance(mode, str):
        reads = "r" in mode or "+" in mode
    else:
        reads = not isinstance(flags, int) or flags & os.O_ACCMODE != os.O_WRONLY
    return foreign_path(path) if reads else None


def listed_path(arguments: Arguments) -> str | None:
    path: object = arguments[0] if arguments else None
    return foreign_path("." if path is None else path) if not isinstance(path, int) else str(path)


def foreign_path(path: object) -> str | None:
    # What an audit event hands over has been through `os.fspath` already, or is text or bytes.
    name = shown(path)
    if name == os.devnull or name.endswith(".pyc") or os.path.abspath(name).startswith(INSTALLED):  # noqa: PTH100
        return None
    return name


INSTALLED: Final = tuple(
    {
        os.path.join(folder, "")  # noqa: PTH118  # `pathlib` in a hook would be watched itself
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
        for folder in [sysconfig.get_path(key)]
        if folder
    }
)
# Python's own modules that read files for itself.
MACHINERY: Final = ("<frozen importlib", "<frozen zipimport")
SOURCE_READERS: Final = (f"{os.sep}linecache.py", f"{os.sep}traceback.py", f"{os.sep}importlib{os.sep}metadata")

WATCHED: Final[Mapping[str, Callable[[Arguments], str | None]]] = {
    "open": read_path,
    "os.listdir": listed_path,
    "os.scandir": listed_path,
    "mmap.__new__": first,
    "socket.connect": second,
    "socket.bind": second,
    "socket.sendto": second,
    "socket.sendmsg": second,
    "socket.getaddrinfo": host,
    "socket.gethostbyname": first,
    "socket.gethostbyaddr": first,
    "socket.getnameinfo": first,
    "subprocess.Popen": command,
    "os.system": first,
    "os.exec": first,
    "os.posix_spawn": first,
    "os.spawn": second,
    "os.fork": lambda _: "",
    "os.forkpty": lambda _: "",
    "pty.spawn": first,
    "os.startfile": first,
    "sqlite3.connect": first,
    "urllib.Request": first,
    "http.client.connect": lambda arguments: host(arguments[1:]),
    "ftplib.connect": lambda arguments: host(arguments[1:]),
    "imaplib.open": lambda arguments: host(arguments[1:]),
    "poplib.connect": lambda arguments: host(arguments[1:]),
    "smtplib.connect": lambda arguments: host(arguments[1:]),
    "webbrowser.open": first,
    "ctypes.dlopen": first,
}


def is_machinery(frame: FrameType | None) -> bool:
    """Whether an import, or the reading of source lines for a traceback, is what opens something here."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(MACHINERY) or any(part in name for part in SOURCE_READERS):
            return True
        frame = frame.f_back
    return False


OURS: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")  # noqa: PTH100, PTH118, PTH120


def innermost(frame: FrameType | None) -> str:
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*INSTALLED, OURS, "<frozen")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
