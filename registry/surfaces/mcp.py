"""The Model Context Protocol: the tools of a deployment for any client of it, over standard streams or HTTP.

It translates outcomes and decides nothing. Whatever happens in here, no text of an exception reaches the peer: the SDK sends
that of one that escapes on the older era of the protocol, so none escapes.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import Any, Final, TypeAlias

try:
    import mcp_types as types
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.lowlevel.server import Server
    from mcp.shared.exceptions import MCPError
    from starlette.applications import Starlette
except ModuleNotFoundError as missing:
    raise ImportError(
        f"registry.surfaces.mcp needs {missing.name}. Write: pip install 'hedgerow[mcp]'", name=missing.name
    ) from missing

from registry._catalog import catalog_page
from registry._deployment import Caller, Deployment
from registry._dispatch import permission, run_registry_tool
from registry._fence import fence_notice
from registry.errors import DeclarationError
from registry.surfaces._ending import drain
from registry.surfaces._mcp_http import LOOPBACK, Verify, asgi, run, token_caller
from registry.surfaces._mcp_results import broken_result, listed, result_of
from registry.surfaces._mcp_stdio import bounded_stdio
from registry.surfaces._posture import posture
from registry.surfaces._uvicorn import listener

__all__ = ["Verify", "http_app", "mcp_server", "serve_http", "serve_stdio"]

log = logging.getLogger("hedgerow.mcp")

Context: TypeAlias = Any
WhoAsks: TypeAlias = "Callable[[], Caller | None]"

ONLY: Final = "(the only one)"
EVERYBODY: Final = "no token is asked for: everybody on this machine is the process itself"
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024


def the_process() -> None:
    """Nobody but the process itself asks: a pipe has no place for a token."""


def mcp_server(
    deployment: Deployment, *, structured: bool = False, page_size: int = 100, who_asks: WhoAsks = the_process
) -> Server[Any]:
    """Return the SDK's server over a deployment, to be run on a transport.

    Args:
        deployment: what the composition root decided.
        structured: whether answers of tools that declare an origin have a structured half too, in an envelope that says who
            chose it. A host that shows a model that half shows it foreign text without its fence, so it is off.
        page_size: how many tools one page of the list holds.
        who_asks: says who the caller is, asked within each request; None is the process itself.
    """
    return Surface(deployment, structured=structured, page_size=page_size, who_asks=who_asks).server()


class Surface:
    """The two things that a client can ask for: the list, and a call."""

    def __init__(self, deployment: Deployment, *, structured: bool, page_size: int, who_asks: WhoAsks) -> None:
        self.deployment = deployment
        self.structured = structured
        self.page_size = page_size
        self.who_asks = who_asks
        self.shown: dict[str, types.Tool] = {}

    def server(self) -> Server[Any]:
        made: Server[Any] = Server(
            "hedgerow",
            version=version("hedgerow"),
            # The sentence that says what a fence is; a host gives it to its model.
            instructions=fence_notice(),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            get_tool_input_schema=self.schema_of,
        )
        made.middleware.insert(0, without_echo)
        return made

    async def list_tools(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Show what this caller may use, a page at a time."""
        try:
            start = place(params.cursor if params is not None else None, len(self.deployment.tools))
            page, after = catalog_page(self.deployment, self.who_asks(), start=start, size=self.page_size)
            tools = [self.listed(tool.name) for tool in page.tools]
            return types.ListToolsResult(tools=tools, next_cursor=None if after is None else str(after))
        except MCPError:
            raise
        except Exception:
            log.exception("The tools could not be listed.")
            raise MCPError(types.INTERNAL_ERROR, "The tools could not be listed.") from None

    async def call_tool(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool; whatever happens, answer in words of ours."""
        try:
            outcome = await run_registry_tool(
                self.deployment, params.name, params.arguments or {}, caller=self.who_asks()
            )
            tool = self.deployment.tools.get(params.name)
            is_origin_tool = tool is not None and tool.untrusted_output is not False
            return result_of(outcome, is_origin_tool=is_origin_tool, structured=self.structured)
        except MCPError:
            raise
        except Exception:
            log.exception("A call could not be answered.")
            return broken_result()

    def listed(self, name: str) -> types.Tool:
        """A tool as it is listed. It is made once: neither the tool nor the setting for its prose ever changes."""
        if name not in self.shown:
            self.shown[name] = listed(self.deployment.catalog_prose, self.deployment.tools[name])
        return self.shown[name]

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """The schema against which the SDK holds a request's headers; none for a tool that this caller may not use."""
        tool = self.deployment.tools.get(name)
        permitted = permission(self.deployment, self.who_asks())
        if tool is None or permitted is None or not permitted.allows(tool.grant):
            return None
        return self.listed(name).input_schema


async def without_echo(ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
    """Answer for a method that there is not in fixed words. The SDK repeats its name, which is the peer's text."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        if error.error.code != types.METHOD_NOT_FOUND:
            raise
        raise MCPError(types.METHOD_NOT_FOUND, "There is no such method here.") from None


def place(cursor: str | None, end: int) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9 or int(cursor) > end:
        raise MCPError(types.INVALID_PARAMS, "There is no page of this cursor.")
    return int(cursor)


async def serve_stdio(
    deployment: Deployment,
    *,
    structured: bool = False,
    page_size: int = 100,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    drain_s: float = 5.0,
) -> int:
    """Serve one client on standard input and output until it closes them.

    Args:
        deployment: what the composition root decided. There is no token on a pipe, so the caller is the process itself.
        structured: see `mcp_server`.
        page_size: see `mcp_server`.
        max_message_bytes: the longest message; a longer one is answered with an error and not kept.
        drain_s: for how many seconds, at the end of the input, open requests and then running handlers are waited for.

    Returns:
        How many handlers still run. A process that ends kills them.
    """
    server = mcp_server(deployment, structured=structured, page_size=page_size)
    say(
        posture(
            serving="Model Context Protocol on standard input and output",
            callers={"callers": "no token on a pipe: whoever holds it is the process itself"},
            deployments={ONLY: deployment},
            limits={"max_message_bytes": max_message_bytes, "drain_s": drain_s, "structured": structured},
        )
    )
    try:
        async with bounded_stdio(max_message_bytes=max_message_bytes, drain_s=drain_s) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        log.warning("The client has gone: standard output is closed.")
    return await drain(deployment.admission, drain_s)


def http_app(
    deployment: Deployment,
    *,
    verify: Verify | None,
    oauth: AuthSettings | None = None,
    allowed_hosts: Sequence[str] = LOOPBACK,
    allowed_origins: Sequence[str] = (),
    path: str = "/mcp",
    structured: bool = False,
    page_size: int = 100,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    body_timeout_s: float = 30,
    max_sessions: int = 1000,
    session_idle_s: float = 1800,
) -> Starlette:
    """Return the ASGI application that serves a deployment over streamable HTTP, for a server of your own.

    Args:
        deployment: what the composition root decided.
        verify: says whose a bearer token is, or None for nobody's; asked for every request, and the caller's grants narrow
            what is permitted. With None in its place no token is asked for: everybody who reaches the port is the process
            itself.
        oauth: names the authorization server, for clients that look for one.
        allowed_hosts: what the Host header may name, with any port; anything else is refused, so that a page in a browser
            cannot reach the server under a name of its own.
        allowed_origins: what an Origin header may be; a request without one comes from no page.
        path: where it answers.
        structured: see `mcp_server`.
        page_size: see `mcp_server`.
        max_message_bytes: the longest body; a longer one is answered with 413 before it is parsed.
        body_timeout_s: for how many seconds a body may be on its way.
        max_sessions: how many sessions of the older era are open at once.
        session_idle_s: after how many seconds without a request such a session ends.

    Raises:
        DeclarationError: `oauth` is given without `verify`.
    """
    server = mcp_server(
        deployment,
        structured=structured,
        page_size=page_size,
        who_asks=the_process if verify is None else token_caller,
    )
    return asgi(
        server,
        path=path,
        verify=verify,
        oauth=oauth,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        max_message_bytes=max_message_bytes,
        body_timeout_s=body_timeout_s,
        max_sessions=max_sessions,
        session_idle_s=session_idle_s,
    )


async def serve_http(
    deployment: Deployment,
    *,
    port: int,
    verify: Verify | None,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] = (),
    structured: bool = False,
    page_size: int = 100,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    max_connections: int = 1000,
    drain_s: float = 5.0,
) -> int:
    """Serve over streamable HTTP until a signal asks for the end.

    Args:
        deployment: what the composition root decided.
        port: 0 is any free one; the posture names it.
        verify: see `http_app`. None is refused for a host that other machines reach.
        host: the address to listen on.
        allowed_hosts: see `http_app`; without it, this machine's own names and `host`.
        allowed_origins: see `http_app`.
        structured: see `mcp_server`.
        page_size: see `mcp_server`.
        max_message_bytes: see `http_app`.
        max_connections: how many clients may be connected; one more is answered with 503.
        drain_s: for how many seconds open requests, and then running handlers, are waited for at the end.

    Returns:
        How many handlers still run. A process that ends kills them.

    Raises:
        DeclarationError: no token is asked for and other machines reach the host.
        OSError: the address cannot be had.
    """
    if verify is None and host not in ("127.0.0.1", "::1", "localhost"):
        raise DeclarationError(
            f"serve_http: host is {host!r}, which other machines reach, and verify is None. Write verify=..., which says "
            "whose a token is, or listen on 127.0.0.1."
        )
    hosts = tuple(allowed_hosts) if allowed_hosts is not None else (*LOOPBACK, f"[{host}]" if ":" in host else host)
    app = http_app(
        deployment,
        verify=verify,
        allowed_hosts=hosts,
        allowed_origins=allowed_origins,
        structured=structured,
        page_size=page_size,
        max_message_bytes=max_message_bytes,
    )
    bound = listener(host, port)
    where = f"[{host}]" if ":" in host else host
    say(
        posture(
            serving=f"Model Context Protocol on http://{where}:{bound.getsockname()[1]}/mcp",
            callers={"callers": EVERYBODY if verify is None else "whom a verified bearer token names"},
            deployments={ONLY: deployment},
            limits={
                "allowed_hosts": ", ".join(hosts),
                "allowed_origins": ", ".join(allowed_origins) or "(none)",
                "max_message_bytes": max_message_bytes,
                "max_connections": max_connections,
                "drain_s": drain_s,
                "structured": structured,
            },
        )
    )
    await run(app, bound, drain_s=drain_s, max_connections=max_connections)
    return await drain(deployment.admission, drain_s)


def say(text: str) -> None:
    """To standard error: standard output belongs to the protocol."""
    print(text, file=sys.stderr, flush=True)
