"""uvicorn as both servers over HTTP use it: a socket that listens, a bound on heads that do not come, and signals left to us.

What it answers by itself (a request that is no HTTP, one connection too many) is in plain text of its own.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast, final

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"A server over HTTP needs {missing.name}. Write: pip install 'hedgerow[http]'", name=missing.name
    ) from missing

__all__ = ["WebServer", "configured", "listener"]

BACKLOG: Final = 2048
# The largest head of a request. A token, an id and a trace need far less.
HEAD_BYTES: Final = 16_384
KEEP_ALIVE_S: Final = 5


def listener(host: str, port: int) -> socket.socket:
    """Listen here and not in uvicorn, which would end the process in its own words when it cannot.

    Whoever connects from now on is served as soon as somebody accepts, so the address may be told.

    Args:
        host: an address of this machine.
        port: the port; 0 is a free one.

    Raises:
        OSError: the port is taken, or the host is none of this machine.
    """
    made = socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
    )
    # asyncio does it for a socket that it makes itself, and not for connections of this one. Without it an answer in two
    # pieces, a head and a body, waits for the acknowledgement of the first: 40 ms for each call.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def configured(
    app: Any, *, head_timeout_s: float, drain_s: float, max_connections: int | None = None
) -> uvicorn.Config:
    """Configure a server without a log of its own, and with every bound.

    Args:
        app: what is served, an ASGI application.
        head_timeout_s: for how many seconds the head of a request may be on its way, the first from the connection on.
        drain_s: for how many seconds requests in flight are waited for at the end.
        max_connections: how many clients may be connected; None sets no bound.
    """

    @final
    class BoundedHead(H11Protocol):
        """Closes a connection on which the head of a request does not come in time. uvicorn waits for ever, and a few
        clients that send a byte a minute would hold every connection there may be."""

        head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self.watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self.unwatch()
            super().connection_lost(exc)

        def watch_head(self) -> None:
            """From the first byte of a head to its last there is a timer; idle connections have uvicorn's own."""
            # None before the first request, whatever uvicorn says.
            cycle = cast("RequestResponseCycle | None", self.cycle)
            if cycle is not None and not cycle.response_complete:
                self.unwatch()
            elif self.head_timer is None and self.timeout_keep_alive_task is None:
                self.head_timer = self.loop.call_later(head_timeout_s, self.transport.close)

        def unwatch(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

    return uvicorn.Config(
        app,
        http=BoundedHead,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=max_connections,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(drain_s)),
        h11_max_incomplete_event_size=HEAD_BYTES,
    )


@final
class WebServer(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise the signal again at its end, before what still runs was waited
    for."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave them alone."""
        yield

    def stop(self) -> None:
        """Answer what is in flight, and end."""
        self.should_exit = True
