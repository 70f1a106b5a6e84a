"""Serving until somebody says that it is enough: what is running ends, within a bound, and nothing new begins.

The order at SIGTERM: not ready any more; for `lame_duck_s` everything is served as before, so that a load balancer can see
that; no new connections; requests in flight are answered; handlers that outlived their caller end; then the rest is cut off.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable

from registry.surfaces._ending import drain, stopped_by_signals
from registry.surfaces._uvicorn import WebServer, configured, listener
from registry.surfaces.http import HttpSurface

__all__ = ["serve"]

log = logging.getLogger("hedgerow.http")


async def serve(
    surface: HttpSurface,
    *,
    host: str,
    port: int,
    head_timeout_s: float,
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
        head_timeout_s: for how many seconds the head of a request may be on its way.
        lame_duck_s: for how long it is served on after it is not ready any more.
        drain_s: how long what is running may take to end.
        max_connections: how many clients may be connected.
        started: called with the address and the port when it listens.

    Raises:
        OSError: the address cannot be had.
    """
    listening = listener(host, port)
    config = configured(surface, head_timeout_s=head_timeout_s, drain_s=drain_s, max_connections=max_connections)
    server = WebServer(config)
    loop = asyncio.get_running_loop()

    def leave() -> None:
        log.info("Asked to end: not ready any more; %d handlers are running.", surface.admission.in_use)
        surface.is_draining = True
        loop.call_later(lame_duck_s, server.stop)

    def hurry() -> None:
        server.should_exit = server.force_exit = True

    # What is there now is there to the end: the collector of garbage need not look through it between calls.
    gc.freeze()
    with stopped_by_signals(leave, again=hurry):
        started(*listening.getsockname()[:2])
        await server.serve(sockets=[listening])
        return await drain(surface.admission, 0 if server.force_exit else drain_s) == 0
