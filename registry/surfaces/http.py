"""The HTTP surface: named deployments behind bearer tokens, one POST for a call.

It translates an `Outcome` into a status and a body and decides nothing. It reads no more of a body than its limit, shows no
text of an exception and no value of a caller, and logs no token.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, final
from urllib.parse import parse_qs

from pydantic import JsonValue
from pydantic_core import from_json

from registry._catalog import catalog, catalog_page
from registry._deployment import REQUEST_ID, Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._envelope import media_of, outcome_body
from registry._foreign import shown
from registry._outcome import Answered, Failed, Malformed, Outcome, Refused, Shed, TimedOut
from registry.errors import DeclarationError
from registry.surfaces._headers import TRACE, Fields, Trace, fields_of, is_json, request_id, trace_of
from registry.surfaces._openapi import document, instance_document
from registry.surfaces._problems import PROBLEMS, json_bytes, problem_body
from registry.surfaces._tokens import Token, Tokens, digest_of, new_token

try:
    from starlette.routing import Route, Router
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"registry.surfaces.http needs {missing.name}. Write: pip install 'hedgerow[http]'", name=missing.name
    ) from missing

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Inside = Callable[["HttpSurface", Caller, Deployment, Scope, Receive, Send], Awaitable[None]]

__all__ = ["HttpSurface", "Token", "Tokens", "digest_of", "new_token"]

log = logging.getLogger("hedgerow.http")

JSON_TYPE = (b"content-type", b"application/json")
PROBLEM_TYPE = (b"content-type", b"application/problem+json")
CLOSE = (b"connection", b"close")
# An answer belongs to one caller at one moment, and is never a page.
SAFE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
# Most calls are done before it is worth watching whether their client has left.
WATCH_AFTER_S = 0.05
LOOK_EVERY_S = 1.0
# Of the list of tools.
PAGE = 100
LARGEST_PAGE = 1000
CURSOR = re.compile(r"[0-9]{1,9}\Z")
MOST_FIELDS = 10
# For how much longer, and for how many times the bound, the rest of a body is read and dropped, so that its client sees why.
LINGER_S = 1.0
LINGER_BODIES = 4


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """One request, as its log line needs it."""

    fields: Fields
    request_id: str
    trace: Trace | None
    started: float
    route: str = "-"
    caller: str | None = None
    outcome: str | None = None
    status: int = 0


@final
class HttpSurface:
    """The ASGI application that serves deployments over HTTP.

    Args:
        instances: the deployments, by the name that stands in their address. They share one `Admission`.
        tokens: who may come in, and for what.
        max_body_bytes: the largest body of a request; a larger one is refused before it is parsed.
        body_timeout_s: for how many seconds a body may be on its way.

    Raises:
        DeclarationError: an argument is not what it must be, two instances have an `Admission` of their own, or a token
            opens an instance that there is not.
    """

    def __init__(
        self, instances: Mapping[str, Deployment], *, tokens: Tokens, max_body_bytes: int, body_timeout_s: float
    ) -> None:
        check_instances(instances, tokens)
        if max_body_bytes < 2:
            raise DeclarationError(f"HttpSurface: max_body_bytes is {shown(max_body_bytes)}. Write 2 or more.")
        if not 0 < body_timeout_s < math.inf:
            raise DeclarationError(f"HttpSurface: body_timeout_s is {shown(body_timeout_s)}. Write seconds above 0.")
        self.instances = dict(instances)
        self.tokens = tokens
        self.max_body_bytes = max_body_bytes
        self.body_timeout_s = body_timeout_s
        self.admission = next(iter(self.instances.values())).admission
        # Who each token is in each instance that it opens; another pair is no way in.
        self.callers = {
            (token.id, name): token.caller(self.instances[name]) for token in tokens for name in token.instances
        }
        self.is_draining = False
        self._app: ASGIApp = router(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request: give it an id, log it, and see to it that it gets an answer whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        fields = fields_of(scope["headers"])
        exchange = Exchange(
            fields=fields, request_id=request_id(fields), trace=trace_of(fields), started=time.monotonic()
        )
        scope["hedgerow"] = exchange
        trace, asked = TRACE.set(exchange.trace), REQUEST_ID.set(exchange.request_id)
        its_id = (b"x-request-id", exchange.request_id.encode("ascii"))

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = [*message["headers"], its_id, *SAFE]
                if self.is_draining:
                    message["headers"].append(CLOSE)
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception:
            log.exception("Request %s failed in the surface itself.", exchange.request_id)
            if not exchange.status:
                await send_problem(sent, "internal", exchange)
        finally:
            TRACE.reset(trace)
            REQUEST_ID.reset(asked)
            log_exchange(scope, exchange)

    def opened(self, scope: Scope) -> tuple[Caller, Deployment] | str:
        """Return who asks and the deployment that is asked, or the name of the problem."""
        exchange = exchange_of(scope)
        token = self.tokens.of_header(exchange.fields.get(b"authorization", ()))
        if token is None:
            return "unauthorized"
        exchange.caller = token.id
        name = scope["path_params"]["instance"]
        caller = self.callers.get((token.id, name))
        return "not-found" if caller is None else (caller, self.instances[name])


def check_instances(instances: Mapping[str, Deployment], tokens: Tokens) -> None:
    if not instances:
        raise DeclarationError("HttpSurface: there is no instance. Write {'main': deployment}.")
    admissions = {id(deployment.admission) for deployment in instances.values()}
    if len(admissions) != 1:
        raise DeclarationError(
            "HttpSurface: the instances have an Admission each, so their bounds would add up. Give all of them the same one."
        )
    unknown = sorted({name for token in tokens for name in token.instances if name not in instances})
    if unknown:
        raise DeclarationError(
            f"HttpSurface: tokens open the instances {unknown}, which there are not. There are: {', '.join(instances)}."
        )


def router(surface: HttpSurface) -> Router:
    """Starlette's router alone: its middleware would answer in plain text, and this module answers for everything itself."""
    routes = {
        "/v1/instances/{instance}/tools/{tool}": Only(("POST",), Opened(surface, "call", call)),
        "/v1/instances/{instance}/tools": Only(("GET", "HEAD"), Opened(surface, "tools", tools)),
        "/v1/instances/{instance}/openapi.json": Only(("GET", "HEAD"), Opened(surface, "document", instance_openapi)),
        "/openapi.json": Only(("GET", "HEAD"), Document()),
        "/healthz": Only(("GET", "HEAD"), Health()),
        "/readyz": Only(("GET", "HEAD"), Ready(surface)),
    }
    # No redirect from `/tools/`: it would invite a client to repeat a call.
    return Router([Route(path, app) for path, app in routes.items()], redirect_slashes=False, default=nowhere)


