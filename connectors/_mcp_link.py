"""One peer, asked: a connection for each event loop, kept while it is used, and every answer of it as `Foreign`.

What goes wrong is told in words of ours: a peer's own come as the fenced detail, and text of an exception never.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, Final, Protocol, TypeVar, cast, final
from weakref import WeakKeyDictionary, WeakSet

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from connectors._bounds import seconds, time_left
from connectors._manifest_fill import Filler
from connectors._mcp_peer import HttpPeer, Peer, Secrets, StdioPeer
from connectors._mcp_pins import Differences, Pin, compared
from connectors._mcp_pipe import TOO_LONG, UNREADABLE, pipe
from connectors._mcp_watch import Read, Watch, Write
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Link", "ModelT", "Send"]

ModelT = TypeVar("ModelT", bound=BaseModel)
ModelT_co = TypeVar("ModelT_co", bound=BaseModel, covariant=True)

MAX_PAGES: Final = 100
# A list of tools, all pages together, may have as much as so many messages.
LIST_SHARE: Final = 2
MAX_ERROR_CHARS: Final = 4_000
US: Final = types.Implementation(name="hedgerow", version=version("hedgerow"))
DOUBT: Final = " The call may have been carried out all the same."

OPEN: WeakSet[Connection] = WeakSet()


class Send(Protocol[ModelT_co]):
    """Asks one thing over a session. The SDK's own `call_tool` is none: it runs a peer's patterns over a peer's answer."""

    async def __call__(self, session: ClientSession, /) -> ModelT_co | types.InputRequiredResult: ...


def list_from(cursor: str | None) -> Send[types.ListToolsResult]:
    async def send(session: ClientSession, /) -> types.ListToolsResult:
        return await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))

    return send


