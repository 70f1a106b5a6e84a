"""The Model Context Protocol over streamable HTTP: who the caller is, and which requests are let in.

A caller is whom a verified token names, and nobody else: without one, a server that asks for tokens permits nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias, final

import mcp_types as types
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry._deployment import Caller
from registry._foreign import class_name
from registry.errors import DeclarationError
from registry.surfaces._ending import stopped_by_signals
from registry.surfaces._uvicorn import WebServer, configured

__all__ = ["LOOPBACK", "Verify", "asgi", "run", "token_caller"]

log = logging.getLogger("hedgerow.mcp")

Verify: TypeAlias = "Callable[[str], Caller | Awaitable[Caller | None] | None]"
"""Says whose a bearer token is; None is nobody's."""

BAD_REQUEST: Final = 400
REQUEST_TIMEOUT: Final = 408
SLOW: Final = b"The body did not come in time."
WORDS: Final = {
    types.PARSE_ERROR: "The body is not JSON.",
    types.INVALID_PARAMS: "The body is not one message of the protocol.",
    types.INVALID_REQUEST: "The request is none that this server takes.",
}
HEAD_TIMEOUT_S: Final = 10
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def token_caller() -> Caller:
    """The caller whom the token of the running request names; one without any grant when there is none."""
    token = get_access_token()
    if token is None:
        return Caller("", frozenset())
    return Caller(token.client_id, frozenset(token.scopes))


@final
class Verifier:
    """The SDK's side of a function that says whose a token is. The token itself is not kept."""

    def __init__(self, verify: Verify) -> None:
        self.verify = verify

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            found = self.verify(token)
            caller = await found if inspect.isawaitable(found) else found
        except Exception as error:  # noqa: BLE001  # whatever it raises may hold the token
            log.error("verify raised %s; the token is refused.", class_name(error))
            return None
        if caller is None:
            return None
        return AccessToken(token="", client_id=caller.id, scopes=sorted(caller.grants))


def asgi(
    server: Server[Any],
    *,
    path: str,
    verify: Verify | None,
    oauth: AuthSettings | None,
    allowed_hosts: Sequence[str],
    allowed_origins: Sequence[str],
    max_message_bytes: int,
    body_timeout_s: float,
    max_sessions: int,
    session_idle_s: float,
) -> Starlette:
    if oauth is not None and verify is None:
        raise DeclarationError(
            "http_app: oauth is given and verify is None. Write verify=..., which says whose a token is."
        )
    app = server.streamable_http_app(
        streamable_http_path=path,
        token_verifier=None if verify is None else Verifier(verify),
        auth=oauth,
        max_request_body_size=max_message_bytes,
        max_sessions=max_sessions,
        session_idle_timeout=session_idle_s,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[name for host in allowed_hosts for name in (host, f"{host}:*")],
            allowed_origins=list(allowed_origins),
        ),
    )
    app.add_middleware(OurWords)
    app.add_middleware(BoundedBody, within_s=body_timeout_s)
    if verify is not None and oauth is None:
        # The SDK reads tokens only where an authorization server is named too. The one added last runs first.
        app.add_middleware(AuthContextMiddleware)
        app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(Verifier(verify)))
    return app


@final
class TooSlow(Exception):
    """A body did not come in time."""


@final
class BoundedBody:
    """Waits so many seconds for the whole body of a request. The SDK waits for ever, and holds the connection."""

    def __init__(self, app: ASGIApp, within_s: float) -> None:
        self.app = app
        self.within_s = within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ends = asyncio.get_running_loop().time() + self.within_s
        is_whole = scope["type"] != "http"

        async def received() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
            except TimeoutError:
                raise TooSlow from None
            is_whole = not message.get("more_body", False)
            return message

        try:
            await self.app(scope, received, send)
        except TooSlow:
            headers = [(b"content-length", str(len(SLOW)).encode("ascii")), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": REQUEST_TIMEOUT, "headers": headers})
            await send({"type": "http.response.body", "body": SLOW})


@final
class OurWords:
    """Puts fixed sentences in the place of the SDK's about a body that it cannot read: on the older era of the protocol those
    are the text of an exception, which repeats what the caller sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def said(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == BAD_REQUEST:
                held.append(message)
            elif held:
                # The SDK's errors come in one piece.
                start, body = held.pop(), fixed(message.get("body", b""))
                headers = [pair for pair in start["headers"] if pair[0].lower() != b"content-length"]
                await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode("ascii"))]})
                await send({**message, "body": body})
            else:
                await send(message)

        await self.app(scope, receive, said)


def fixed(body: bytes) -> bytes:
    """An error that answers no request of a known id, in a sentence of ours for its code."""
    try:
        answer = json.loads(body)
        if answer["id"] is not None:
            return body
        answer["error"]["message"] = WORDS.get(answer["error"]["code"], WORDS[types.INVALID_REQUEST])
    except (ValueError, KeyError, TypeError):
        return WORDS[types.INVALID_REQUEST].encode("ascii")
    return json.dumps(answer).encode("ascii")


async def run(app: Starlette, bound: socket.socket, *, drain_s: float, max_connections: int) -> None:
    """Serve until a signal asks for the end; requests that run then have so many seconds to be answered."""
    server = WebServer(configured(app, head_timeout_s=HEAD_TIMEOUT_S, drain_s=drain_s, max_connections=max_connections))
    with stopped_by_signals(server.stop):
        await server.serve(sockets=[bound])
