"""How a server ends: a signal asks it to, and what still runs is waited for, at most so many seconds."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from registry._admission import Admission

__all__ = ["drain", "stopped_by_signals"]

log = logging.getLogger("hedgerow")

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S: Final = 0.05


@contextmanager
def stopped_by_signals(stop: Callable[[], None], *, again: Callable[[], None] | None = None) -> Generator[None]:
    """Let SIGTERM and SIGINT ask for the end. A second one calls `again`: whoever asks twice is in a hurry. Without it, it
    ends the process at once, as it would have."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def asked() -> None:
        if again is None:
            restore()
        else:
            listen(again)
        stop()

    def listen(to: Callable[[], None]) -> None:
        for number in SIGNALS:
            loop.add_signal_handler(number, to)

    def restore() -> None:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

    listen(asked)
    try:
        yield
    finally:
        restore()


async def drain(admission: Admission, most_s: float) -> int:
    """Wait until no handler runs, at most so many seconds; return how many still do. A `write` that outlived its caller is
    worth waiting for.

    It looks again and again: places are given back by threads too, which cannot set an event of this loop at no cost to
    every call.
    """
    end = asyncio.get_running_loop().time() + most_s
    while admission.in_use and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110  # see above
        await asyncio.sleep(LOOK_EVERY_S)
    if admission.in_use:
        log.warning("The process ends while %d handlers are still running; they are cut off.", admission.in_use)
    return admission.in_use
