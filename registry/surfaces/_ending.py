"""How a server ends: a signal asks it to, and what still runs is waited for, at most so many seconds."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from registry._deployment import Deployment

__all__ = ["drain", "stopped_by_signals"]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S: Final = 0.05


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Generator[None]:
    """Let SIGTERM and SIGINT ask for the end; a second one ends the process at once, as it would have."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def asked() -> None:
        restore()
        stop()

    def restore() -> None:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

    for number in SIGNALS:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        restore()


async def drain(deployment: Deployment, most_s: float) -> int:
    """Wait until no handler runs, at most so many seconds; return how many still do.

    It looks again and again, for a place is given back by whatever thread the work ends in.
    """
    end = asyncio.get_running_loop().time() + most_s
    while deployment.admission.in_use and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110  # see above
        await asyncio.sleep(LOOK_EVERY_S)
    return deployment.admission.in_use
