"""A peer that is reached over HTTP: the HTTP client that the protocol's SDK is given, under the rules of every fetch.

It must never connect to an address that was not judged, and it reads no more of one answer than the limits say. The SDK
brings a client library of its own, so the way in of `_fetch` is repeated for that library and for nothing else.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast, final

import httpcore2
import httpx2
from anyio.abc import SocketStream
from httpcore2._backends.anyio import AnyIOStream
from mcp.client.streamable_http import streamable_http_client

from connectors._fetch import checked_url, public_tls
from connectors._mcp_peer import HttpPeer, Limits
from connectors._mcp_watch import Read, Watch, Write
from connectors._network import NetworkRules, checked_addresses

__all__ = ["web"]

# A server that ends each stream at once and asks us to come back would be asked for ever.
MAX_GETS: Final = 20
GETS_IN_S: Final = 60.0
GRACE_S: Final = 1.0


@asynccontextmanager
async def web(peer: HttpPeer, secret_headers: Mapping[str, str], watch: Watch) -> AsyncGenerator[tuple[Read, Write]]:
    """Hand out the streams of a peer's one address.

    Raises:
        IngressRefused: the address is refused by its spelling; one that is refused where it is connected to ends the streams.
    """
    checked_url(peer.url, hop=0)
    timeout = httpx2.Timeout(peer.limits.timeout_s, connect=peer.rules.timeout_s)
    async with (
        httpx2.AsyncClient(
            # Bytes as they are: what unfolds on the way could not be counted before it is held.
            headers={"Accept-Encoding": "identity", "User-Agent": "hedgerow", **secret_headers},
            transport=Guarded(peer.rules, peer.limits, watch),
            timeout=timeout,
            trust_env=False,
            follow_redirects=False,
        ) as client,
        streamable_http_client(peer.url, http_client=client, max_sse_event_size=peer.limits.max_message_bytes) as (
            read,
            write,
        ),
    ):
        yield Read(read, watch), Write(write, watch)


@final
class Guarded(httpx2.AsyncBaseTransport):
    """Sends requests over connections that were judged, and counts what comes back."""

    def __init__(self, rules: NetworkRules, limits: Limits, watch: Watch) -> None:
        self.limits = limits
        self.watch = watch
        self.gets: list[float] = []
        self.inner = httpx2.AsyncHTTPTransport(verify=rules.tls or public_tls(), trust_env=False, retries=0)
        # The library has no way to say how connections are made; this attribute is what all of its requests go through.
        self.inner._pool = httpcore2.AsyncConnectionPool(
            ssl_context=rules.tls or public_tls(), network_backend=CheckedBackend(rules), http2=False, retries=0
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            now = time.monotonic()
            self.gets = [*[at for at in self.gets if now - at < GETS_IN_S][-MAX_GETS:], now]
            if len(self.gets) > MAX_GETS:
                raise httpx2.ReadError("too many streams", request=request)
        if request.method == "DELETE":
            # A courtesy at the end, for which nobody waits.
            async with asyncio.timeout(GRACE_S):
                return await self.inner.handle_async_request(request)
        try:
            answer = await self.inner.handle_async_request(request)
        except httpx2.TransportError:
            if request.method == "POST":  # without one of the others a connection lives on
                self.watch.leave("The connection to the peer failed.")
            raise
        if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
            await answer.aclose()
            self.watch.leave("The peer's answer is compressed, although that was declined.")
            raise httpx2.ReadError("compressed", request=request)
        body = cast("httpx2.AsyncByteStream", answer.stream)
        if answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
            # Of a stream each event is bounded by the SDK, and how many there are, by the watch. What is no event (a comment)
            # nobody else counts.
            answer.stream = Streamed(body, self.watch)
        else:
            answer.stream = Counted(body, self.limits.max_message_bytes, self.watch)
        return answer

    async def aclose(self) -> None:
        await self.inner.aclose()


@final
class Counted(httpx2.AsyncByteStream):
    """A body that ends with an error where it is too long."""

    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int, watch: Watch) -> None:
        self.inner = inner
        self.left = max_bytes
        self.watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.inner:
            self.left -= len(piece)
            if self.left < 0:
                self.watch.leave("The peer's answer is longer than what is read of one, and was not read.")
                raise httpx2.ReadError("too long")
            yield piece

    async def aclose(self) -> None:
        await self.inner.aclose()


@final
class Streamed(httpx2.AsyncByteStream):
    """A stream that ends with an error where more has come than anybody asked for."""

    def __init__(self, inner: httpx2.AsyncByteStream, watch: Watch) -> None:
        self.inner = inner
        self.watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.inner:
            if self.watch.took(len(piece)):
                raise httpx2.ReadError("too much")
            yield piece

    async def aclose(self) -> None:
        await self.inner.aclose()


@final
class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were judged in the same step, as that of `_fetch` does."""

    def __init__(self, rules: NetworkRules) -> None:
        self.rules = rules

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2's signature
        local_address: str | None = None,  # noqa: ARG002  # none is set; httpcore2 names it
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002  # none are set; httpcore2 names it
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await checked_addresses(host, port, rules=self.rules, hop=0)
        for address in addresses[:-1]:
            try:
                return await connected(address, port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await connected(addresses[-1], port, timeout)


async def connected(address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:  # noqa: ASYNC109
    """Connect to one address.

    Not by the library's own backend: `anyio.connect_tcp` starts a task even for one address, and leaves a coroutine that was
    never awaited where a loop ends in the middle of it.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
        return AnyIOStream(await SocketStream.from_socket(sock))
    except TimeoutError:
        failure: Exception = httpcore2.ConnectTimeout()
    except OSError:
        failure = httpcore2.ConnectError()
    except BaseException:
        sock.close()
        raise
    sock.close()
    raise failure