async def nowhere(scope: Scope, _: Receive, send: Send) -> None:
    """Answer for an address that there is not."""
    await send_problem(send, "not-found", exchange_of(scope))


@final
@dataclass(frozen=True, slots=True)
class Only:
    """A route for some methods."""

    methods: tuple[str, ...]
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in self.methods:
            await self.app(scope, receive, send)
            return
        allow = (b"allow", ", ".join(self.methods).encode("ascii"))
        await send_problem(send, "method-not-allowed", exchange_of(scope), headers=(allow,))


# -- the routes ----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A route below an instance, which only a token that opens the instance gets behind."""

    surface: HttpSurface
    route: str
    inside: Inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route = self.route
        opened = self.surface.opened(scope)
        if isinstance(opened, str):
            await send_problem(send, opened, exchange)
            return
        await self.inside(self.surface, *opened, scope, receive, send)


async def call(
    surface: HttpSurface, caller: Caller, deployment: Deployment, scope: Scope, receive: Receive, send: Send
) -> None:
    """`POST /v1/instances/{instance}/tools/{tool}`: the body is the arguments."""
    exchange = exchange_of(scope)
    if not is_json(exchange.fields):
        await send_problem(send, "not-json-type", exchange)
        return
    watch = Watch(receive)
    try:
        body = await watch.body(exchange.fields, surface.max_body_bytes, surface.body_timeout_s)
        if isinstance(body, str):
            watch.stop()
            await send_problem(send, body, exchange, lingering=receive, bound=surface.max_body_bytes)
            return
        try:
            arguments = from_json(body, allow_inf_nan=False)
        except ValueError:
            await send_problem(send, "not-json", exchange)
            return
        del body
        outcome = await watch.outcome(deployment, scope["path_params"]["tool"], arguments, caller)
    finally:
        watch.stop()
    if outcome is not None:
        exchange.outcome = outcome.code
        await send_outcome(send, outcome, exchange, deployment)