@final
class Link:
    """The way to one peer. It connects when it is first asked, and again after a connection has ended.

    Raises:
        ImportError: the peer is one over HTTP, and the extra for that is not installed; says the line that installs it.
    """

    def __init__(self, peer: Peer, secrets: Secrets) -> None:
        if isinstance(peer, HttpPeer):
            # Here, so that a missing extra is told where the tools are made. Peers that are programs do not need it.
            import connectors._mcp_web as _  # noqa: F401
        self.peer = peer
        # One for all connections: what one was given must not be shown by what another one says, nor after its end.
        self.filler = Filler({}, secrets)
        self.connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()

    @property
    def origin(self) -> str:
        return f"mcp:{self.peer.name}"

    async def ask(self, send: Send[ModelT], origin: str, *, doubt: bool) -> Foreign[ModelT]:
        """Send one request and return what the peer answers.

        Args:
            send: asks, over a session of the SDK.
            origin: who chose the answer.
            doubt: whether a failure leaves open that something was done.

        Raises:
            IngressRefused: the address is refused; or `input_required`: the peer asks something back.
            ToolFailed: anything else; what the peer said about it is the detail.
        """
        connection = self.connected()
        # What may change something is not broken off with the call that asks for it: half a change is worse than one that the
        # dispatcher reports as still running.
        bound_s = self.peer.limits.timeout_s if doubt else time_left(self.peer.limits.timeout_s)
        more = DOUBT if doubt else ""
        failure: Exception
        connection.in_flight += 1
        try:
            async with asyncio.timeout(bound_s):
                session = await connection.session()
                answer = await send(session)
        except TimeoutError:
            connection.is_slow = True
            failure = ToolFailed(f"The peer did not answer within {seconds(bound_s)}.{more}")
        except MCPError as error:
            failure = connection.told(error, origin, more)
        except (IngressRefused, ToolFailed) as error:
            failure = error
        except Exception as error:  # noqa: BLE001  # the SDK raises what it likes at an answer that is none; its text is foreign
            failure = ToolFailed(f"The peer's answer is none that the protocol has ({type(error).__name__}).{more}")
        else:
            if not isinstance(answer, types.InputRequiredResult):
                return Foreign(answer, origin)
            failure = IngressRefused(
                "input_required",
                "The peer asks for something before it answers: a model's words, the user's, or a list of folders. None of "
                "these is given to a peer.",
            )
        finally:
            connection.let_go()
        # Outside of `except`: inside, it would carry the peer's text as its context.
        raise failure

    def connected(self) -> Connection:
        """The connection of this event loop, a new one if there is none that lives."""
        loop = asyncio.get_running_loop()
        found = self.connections.get(loop)
        if found is None or found.is_over:
            found = self.connections[loop] = Connection(self, loop)
        return found

    async def end(self) -> None:
        """End the connection of this event loop, and wait until it has ended."""
        found = self.connections.get(asyncio.get_running_loop())
        if found is not None:
            found.close()
            await asyncio.wait([found.task])

    def hide(self, text: str) -> str:
        """Take the secrets that this peer was given out of a text that it sent."""
        return self.filler.hide(text)

    # -- what it says of its tools -----------------------------------------------------------------------------------

    async def listed(self) -> tuple[Mapping[str, Any], ...]:
        """Ask for the definitions of all tools. They are a peer's words: for digests and pins, never for a model.

        Raises:
            ToolFailed: it failed, or the list has no end.
        """
        found: list[Mapping[str, Any]] = []
        left = LIST_SHARE * self.peer.limits.max_message_bytes
        cursors: set[str | None] = set()
        cursor: str | None = None
        while (
            cursor not in cursors and len(cursors) < MAX_PAGES and len(found) <= self.peer.limits.max_tools and left > 0
        ):
            cursors.add(cursor)
            page = await self.ask(list_from(cursor), self.origin, doubt=False)
            # For a program: digests are taken of it, and what a model is shown comes from the pins alone.
            said = page.for_program()
            found += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in said.tools]
            left -= len(said.model_dump_json())
            cursor = said.next_cursor
            if cursor is None and len(found) <= self.peer.limits.max_tools:
                return tuple(found)
        raise ToolFailed("The peer's list of tools has no end, or more tools than are looked at.")

    async def differences(self, pins: Mapping[str, Pin]) -> Differences:
        """Say how the tools are now, beside what is pinned. What was asked a moment ago is not asked again."""
        connection = self.connected()
        async with connection.listing:
            is_fresh = time.monotonic() - connection.listed_at < self.peer.limits.recheck_s
            if connection.definitions is None or connection.watch.is_stale or not is_fresh:
                connection.watch.is_stale = False
                connection.definitions = await self.listed()
                connection.listed_at = time.monotonic()
            return compared(pins, connection.definitions)

    async def check(self, pins: Mapping[str, Pin], name: str) -> None:
        """Refuse a tool that is not what the owner has looked at.

        Raises:
            IngressRefused: `not_pinned`, `definition_changed`, `tool_gone`.
            ToolFailed: the peer could not be asked.
        """
        if name not in pins:
            raise IngressRefused(
                "not_pinned", "The peer has no pinned tool of this name. mcp_list_tools shows those that are."
            )
        found = await self.differences(pins)
        if name in found.gone:
            raise IngressRefused("tool_gone", "The peer no longer offers this tool.")
        if name not in found.same:
            raise IngressRefused(
                "definition_changed",
                "The peer has changed its definition of this tool since the owner looked at it. It was not called; the owner "
                "has to look at the change and pin it anew.",
            )


# -- one connection ------------------------------------------------------------------------------------------------


