"""The standard streams as a transport of the Model Context Protocol, with the bounds that the protocol's SDK leaves out.

A line is at most so long: a longer one is not kept in memory, and the request in it is answered with an error. The end of
the input is held back until every request that was read has its answer, for at most so many seconds.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, cast, final

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from registry.surfaces._ending import stopped_by_signals

__all__ = ["Incoming", "Outgoing", "bounded_stdio"]

# Of a line that is too long, this much is looked at on both ends, for the id of its request.
EDGE: Final = 512
CHUNK: Final = 65_536

# Exact for a JSON object: a member before which only these come is its own, and so is one that its last brace follows.
ID: Final = rb'"id"\s*:\s*(?P<id>-?\d{1,18}|"[^"\\\x00-\x1f]{1,128}")\s*'
AT_START: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]{1,128}"\s*,\s*)?' + ID + rb","
)
AT_END: Final = re.compile(rb"[,{]\s*" + ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@final
class Lines:
    """The lines of a file descriptor. A line that is too long comes out as a `TooLong`."""

    def __init__(self, fd: int, max_bytes: int) -> None:
        self.fd = fd
        self.max_bytes = max_bytes
        self.buffer = bytearray()

    def read(self) -> bytes | TooLong:
        """Wait for the next line and return it; b"" is the end of the input."""
        looked_at = 0
        while (end := self.buffer.find(b"\n", looked_at)) < 0:
            looked_at = len(self.buffer)
            if looked_at > self.max_bytes:
                return self.skip()
            if not self.more():
                return self.take(looked_at)
        return TooLong.of(self.take(end + 1)) if end > self.max_bytes else self.take(end + 1)

    def skip(self) -> TooLong:
        """Read to the end of the line, and keep both of its ends alone."""
        start = bytes(self.buffer[:EDGE])
        while (end := self.buffer.find(b"\n")) < 0:
            del self.buffer[:-EDGE]
            if not self.more():
                return TooLong(request_id(start, self.take(len(self.buffer))))
        return TooLong(request_id(start, self.take(end + 1)[-EDGE:]))

    def more(self) -> bool:
        try:
            chunk = os.read(self.fd, CHUNK)
        except OSError:  # a terminal that has gone; nothing more will come
            return False
        self.buffer += chunk
        return bool(chunk)

    def take(self, size: int) -> bytes:
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken


@final
class TooLong:
    """What is left of a line that was too long: the id of its request, if it says one at either end."""

    def __init__(self, id: types.RequestId | None) -> None:  # noqa: A002  # the protocol's name
        self.id = id

    @classmethod
    def of(cls, line: bytes) -> TooLong:
        return cls(request_id(line[:EDGE], line[-EDGE:]))


def request_id(start: bytes, end: bytes) -> types.RequestId | None:
    found = AT_START.match(start) or AT_END.search(end)
    if found is None:
        return None
    text = found["id"].decode("utf-8", "replace")
    return text[1:-1] if text.startswith('"') else int(text)


# -- the streams that the server sees ------------------------------------------------------------------------------


@final
class Pending:
    """The requests that were read and are not answered yet."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.changed = anyio.Event()

    def came(self, message: object) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self.ids.add(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            # It gets no answer.
            self.settled((message.params or {}).get("requestId"))

    def settled(self, request_id: object) -> None:
        self.ids.discard(str(request_id))
        self.changed.set()

    async def wait(self, most_s: float) -> None:
        with anyio.move_on_after(most_s):
            while self.ids:
                self.changed = anyio.Event()
                await self.changed.wait()


@final
class Incoming:
    """A read stream that holds its end back until what it has given out is answered."""

    def __init__(self, inner: Any, pending: Pending, drain_s: float) -> None:
        self.inner = inner
        self.pending = pending
        self.drain_s = drain_s

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self.inner.receive()
        except anyio.EndOfStream:
            await self.pending.wait(self.drain_s)
            raise
        if isinstance(item, SessionMessage):
            self.pending.came(item.message)
        return item

    async def aclose(self) -> None:
        await self.inner.aclose()

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@final
class Outgoing:
    """A write stream that notes which requests have their answer."""

    def __init__(self, inner: Any, pending: Pending) -> None:
        self.inner = inner
        self.pending = pending

    async def send(self, item: SessionMessage) -> None:
        await self.inner.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self.pending.settled(item.message.id)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def bounded_stdio(*, max_message_bytes: int, drain_s: float) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Serve on standard input and output; meanwhile a handler that prints or reads there reaches neither.

    Args:
        max_message_bytes: the longest line that is read.
        drain_s: for how many seconds the end of the input waits for answers.
    """
    with private_input() as fd:
        source = Source(Lines(fd, max_message_bytes))
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", source)) as (read, write):
            source.refuse = Refusal(write, max_message_bytes)
            pending = Pending()
            with stopped_by_signals(source.stop), printed_elsewhere():
                yield Incoming(read, pending, drain_s), Outgoing(write, pending)


@contextmanager
def printed_elsewhere() -> Generator[None]:
    """Send what handlers print to standard error at once.

    The SDK moves the file descriptor alone. What stands in Python's own buffer would be written when the process ends, and
    then the descriptor is the protocol's again.
    """
    usual = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        with suppress(OSError, ValueError):
            usual.flush()


@final
class Refusal:
    """Answers a request that was too long to be read."""

    def __init__(self, write: Any, max_bytes: int) -> None:
        self.write = write
        self.text = f"The message is longer than the {max_bytes} bytes that this server reads. It was not read."

    async def __call__(self, line: TooLong) -> None:
        error = types.ErrorData(code=types.INVALID_REQUEST, message=self.text)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=line.id, error=error)))


@final
class Source:
    """The lines as the SDK iterates over them: those that are short enough.

    A thread of its own reads them, since waiting for input cannot be called off. It is a daemon, so that it does not hold up
    the end of the process, and it reads the bare descriptor: a buffered file that a daemon holds is fatal at that end.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.loop = asyncio.get_running_loop()
        self.asked: SimpleQueue[asyncio.Future[bytes | TooLong]] = SimpleQueue()
        self.waiting: asyncio.Future[bytes | TooLong] | None = None
        self.is_stopped = False
        self.refuse: Refusal | None = None
        threading.Thread(target=self.answer, name="hedgerow-stdin", daemon=True).start()

    def answer(self) -> None:
        while True:
            future = self.asked.get()
            line = self.lines.read()
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self.loop.call_soon_threadsafe(deliver, future, line)

    def stop(self) -> None:
        """Read no more, as if the input had ended."""
        self.is_stopped = True
        if self.waiting is not None:
            deliver(self.waiting, b"")

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> str:
        while not self.is_stopped:
            self.waiting = self.loop.create_future()
            self.asked.put(self.waiting)
            line = await self.waiting
            if isinstance(line, TooLong):
                if self.refuse is not None:
                    await self.refuse(line)
                continue
            if not line:
                break
            return line.decode("utf-8", "replace")
        raise StopAsyncIteration


def deliver(future: asyncio.Future[bytes | TooLong], line: bytes | TooLong) -> None:
    if not future.done():
        future.set_result(line)


@contextmanager
def private_input() -> Generator[int]:
    """Take standard input for the protocol alone: handlers and child processes see an empty one."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield private
    finally:
        # The private one stays open: a thread may still wait on it, and would read from whatever took its number.
        os.dup2(private, 0)
