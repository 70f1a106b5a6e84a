"""The running call, as its handler can see it: how much time is left, and a way to call another tool."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, final

from registry._admission import Slot
from registry._deployment import Caller, Deployment, Permitted
from registry._foreign import join_origins
from registry._tooldef import AnyTool
from registry.errors import CallError

__all__ = ["Call", "current_call", "remaining_s"]


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One call of a tool, from its arguments to its outcome. A nested call inherits what is decided in the first block."""

    deployment: Deployment
    caller: Caller | None
    argument_origins: tuple[str, ...]
    deadline: float
    """On the clock of `time.monotonic`, which unlike an event loop's is the same in every thread."""
    parent: Call | None = None
    permitted: Permitted | None = None

    tool: AnyTool | None = None
    declared: str | Literal[False] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    slot: Slot | None = None
    settled: asyncio.Future[None] | None = None
    """Done when the work is, or when the deadline has passed."""
    started: bool = False
    # Each flag is written by one thread alone; a handler may be in either place, and in both one after the other.
    on_loop: bool = False
    in_thread: bool = False

    @property
    def remaining_s(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @property
    def parent_slot(self) -> Slot | None:
        """The place of the handler that makes this call; None for a call from outside."""
        return self.parent.slot if self.parent is not None else None

    @property
    def ended(self) -> bool:
        """Whether the handler has ended; after that it can call nothing more."""
        return not (self.on_loop or self.in_thread)

    def nested(self, argument_origins: Iterable[str]) -> Call:
        """A call that this call's handler makes: same permissions, deadline and audit, and at least the same origins."""
        return Call(
            deployment=self.deployment,
            caller=self.caller,
            argument_origins=join_origins(self.argument_origins, argument_origins),
            deadline=self.deadline,
            parent=self,
            permitted=self.permitted,
        )


CURRENT: ContextVar[Call | None] = ContextVar("hedgerow_call", default=None)


def current_call() -> Call:
    """Return the call that is running here.

    Raises:
        CallError: there is none, or its handler has ended.
    """
    call = CURRENT.get()
    if call is None:
        raise CallError(
            "call_tool: no tool is running here. A handler may call it; from outside use run_registry_tool(deployment, ...)."
        )
    if call.ended:
        raise CallError(
            "call_tool: the handler that started this has ended. Await what it starts before it returns, since its "
            "permissions, its deadline and its place end with it."
        )
    return call


def remaining_s() -> float:
    """Return the seconds that are left for the running call, so that a handler can bound a wait of its own.

    It is 0.0 once the deadline has passed, and `math.inf` where no tool is running, so that `min(30, remaining_s())` is
    right everywhere.
    """
    call = CURRENT.get()
    return math.inf if call is None else call.remaining_s
