"""A real HTTP server in this process, and clients that talk to it: a library's, and bare bytes on a socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any

import httpx

from registry import Deployment
from registry.surfaces._uvicorn import WebServer, configured, listener
from registry.surfaces.http import HttpSurface, Token, Tokens, digest_of
from tests.support.deployments import WAIT_S

TOKEN = "hedgerow_a-token-of-a-test"


def token(
    secret: str = TOKEN,
    *,
    name: str = "tester",
    instances: tuple[str, ...] = ("main",),
    grants: frozenset[str] | None = None,
) -> Token:
    """A token that opens these instances; what does not matter for a test has a default here."""
    return Token(id=name, sha256=digest_of(secret), instances=frozenset(instances), grants=grants)


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server that runs, and a client of it."""

    surface: HttpSurface
    port: int
    client: httpx.Client
    headers: Mapping[str, str] = field(default_factory=lambda: {"authorization": f"Bearer {TOKEN}"})

    def call(self, tool: str, arguments: object = None, **headers: str) -> httpx.Response:
        """Call a tool of the instance `main`."""
        return self.post(tool, json.dumps({} if arguments is None else arguments).encode(), **headers)

    def post(self, tool: str, body: bytes, **headers: str) -> httpx.Response:
        """Send a body to a tool of the instance `main`."""
        return self.client.post(
            f"/v1/instances/main/tools/{tool}",
            content=body,
            headers={"content-type": "application/json", **self.headers, **headers},
        )

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Get an address."""
        return self.client.get(path, headers={**self.headers, **headers})

    @contextmanager
    def raw(self, sent: bytes) -> Generator[socket.socket]:
        """Send bytes as they are, and give the socket."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as connection:
            connection.sendall(sent)
            yield connection

    def head(self, *, length: int | None, more: bytes = b"", tool: str = "tool") -> bytes:
        """The head of a call, with a length or in chunks."""
        size = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
        return (
            b"POST /v1/instances/main/tools/%s HTTP/1.1\r\nhost: here\r\nauthorization: Bearer %s\r\n"
            b"content-type: application/json\r\n%s\r\n\r\n%s" % (tool.encode(), TOKEN.encode(), size, more)
        )


@contextmanager
def served(
    *deployments: Deployment,
    tokens: tuple[Token, ...] = (),
    max_body_bytes: int = 100_000,
    body_timeout_s: float = WAIT_S,
) -> Generator[Served]:
    """Serve deployments on loopback in a thread: the first as `main`, the others as `other1`, `other2` ..."""
    names = ["main", *(f"other{number}" for number in range(1, len(deployments)))]
    surface = HttpSurface(
        dict(zip(names, deployments, strict=True)),
        tokens=Tokens(tokens or (token(),)),
        max_body_bytes=max_body_bytes,
        body_timeout_s=body_timeout_s,
    )
    with listening(surface) as port, new_client(port) as client:
        yield Served(surface=surface, port=port, client=client)


def answer_of(connection: socket.socket) -> tuple[int, bytes]:
    """Read one answer from a socket: its status and its body."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def new_client(port: int) -> httpx.Client:
    """A client of loopback; it reads neither certificates nor the environment, which takes longer than most tests."""
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=2 * WAIT_S, verify=False, trust_env=False)


@contextmanager
def listening(app: Any, *, head_timeout_s: float = WAIT_S) -> Generator[int]:
    """Run a server in a thread over an application; the port it listens on."""
    listening = listener("127.0.0.1", 0)
    server = WebServer(configured(app, head_timeout_s=head_timeout_s, drain_s=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(2 * WAIT_S)
        listening.close()
