"""Calling a tool from a handler: through the same dispatcher, on the same terms as the call that it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from registry._call import current_call
from registry._dispatch import dispatch
from registry._outcome import Answered
from registry._reply import MixedReply
from registry.errors import CallError, ToolCallError

__all__ = ["call_tool", "call_tool_sync"]

# How long a thread waits beyond the deadline for an event loop that has stopped turning.
GRACE_S = 1.0


async def call_tool(name: str, arguments: Mapping[str, Any], *, argument_origins: Iterable[str] = ()) -> MixedReply:
    """Call another tool from a handler, and return its reply with the origins on its foreign parts.

    It has the caller's permissions, deadline, audit and size bounds. It takes a free place, else it runs on the place of
    the calling handler, one nested call at a time. Name the tool in `ToolDef.dispatches`.

    Args:
        name: the tool's name.
        arguments: its arguments.
        argument_origins: who chose them, beyond what the running call already knows.

    Raises:
        ToolCallError: it ended in something other than an answer.
        CallError: no handler is running here, or it has ended.
    """
    call = current_call().nested(argument_origins)
    done = await dispatch(call, name, arguments)
    if isinstance(done.outcome, Answered) and done.reply is not None:
        return done.reply
    if isinstance(done.outcome, Answered):
        raise CallError("call_tool: the answer came without its reply.")
    raise ToolCallError(done.outcome)


def call_tool_sync(name: str, arguments: Mapping[str, Any], *, argument_origins: Iterable[str] = ()) -> MixedReply:
    """Call another tool from a handler that runs in a thread; otherwise as `call_tool`.

    Raises:
        ToolCallError: it ended in something other than an answer.
        CallError: this is an event loop, or no handler is running here, or it has ended, or its event loop has.
    """
    if in_event_loop():
        raise CallError(
            "call_tool_sync: an event loop runs in this thread, and waiting would stop it. Await call_tool."
        )
    call = current_call()
    coroutine = call_tool(name, arguments, argument_origins=argument_origins)
    try:
        if call.loop is None or call.loop.is_closed():
            raise CallError("call_tool_sync: the event loop that this call runs on has ended.")
        future = asyncio.run_coroutine_threadsafe(coroutine, call.loop)
    except BaseException:
        coroutine.close()
        raise
    try:
        return future.result(call.remaining_s + GRACE_S)
    except TimeoutError:
        future.cancel()
        raise CallError("call_tool_sync: the event loop that this call runs on no longer turns.") from None


def in_event_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
