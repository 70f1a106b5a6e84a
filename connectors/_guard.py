"""A proxy on loopback that is the browser's only way to the network. It judges every address at the moment it connects to it.

The browser resolves no name and opens no connection but to this proxy, so that what it loads for a page - redirects, frames,
scripts, sockets, prefetched and hidden requests - is held to the same rules as a fetch. It reads no encrypted byte, and one
connection carries one request: a second one could be meant for another host than the one that was judged.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Final, final

from connectors._network import NetworkRules, check_host, checked_addresses
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Guard"]

HEAD_BYTES: Final = 64 * 1024
PIECE: Final = 64 * 1024
MAX_CONNECTIONS: Final = 128

REQUEST: Final = re.compile(r"([A-Z]{1,20}) (\S{1,16000}) HTTP/1\.1\Z")
AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[^\[\]:/?#@\s]{1,255})(?::([0-9]{1,5}))?\Z")
# They are between the browser and this proxy.
DROPPED: Final = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade"}
)


class Refused(Exception):  # private signal; the connection is answered with its status
    """A request is not carried out."""

    def __init__(self, status: str) -> None:
        self.status = status


@final
class Guard:
    """The proxy. What it counts, it counts since `begin`."""

    def __init__(self, rules: NetworkRules, max_bytes: int) -> None:
        self.rules = rules
        self.max_bytes = max_bytes
        self.left = max_bytes
        self.refused: set[tuple[str, int]] = set()
        self.refusals = 0
        self.cuts = 0
        self.server: asyncio.Server | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Begin to count anew, for the next thing that the browser is told to do."""
        self.left = self.max_bytes
        self.refused.clear()
        self.refusals = self.cuts = 0

    async def start(self) -> int:
        """Listen on a free port of loopback, and return it."""
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0, limit=HEAD_BYTES)
        port: int = self.server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            # Whatever ends a connection ends it for both sides; the browser says what that means for its page.
            with suppress(OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError, ValueError):
                await self.serve(reader, writer)
        finally:
            self.tasks.discard(task)
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self.tasks) > MAX_CONNECTIONS:
                raise Refused("503 Service Unavailable")
            async with asyncio.timeout(self.rules.timeout_s):
                request = Request((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
                onward = await self.connect(request)
        except TimeoutError:
            await answer(writer, "504 Gateway Timeout")
            return
        except Refused as refused:
            await answer(writer, refused.status)
            return
        try:
            await self.carry(request, (reader, writer), onward)
        finally:
            onward[1].close()

    async def connect(self, request: Request) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Judge the host's addresses, and connect to one that was judged."""
        try:
            check_host(request.host, request.port, hop=1)
            addresses = await checked_addresses(request.host, request.port, rules=self.rules, hop=1)
        except IngressRefused:
            self.refused.add((request.host, request.port))
            self.refusals += 1
            raise Refused("403 Forbidden") from None
        except ToolFailed:
            raise Refused("502 Bad Gateway") from None
        for address in addresses:
            with suppress(OSError):
                return await asyncio.open_connection(address, request.port)
        raise Refused("502 Bad Gateway")

    async def carry(
        self,
        request: Request,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        if request.is_tunnel:
            near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upward = asyncio.ensure_future(self.pipe(near[0], far[1], None))
        else:
            far[1].write(request.onward())
            # No more than this request's own body: what follows would go to this host although it may name another.
            upward = asyncio.ensure_future(self.pipe(near[0], far[1], request.length))
        try:
            await self.pipe(far[0], near[1], None)
        finally:
            upward.cancel()
            await asyncio.gather(upward, return_exceptions=True)

    async def pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None) -> None:
        while length is None or length > 0:
            piece = await reader.read(PIECE if length is None else min(PIECE, length))
            self.left -= len(piece)
            if self.left < 0:
                self.cuts += bool(piece)
                return
            if not piece:
                return
            length = None if length is None else length - len(piece)
            writer.write(piece)
            await writer.drain()


@final
class Request:
    """The head of what the browser asks this proxy for.

    Raises:
        Refused: it is not one that a browser sends to a proxy.
    """

    def __init__(self, head: str) -> None:
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        found = REQUEST.match(first)
        if found is None:
            raise Refused("400 Bad Request")
        self.method, target = found[1], found[2]
        self.is_tunnel = self.method == "CONNECT"
        scheme, _, rest = ("", "", target) if self.is_tunnel else target.partition("://")
        authority, slash, path = rest.partition("/")
        parts = AUTHORITY.match(authority)
        if parts is None or scheme not in ("", "http"):
            raise Refused("400 Bad Request")
        self.host = parts[1].strip("[]").lower()
        self.port = int(parts[2] or 80)
        self.path = slash + path or "/"
        self.authority = authority
        self.headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        named = {name.lower(): value for name, value in self.headers}
        length = named.get("content-length", "0")
        if "transfer-encoding" in named or not (length.isascii() and length.isdigit() and len(length) < 16):
            raise Refused("411 Length Required")
        self.length = int(length)

    def onward(self) -> bytes:
        """The head as the server gets it. The host is the one that was judged, whatever a header says."""
        kept = [(n, v) for n, v in self.headers if n.lower() not in DROPPED and n.lower() != "host"]
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {self.authority}"]
        lines += [f"{name}: {value}" for name, value in kept]
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


async def answer(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode("ascii"))
    await writer.drain()
