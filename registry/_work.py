"""Running a handler: in a task of its own, or in a thread, holding its place until it has really ended.

Nothing that a handler raises leaves as an exception; it comes back as a value, so that a `SystemExit` cannot end an event
loop and a `StopIteration` cannot hang one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast, final

from registry._admission import Slot
from registry._call import CURRENT, Call
from registry._foreign import class_name, is_origin
from registry._raised import in_words, trace_below
from registry._tooldef import AnyTool, ToolInput
from registry.errors import ToolFailed

__all__ = ["Ended", "Work", "abandon", "first_of", "log_failure", "start"]

log = logging.getLogger("hedgerow")


@final
@dataclass(slots=True, eq=False)
class Ended:
    """What a handler ended in: a value, or what it raised."""

    returned: object = None
    error: BaseException | None = None


Work: TypeAlias = "asyncio.Task[Ended]"


@final
class OriginUnknown(Exception):
    """The origin callable of a tool raised, or did not return a string with a letter or digit in it."""


def start(call: Call, tool: AnyTool, request: ToolInput, slot: Slot) -> Work:
    """Start a handler in a task of its own, which owns the place: a caller that leaves must not free it."""
    call.loop = asyncio.get_running_loop()
    call.slot = slot
    call.settled = call.loop.create_future()
    return new_task(run(call, tool, request, slot, call.settled), call.loop)


if sys.version_info >= (3, 12):

    def new_task(work: Any, loop: asyncio.AbstractEventLoop) -> Work:
        # Eager: a handler that never waits is done when this returns, and costs no turn of the loop.
        return asyncio.Task(work, loop=loop, eager_start=True)
else:

    def new_task(work: Any, loop: asyncio.AbstractEventLoop) -> Work:
        return asyncio.Task(work, loop=loop)


async def run(call: Call, tool: AnyTool, request: ToolInput, slot: Slot, settled: asyncio.Future[None]) -> Ended:
    CURRENT.set(call)
    call.started = call.on_loop = True
    try:
        # Before the handler: a tool whose answer could not be labelled must not have changed anything.
        call.declared = declared_for(tool, request)
        if tool.is_async:
            ended = Ended(await cast("Awaitable[object]", tool.handler(request)))
        else:
            ended = await in_thread(call, partial(tool.handler, request), slot)
        # A lambda around a coroutine function, or an `await` that its author forgot.
        while type(ended.returned) is not str and inspect.isawaitable(ended.returned):
            ended = Ended(await ended.returned)
        return ended
    except asyncio.CancelledError:
        raise
    except KeyboardInterrupt as error:
        if is_ctrl_c():
            raise
        return Ended(None, error)
    except BaseException as error:  # noqa: BLE001  # the edge: a handler may raise anything at all
        return Ended(None, error)
    finally:
        call.on_loop = False
        slot.let_go()
        # From here and not from a callback of the task, which would come a turn of the loop later.
        if not settled.done():
            settled.set_result(None)


def in_thread(call: Call, function: Callable[[], object], slot: Slot) -> Awaitable[Ended]:
    """Run a function in a thread, which holds the place too: a thread cannot be stopped, so it keeps it until it ends."""
    slot.hold()
    call.in_thread = True
    future = call.deployment.admission.threads.submit(copy_context().run, caught, function)

    def ended(_: Future[Ended]) -> None:
        call.in_thread = False
        slot.let_go()

    # Before `wrap_future`, so that the place is free when the loop hears that the thread is done.
    future.add_done_callback(ended)
    return asyncio.wrap_future(future)


def caught(function: Callable[[], object]) -> Ended:
    try:
        return Ended(function())
    except BaseException as error:  # noqa: BLE001  # the edge: a handler may raise anything at all
        return Ended(None, error)


def declared_for(tool: AnyTool, request: ToolInput) -> Any:
    declared = tool.untrusted_output
    if not callable(declared):
        return declared
    try:
        origin = declared(request)
    except Exception as error:
        raise OriginUnknown(f"untrusted_output of tool {tool.name!r} raised {class_name(error)}") from error
    if not is_origin(origin):
        raise OriginUnknown(f"untrusted_output of tool {tool.name!r} returned no string with a letter or digit in it")
    return origin


def is_ctrl_c() -> bool:
    """Whether a KeyboardInterrupt that surfaced here is the user's: `asyncio.run` takes Ctrl-C in another way."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


async def first_of(call: Call, work: Work, wait_s: float) -> None:
    """Wait until the work is done or so many seconds have passed, whichever is first. It never cancels the work."""
    settled = call.settled
    if work.done() or settled is None or settled.done():
        return
    timer = settled.get_loop().call_later(wait_s, expire, settled)
    try:
        await settled
    finally:
        timer.cancel()


def expire(settled: asyncio.Future[None]) -> None:
    if not settled.done():
        settled.set_result(None)


def abandon(call: Call, work: Work, tool: AnyTool) -> None:
    """Leave work that nobody waits for: a `read` is stopped, anything else runs on. Either keeps its place until it ends."""
    running = call.deployment.admission.running
    running.add(work)
    work.add_done_callback(running.discard)
    work.add_done_callback(partial(log_late, tool.name))
    if tool.effect == "read":
        work.cancel()
    if not call.started and work.cancelling() and call.slot is not None:
        # A task that is cancelled before its first step never enters its body, so nothing in there gives the place back.
        call.slot.let_go()


def log_late(name: str, work: Work) -> None:
    if work.cancelled() or work.exception() is not None:
        return
    error = work.result().error
    if error is not None:
        log_failure(name, error, " after its caller had left")


def log_failure(name: str, error: BaseException | None, when: str = "") -> None:
    """Tell the log, from the first frame that is not the dispatcher's own.

    A `ToolFailed` is how a handler says that the other side did not do its part. It is one line, and what it was raised in
    is there for whoever looks at the level DEBUG; its foreign detail is in neither.
    """
    if isinstance(error, ToolFailed):
        # The words may echo an argument, so they are quoted: no line of the log is of anybody else's making.
        log.warning("Tool %r failed%s (%s): %r", name, when, in_words(error), error.words)
        log.debug("Tool %r failed in this way.", name, exc_info=below(error))
    elif isinstance(error, OriginUnknown):
        log.error("Tool %r failed%s: %s.", name, when, error, exc_info=below(error.__cause__))
    else:
        log.error("Tool %r failed%s.", name, when, exc_info=below(error))


def below(error: BaseException | None) -> Any:
    """The exception for a record of the log, without the dispatcher's own frames."""
    return None if error is None else (type(error), error, trace_below(error))
