"""What is looked at of every message of a peer, on either transport, before the protocol's SDK sees it.

Answers pass. Notices do not: their text is a peer's, and nothing here reads it; that the tools have changed is noted as a
fact. A peer that does nothing but talk is left.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, final

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from connectors._mcp_peer import Limits

__all__ = ["Read", "Watch", "Write"]

# Pings of a connection that is kept are requests too.
MAX_REQUESTS: Final = 100
MAX_SAID: Final = 2_000
# How many messages of the greatest length may come until something is asked again: several answers may be on their way.
MAX_MESSAGES: Final = 16
TOO_MUCH: Final = "The peer sent too many messages that nobody had asked for, and was left."


@final
class Watch:
    """What is known of one connection."""

    def __init__(self, limits: Limits, ended: Callable[[], None]) -> None:
        self.limits = limits
        self.ended = ended
        self.reason: str | None = None
        """Why we left, in a sentence of ours; None while we have not."""
        self.is_stale = False
        """Whether the peer said that its tools have changed."""
        self.said = bytearray()
        """The end of what a program wrote to standard error."""
        self.since_asked = 0
        self.requests = 0
        self.bytes = 0

    def leave(self, reason: str) -> None:
        """Give the connection up, and note why; the first reason stays."""
        self.reason = self.reason or reason
        self.ended()

    def note_error(self, data: bytes) -> None:
        self.said += data
        del self.said[:-MAX_SAID]

    def asked(self) -> None:
        self.since_asked = self.requests = self.bytes = 0

    def took(self, size: int) -> bool:
        """Count what has come, messages or not, and say whether the peer was left for it."""
        self.bytes += size
        if self.is_too_much:
            self.leave(TOO_MUCH)
        return self.is_too_much

    def passes(self, message: types.JSONRPCMessage) -> bool:
        """Whether the SDK gets to see a message."""
        self.since_asked += 1
        if isinstance(message, types.JSONRPCNotification):
            self.is_stale = self.is_stale or message.method == "notifications/tools/list_changed"
            return False
        if isinstance(message, types.JSONRPCRequest):
            # For a model, for the user, for our folders: the SDK declines each, since nothing here offers any of it.
            self.requests += 1
            return not self.is_too_much
        return True

    @property
    def is_too_much(self) -> bool:
        return (
            self.since_asked > self.limits.max_chatter
            or self.requests > MAX_REQUESTS
            or self.bytes > MAX_MESSAGES * self.limits.max_message_bytes
        )


@final
class Read:
    """A read stream that shows the SDK what passes, and ends when it is too much."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self.inner = inner
        self.watch = watch

    @property
    def last_context(self) -> Any:
        return getattr(self.inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self.inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self.watch.ended()
                raise
            if isinstance(item, SessionMessage) and self.watch.passes(item.message):
                return item
            if self.watch.is_too_much:
                break
        self.watch.leave(TOO_MUCH)
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        await self.inner.aclose()

    def __aiter__(self) -> Read:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Read:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@final
class Write:
    """A write stream that notes that something was asked."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self.inner = inner
        self.watch = watch

    async def send(self, item: SessionMessage) -> None:
        if isinstance(item.message, types.JSONRPCRequest):
            self.watch.asked()
        await self.inner.send(item)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> Write:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
