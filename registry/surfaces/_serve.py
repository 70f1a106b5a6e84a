"""Serving until somebody says that it is enough: what is running ends, within a bound, and nothing new begins.

The order at SIGTERM: not ready any more; for `lame_duck_s` everything is served as before, so that a load balancer can see
that; no new connections; requests in flight are answered; handlers that outlived their caller end; then the rest is cut off.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import final

from registry._admission import Admission
from registry.surfaces._listener import listener
from registry.surfaces.http import HttpSurface

try:
    import uvicorn
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"hedgerow serve needs {missing.name!r}: pip install 'hedgerow[http]'", name=missing.name
    ) from missing

__all__ = ["serve"]

log = logging.getLogger("hedgerow.http")

# The largest head of a request. A token, an id and a trace need far less.
HEAD_BYTES = 16_384
KEEP_ALIVE_S = 5


@final
class Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise the signal again after a clean end."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(
    surface: HttpSurface,
    *,
    host: str,
    port: int,
    lame_duck_s: float,
    drain_s: float,
    max_connections: int,
    started: Callable[[str, int], None],
) -> bool:
    """Serve until SIGTERM or SIGINT; return whether everything had ended when the time was up.

    Args:
        surface: what is served.
        host: the address to listen on.
        port: the port; 0 is a free one.
        lame_duck_s: for how long it is served on after it is not ready any more.
        drain_s: how long what is running may take to end.
        max_connections: how many clients may be connected.
        started: called with the address and the port when it listens.

    Raises:
        OSError: the address cannot be had.
    """
    listening = listener(host, port)
    config = uvicorn.Config(
        surface,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=max_connections,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(drain_s)),
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    server = Server(config)
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True

    def leave() -> None:
        if surface.is_draining:
            # Asked twice: whoever asks is in a hurry.
            server.should_exit = server.force_exit = True
            return
        log.info("Asked to end: not ready any more; %d handlers are running.", surface.admission.in_use)
        surface.is_draining = True
        loop.call_later(lame_duck_s, end)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    # What is there now is there to the end: the collector of garbage need not look through it between calls.
    gc.freeze()
    try:
        started(*listening.getsockname()[:2])
        await server.serve(sockets=[listening])
        return await drained(surface.admission, 0 if server.force_exit else drain_s)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def drained(admission: Admission, within_s: float) -> bool:
    """Wait until every place is free, at most so long: a `write` that outlived its caller is worth waiting for."""
    until = time.monotonic() + within_s
    while admission.in_use and time.monotonic() < until:  # noqa: ASYNC110
        # Places are given back by threads too, which cannot set an event of this loop at no cost to every call.
        await asyncio.sleep(0.05)
    if admission.in_use:
        log.warning("The process ends while %d handlers are still running; they are cut off.", admission.in_use)
    return admission.in_use == 0
