"""The servers over HTTP below the application: who connects waits for nothing, and does not keep others waiting."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from registry.surfaces._uvicorn import listener
from tests.support.deployments import WAIT_S, until, until_sync
from tests.support.http import answer_of, listening
from tests.support.loops import in_loop


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@in_loop
async def test_a_connection_sends_an_answer_of_two_pieces_without_waiting_between_them(host: str) -> None:
    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listening = listener(host, 0)
    async with await asyncio.start_server(connected, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        assert await found
        writer.close()


def test_a_client_may_connect_as_soon_as_the_port_is_known() -> None:
    with listener("127.0.0.1", 0) as listening:
        socket.create_connection(listening.getsockname(), timeout=WAIT_S).close()


def test_a_port_that_is_taken_is_not_shared() -> None:
    with listener("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listener("127.0.0.1", taken.getsockname()[1])


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers at once."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


HEAD = b"GET / HTTP/1.1\r\nhost: here\r\n"


STARTED = (b"G", HEAD, HEAD + b"x-a: b\r\n")


# A connection that idles between two requests has the bound of uvicorn.
@pytest.mark.parametrize(
    ("before", "sent"), [(before, sent) for before in (b"", HEAD + b"\r\n") for sent in STARTED] + [(b"", b"")]
)
def test_a_head_that_does_not_come_in_time_ends_the_connection(before: bytes, sent: bytes) -> None:
    with (
        listening(echo, head_timeout_s=0.2) as port,
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection,
    ):
        if before:
            connection.sendall(before)
            assert answer_of(connection)[0] == 200
        connection.sendall(sent)
        assert connection.recv(100) == b""


def test_a_head_that_comes_byte_by_byte_has_no_more_time_than_any_other() -> None:
    with (
        listening(echo, head_timeout_s=0.2) as port,
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection,
    ):
        connection.settimeout(0.01)
        left = WAIT_S / 0.01
        while left > 0:
            left -= 1
            try:
                connection.sendall(b"x")
                if connection.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    assert left > 0


def test_a_request_whose_head_has_come_has_all_the_time_of_its_own() -> None:
    inside, leave = threading.Event(), threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        inside.set()
        await until(leave.is_set)
        await echo(scope, receive, send)

    with (
        listening(slow, head_timeout_s=0.05) as port,
        socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection,
    ):
        connection.sendall(HEAD + b"\r\n")
        until_sync(inside)
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        leave.set()
        connection.settimeout(WAIT_S)
        assert answer_of(connection) == (200, b"ok")