@final
class Connection:
    """A connection, which one task of its own opens and closes, so that it outlives the call that needed it first."""

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop) -> None:
        self.link = link
        self.loop = loop
        self.watch = Watch(link.peer.limits, self.close)
        self.opened = asyncio.Event()
        self.closing = asyncio.Event()
        self.listing = asyncio.Lock()
        self.open: ClientSession | None = None
        self.problem: IngressRefused | ToolFailed | None = None
        self.in_flight = 0
        self.is_slow = False
        self.used_at = time.monotonic()
        self.listed_at = 0.0
        self.definitions: tuple[Mapping[str, Any], ...] | None = None
        OPEN.add(self)
        register_end()
        # Not in the context of the call that came first, whose deadline and permissions end before this does.
        self.task = loop.create_task(self.run(), name=f"mcp:{link.peer.name}", context=contextvars.Context())

    @property
    def is_over(self) -> bool:
        return self.closing.is_set() or self.task.done()

    def close(self) -> None:
        self.closing.set()

    async def session(self) -> ClientSession:
        await self.opened.wait()
        if self.open is None or self.is_over:
            raise self.lost()
        return self.open

    def let_go(self) -> None:
        self.in_flight -= 1
        self.used_at = time.monotonic()
        if self.is_slow and not self.in_flight:
            # It may never answer again, and a new connection may.
            self.close()

    async def run(self) -> None:
        limits = self.link.peer.limits
        try:
            async with asyncio.timeout(limits.start_s) as clock:
                client = Client(self.transport(), mode="auto", cache=None, client_info=US)
                async with client:
                    clock.reschedule(None)
                    self.open = client.session
                    self.opened.set()
                    await self.until_idle()
        except TimeoutError:
            if self.open is None:
                self.problem = ToolFailed(f"The peer did not start within {seconds(limits.start_s)}.")
        except Exception as error:  # noqa: BLE001  # a failed start or end; what it says may be foreign, so its kind alone is kept
            self.problem = ours_in(error)
        finally:
            self.closing.set()
            self.opened.set()
            if self.link.connections.get(self.loop) is self:
                del self.link.connections[self.loop]

    async def until_idle(self) -> None:
        limits = self.link.peer.limits
        while not self.closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(limits.idle_s):
                    await self.closing.wait()
            if not self.in_flight and time.monotonic() - self.used_at >= limits.idle_s:
                # Before the first step of the end: whoever asks from now on gets a connection of their own.
                self.close()

    def transport(self) -> AbstractAsyncContextManager[Any]:
        return self.guarded()

    @asynccontextmanager
    async def guarded(self) -> AsyncGenerator[tuple[Read, Write]]:
        peer = self.link.peer
        if isinstance(peer, StdioPeer):
            secret = {name: self.link.filler.secret(of) for name, of in peer.secret_env.items()}
            async with pipe(peer, secret, self.watch) as streams:
                yield streams
            return
        from connectors._mcp_web import web

        secret = {name: self.link.filler.secret(of) for name, of in peer.secret_headers.items()}
        async with web(peer, secret, self.watch) as streams:
            yield streams

    # -- what went wrong -------------------------------------------------------------------------------------------

    def lost(self, more: str = "") -> IngressRefused | ToolFailed:
        """Why there is no connection, or none any more."""
        if self.problem is not None:
            return self.problem
        if self.watch.reason is not None:
            return ToolFailed(f"{self.watch.reason}{more}")
        said = Foreign(bytes(self.watch.said), self.link.origin).map(self.error_text) if self.watch.said else None
        return ToolFailed(f"The peer ended the connection.{more}", said)

    def told(self, error: MCPError, origin: str, more: str) -> IngressRefused | ToolFailed:
        """An error of the protocol. Some of them the SDK itself makes; what else a peer says is the detail."""
        code = Foreign(error.code, origin).measure(int)
        if code == TOO_LONG:
            most = self.link.peer.limits.max_message_bytes
            return IngressRefused(
                "too_large", f"The peer's answer takes more than {most} bytes, and was not read.{more}"
            )
        if code == UNREADABLE:
            return ToolFailed(f"The peer's answer cannot be read.{more}")
        if self.is_over or self.watch.reason is not None:
            return self.lost(more)
        number = f" {code}" if abs(code) < 1_000_000 else ""
        said = Foreign(error.message, origin).map(lambda text: self.link.hide(text)[:MAX_ERROR_CHARS])
        return ToolFailed(f"The peer answered with error{number}.", said)

    def error_text(self, said: bytes) -> str:
        return self.link.hide(said.decode("utf-8", "replace"))


def ours_in(error: BaseException) -> IngressRefused | ToolFailed | None:
    """What of ours stands in a group of exceptions; None where the SDK's alone do."""
    if isinstance(error, IngressRefused | ToolFailed):
        return error
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return next((found for one in group.exceptions if (found := ours_in(one)) is not None), None)
    return None


# -- the end of the process ----------------------------------------------------------------------------------------

REGISTERED: Final = set[str]()


def register_end() -> None:
    """Close what is open when the process ends. Registered late, so that it runs before a loop's thread waits for tasks."""
    if not REGISTERED:
        REGISTERED.add("end")
        atexit.register(close_all)


def close_all() -> None:
    for connection in list(OPEN):
        with suppress(RuntimeError):  # its loop has ended, and so has it
            connection.loop.call_soon_threadsafe(connection.close)