async def tools(_: HttpSurface, caller: Caller, deployment: Deployment, scope: Scope, __: Receive, send: Send) -> None:
    """`GET /v1/instances/{instance}/tools?cursor=&limit=`: the tools that the token may use, a page at a time."""
    asked = page_of(scope["query_string"])
    if asked is None:
        await send_problem(send, "no-such-page", exchange_of(scope))
        return
    start, size = asked
    page, after = catalog_page(deployment, caller, start=start, size=size)
    body = {**page.body(), "next_cursor": None if after is None else str(after)}
    await respond(send, 200, json_bytes(body), JSON_TYPE)


def page_of(query: bytes) -> tuple[int, int] | None:
    """Where a page starts and how many tools it holds; None when the query says something that is no page."""
    try:
        given = parse_qs(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return None
    cursors, limits = given.get("cursor", ["0"]), given.get("limit", [str(PAGE)])
    if len(cursors) != 1 or len(limits) != 1 or not CURSOR.match(cursors[0]) or not CURSOR.match(limits[0]):
        return None
    size = int(limits[0])
    return (int(cursors[0]), size) if 1 <= size <= LARGEST_PAGE else None


async def instance_openapi(
    _: HttpSurface, caller: Caller, deployment: Deployment, scope: Scope, __: Receive, send: Send
) -> None:
    """`GET /v1/instances/{instance}/openapi.json`: one operation for each tool that the token may use."""
    found = catalog(deployment, caller)
    await respond(send, 200, json_bytes(instance_document(scope["path_params"]["instance"], found)), JSON_TYPE)


@final
class Document:
    """`GET /openapi.json`: the form of every address. It names no instance and no tool, so it needs no token."""

    __slots__ = ("_body",)

    def __init__(self) -> None:
        self._body = json_bytes(document())

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        exchange_of(scope).route = "openapi"
        await respond(send, 200, self._body, JSON_TYPE)


@final
class Health:
    """`GET /healthz`: the process answers."""

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        exchange_of(scope).route = "health"
        await respond(send, 200, b'{"status":"ok"}', JSON_TYPE)


@final
@dataclass(frozen=True, slots=True)
class Ready:
    """`GET /readyz`: new calls are welcome; 503 from the moment at which the process is asked to end."""

    surface: HttpSurface

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route = "ready"
        if self.surface.is_draining:
            await send_problem(send, "draining", exchange)
            return
        await respond(send, 200, b'{"status":"ok"}', JSON_TYPE)


# -- a request on its way ------------------------------------------------------------------------------------------


@final
class Watch:
    """One timer over a request: its body comes in time, and after that its client stays.

    Starlette does not cancel the handler of a client that has gone, and a `read` would run on for nobody. Whatever is awaited
    here is cancelled by the timer, through the task, and the cancellation is taken back where it was meant.
    """

    __slots__ = ("_ends", "_loop", "_receive", "_task", "_timer", "_watching", "is_over")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._loop = self._task.get_loop()
        self._ends: float | None = None
        self._watching: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(WATCH_AFTER_S, self._look)
        self.is_over = False

    async def body(self, fields: Fields, bound: int, within_s: float) -> bytes | str:
        """Read the body, or return the name of the problem; nothing is read that says that it is too large."""
        for length in fields.get(b"content-length", ()):
            if int(length) > bound:
                return "too-large"
        self._ends = self._loop.time() + within_s
        try:
            return await whole(self._receive, bound)
        except asyncio.CancelledError:
            if self._is_mine():
                return "too-slow"
            raise
        finally:
            self._ends = None

    async def outcome(self, deployment: Deployment, tool: str, arguments: Any, caller: Caller) -> Outcome | None:
        """Call a tool; None when the client has left before it answered, which cancels the call as it would in process."""
        try:
            return await run_registry_tool(deployment, tool, arguments, caller=caller)
        except asyncio.CancelledError:
            if self._is_mine():
                return None
            raise

    def stop(self) -> None:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _is_mine(self) -> bool:
        return self.is_over and self._task.uncancel() == 0

    def _look(self) -> None:
        if self._ends is None:
            self._watching = self._loop.create_task(self._until_left())
        elif self._loop.time() >= self._ends:
            self._cancel()
        else:
            self._timer = self._loop.call_at(min(self._ends, self._loop.time() + LOOK_EVERY_S), self._look)

    async def _until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._cancel()

    def _cancel(self) -> None:
        self.is_over = True
        self._task.cancel()


async def whole(receive: Receive, bound: int) -> bytes | str:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return "too-slow"
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > bound:
            return "too-large"
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def linger(receive: Receive, bound: int) -> None:
    """Read and drop the rest of a body for a moment: a connection that is closed on unread bytes is reset, and the client
    would never see why."""
    left = bound
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))


