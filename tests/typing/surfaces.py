"""Every shape of a surface that the type checkers must accept or refuse, where its extra is installed. Checked, never run.

Each wrong line carries the code of its refusal; under `warn_unused_ignores` a refusal that no longer comes is an error.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from registry import Caller, Deployment
from registry.adapters.langchain import structured_tools
from registry.adapters.openai_agents import function_tools
from registry.adapters.opentelemetry import telemetry
from registry.adapters.pydantic_ai import HedgerowToolset
from registry.surfaces.http import HttpSurface, Token, Tokens, digest_of, new_token
from registry.surfaces.mcp import http_app, mcp_server, serve_http, serve_stdio

# -- accepted ------------------------------------------------------------------------------------------------------


async def verified(token: str) -> Caller | None:
    return Caller(token, frozenset())


async def served(deployment: Deployment, caller: Caller) -> int:
    holder = Token(id="a", sha256=digest_of(new_token()), instances=frozenset({"main"}), grants=None)
    HttpSurface({"main": deployment}, tokens=Tokens([holder]), max_body_bytes=1000, body_timeout_s=1)
    mcp_server(deployment, structured=True, who_asks=lambda: caller)
    http_app(deployment, verify=verified)
    running: int = await serve_stdio(deployment, drain_s=1)
    return running + await serve_http(deployment, port=0, verify=lambda token: caller if token else None)


def used(deployment: Deployment, caller: Caller) -> None:
    HedgerowToolset(deployment, caller=lambda context: caller if context.deps else None)
    function_tools(deployment, caller=caller)
    structured_tools(deployment)
    telemetry(lambda record: print(record.request_id))


# -- refused: what must be decided is left out ---------------------------------------------------------------------


async def undecided(deployment: Deployment) -> None:
    HttpSurface({"main": deployment})  # type: ignore[call-arg]
    Token(id="a", sha256="", instances=frozenset())  # type: ignore[call-arg]
    http_app(deployment)  # type: ignore[call-arg]
    await serve_http(deployment, port=0)  # type: ignore[call-arg]
    http_app(deployment, verify=lambda token: token)  # type: ignore[arg-type, return-value]
    HedgerowToolset(deployment, caller="anna")  # type: ignore[arg-type]
