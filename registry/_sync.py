"""The dispatcher for synchronous runtimes: the same way of a call, on one event loop thread of the process.

A loop of its own for each call would end with the call, and with it a `write` handler that must outlive its caller.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from registry._deployment import Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._nested import in_event_loop
from registry._outcome import Outcome
from registry.errors import CallError

__all__ = ["run_registry_tool_sync"]

log = logging.getLogger("hedgerow")

# How long the end of the process waits for handlers that run on.
DRAIN_S = 5.0


def run_registry_tool_sync(
    deployment: Deployment,
    name: str,
    arguments: Mapping[str, Any],
    *,
    caller: Caller | None = None,
    argument_origins: Iterable[str] = (),
) -> Outcome:
    """Call a tool from synchronous code; arguments and outcome as `run_registry_tool`.

    A handler that runs on after its caller has left is given 5 seconds when the process ends.

    Raises:
        CallError: an event loop runs in this thread; await `run_registry_tool` there.
        KeyboardInterrupt: the caller pressed Ctrl-C; a `read` is stopped, anything else runs on.
    """
    if in_event_loop():
        raise CallError(
            "run_registry_tool_sync: an event loop runs in this thread, and waiting would stop it. Await run_registry_tool."
        )
    coroutine = run_registry_tool(deployment, name, arguments, caller=caller, argument_origins=argument_origins)
    future = asyncio.run_coroutine_threadsafe(coroutine, the_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@cache
def the_loop() -> asyncio.AbstractEventLoop:
    """The loop of the process, in a thread of its own. A process that forks gets a new one."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="hedgerow-loop", daemon=True).start()
    atexit.register(drain, loop, os.getpid())
    return loop


def drain(loop: asyncio.AbstractEventLoop, pid: int) -> None:
    if pid != os.getpid():
        return

    async def rest() -> int:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if not tasks:
            return 0
        _, cut_off = await asyncio.wait(tasks, timeout=DRAIN_S)
        return len(cut_off)

    cut_off = asyncio.run_coroutine_threadsafe(rest(), loop).result(DRAIN_S + 1)
    if cut_off:
        log.warning("The process ends while %d handlers are still running; they are cut off.", cut_off)


os.register_at_fork(after_in_child=the_loop.cache_clear)
