"""Runs a driver that blocks in a thread, and ends it at the deadline and when the caller leaves. No thread is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")

# Between two calls of `stop`: the first may come before the driver has begun, and then it ends nothing.
AGAIN_S: Final = 0.02


async def in_thread(work: Callable[[], T], *, stop: Callable[[], None], bound_s: float) -> T:
    """Run work in a thread and return what it returns.

    Args:
        work: what blocks.
        stop: ends it from another thread, soon; it is called until the work has ended, so it may come too early.
        bound_s: the longest that the work may take.

    Raises:
        TimeoutError: it took longer, and has been stopped.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        async with asyncio.timeout(bound_s):
            return await asyncio.shield(running)
    finally:
        await ended(running, stop)


async def ended(running: asyncio.Future[T], stop: Callable[[], None]) -> None:
    """Stop work and wait until it has ended: whoever gave up must find nothing running afterwards."""
    is_cancelled = False
    while not running.done():
        stop()
        try:
            await asyncio.wait([running], timeout=AGAIN_S)
        except asyncio.CancelledError:
            is_cancelled = True  # it does not cut the waiting short, and leaves when the work has ended
    if not running.cancelled():
        running.exception()
    if is_cancelled:
        raise asyncio.CancelledError
