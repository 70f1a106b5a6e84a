"""The socket that a server listens on, for HTTP and for the Model Context Protocol alike."""

from __future__ import annotations

import socket

__all__ = ["listener"]

BACKLOG = 2048


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
