"""The socket of a server: who connects is waited for by nobody and waits for nothing."""

from __future__ import annotations

import asyncio
import socket

import pytest

from registry.surfaces._listener import listener
from tests.support.deployments import WAIT_S
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
