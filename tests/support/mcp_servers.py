"""Servers of the Model Context Protocol for tests: in memory, as a process, over HTTP, each in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from registry import Deployment
from registry.surfaces._uvicorn import WebServer, configured, listener
from registry.surfaces.mcp import Verify, http_app, mcp_server
from tests.support.deployments import WAIT_S

Transport: TypeAlias = Literal["memory", "stdio", "http"]
Era: TypeAlias = Literal["auto", "legacy"]
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Way:
    """One way to a server."""

    transport: Transport
    era: Era

    def __str__(self) -> str:
        return f"{self.transport}-{'2026' if self.era == 'auto' else '2025'}"


TRANSPORTS: tuple[Transport, ...] = ("memory", "stdio", "http")
ERAS: tuple[Era, ...] = ("auto", "legacy")
WAYS = [Way(transport, era) for transport in TRANSPORTS for era in ERAS]
IN_PROCESS = [way for way in WAYS if way.transport != "stdio"]

every_way = pytest.mark.parametrize("way", WAYS, ids=str)
in_process = pytest.mark.parametrize("way", IN_PROCESS, ids=str)


@asynccontextmanager
async def client_of(
    way: Way, deployment: Callable[[], Deployment], *, structured: bool = False
) -> AsyncGenerator[Client]:
    """Connect the SDK's own client. The deployment is made by a function of a module, or a partial one with strings, so that
    a process can make it too."""
    if way.transport == "stdio":
        async with stdio_of(way, deployment, structured=structured) as client:
            yield client
        return
    made = deployment()
    if way.transport == "memory":
        async with Client(
            mcp_server(made, structured=structured), mode=way.era, read_timeout_seconds=6 * WAIT_S
        ) as client:
            yield client
        return
    async with (
        http_server(made, structured=structured) as url,
        Client(url, mode=way.era, read_timeout_seconds=6 * WAIT_S) as client,
    ):
        yield client


@asynccontextmanager
async def stdio_of(way: Way, deployment: Callable[[], Deployment], *, structured: bool) -> AsyncGenerator[Client]:
    function, given = (deployment.func, deployment.args) if isinstance(deployment, partial) else (deployment, ())
    options = [f"{function.__module__}:{function.__qualname__}", f"given={json.dumps(given)}"]
    arguments = ["-m", "tests.support.mcp_process", *options, *(["structured"] if structured else [])]
    process = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123  # it never waits
        transport = stdio_client(process, errlog=nowhere)
        # Another interpreter starts, and the machine may be busy.
        async with Client(transport, mode=way.era, read_timeout_seconds=6 * WAIT_S) as client:
            yield client


@asynccontextmanager
async def http_server(
    deployment: Deployment,
    *,
    verify: Verify | None = None,
    structured: bool = False,
    max_message_bytes: int = 4_194_304,
    body_timeout_s: float = WAIT_S,
) -> AsyncGenerator[str]:
    """Serve over HTTP on a free port of loopback, in this event loop."""
    app = http_app(
        deployment,
        verify=verify,
        structured=structured,
        max_message_bytes=max_message_bytes,
        body_timeout_s=body_timeout_s,
    )
    bound = listener("127.0.0.1", 0)
    # It leaves signals alone: a test's are pytest's.
    server = WebServer(configured(app, head_timeout_s=WAIT_S, drain_s=1))
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def bearer(url: str, token: str | None, era: Era = "auto") -> AsyncGenerator[Client]:
    """Connect with a bearer token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, read_timeout_seconds=WAIT_S) as client,
    ):
        yield client