# -- the answer ----------------------------------------------------------------------------------------------------


async def send_outcome(send: Send, outcome: Outcome, exchange: Exchange, deployment: Deployment) -> None:
    match outcome:
        case Answered():
            body = outcome_body(outcome)
            body["media"] = media(outcome)
            await respond(send, 200, json_bytes(body), JSON_TYPE)
        case Refused(code="unknown_tool"):
            # Nothing of the outcome: the same bytes as for an instance that there is not.
            await send_problem(send, "not-found", exchange)
        case Refused(code="not_permitted"):
            await send_problem(send, "not-permitted", exchange, outcome=outcome)
        case Refused():
            await respond(send, 200, json_bytes(outcome_body(outcome)), JSON_TYPE)
        case Malformed():
            errors: list[JsonValue] = [{"pointer": one.pointer, "detail": one.text} for one in outcome.errors]
            await send_problem(send, "malformed", exchange, outcome=outcome, more={"errors": errors})
        case Failed():
            await send_problem(send, "failed", exchange, outcome=outcome)
        case Shed():
            wait_s = max(1, math.ceil(deployment.admission.window_s))
            retry = (b"retry-after", str(wait_s).encode("ascii"))
            await send_problem(send, "shed", exchange, outcome=outcome, headers=(retry,))
        case TimedOut():
            await send_problem(send, "timed-out", exchange, outcome=outcome)


def media(outcome: Answered) -> list[JsonValue]:
    """The media of an answer; what stands between `opening` and `closing` is whose bytes the lines say."""
    return [
        {
            "opening": part.opening,
            "mime": media_of(part).mime,
            "base64": b64encode(media_of(part).content).decode("ascii"),
            "closing": part.closing,
            "origins": list(part.origins),
        }
        for part in outcome.media
    ]


async def send_problem(
    send: Send,
    name: str,
    exchange: Exchange,
    *,
    outcome: Outcome | None = None,
    more: Mapping[str, JsonValue] = MappingProxyType({}),
    headers: tuple[tuple[bytes, bytes], ...] = (),
    lingering: Receive | None = None,
    bound: int = 0,
) -> None:
    """Send a problem, and for one about the body drop the rest of that."""
    body = problem_body(name, exchange.request_id) | (outcome_body(outcome) if outcome is not None else {}) | dict(more)
    if name == "unauthorized":
        headers = (*headers, (b"www-authenticate", b'Bearer realm="hedgerow"'))
    if lingering is None:
        await respond(send, PROBLEMS[name].status, json_bytes(body), PROBLEM_TYPE, *headers)
        return
    # The client has the whole answer before the rest of its body is dropped, and the connection ends after that.
    await respond(send, PROBLEMS[name].status, json_bytes(body), PROBLEM_TYPE, CLOSE, *headers, ends=False)
    await linger(lingering, bound * LINGER_BODIES)
    await send({"type": "http.response.body", "body": b""})


async def respond(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes], ends: bool = True) -> None:
    length = (b"content-length", str(len(body)).encode("ascii"))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": not ends})


def exchange_of(scope: Scope) -> Exchange:
    return cast("Exchange", scope["hedgerow"])


def log_exchange(scope: Scope, exchange: Exchange) -> None:
    """One line for each request: nothing in it is the client's but an id of a narrow form, and the path is not in it."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            "%s %s %d %s caller=%s request=%s trace=%s %.1f ms",
            scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "OTHER",
            exchange.route,
            exchange.status,
            exchange.outcome or "-",
            exchange.caller or "-",
            exchange.request_id,
            exchange.trace.trace_id if exchange.trace else "-",
            (time.monotonic() - exchange.started) * 1000,
        )
