"""Clients of every kind at once: good ones, slow ones, those that leave, those that send too much or nonsense."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.support.http import TOKEN

MAX_BODY = 10_000

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def request(tool: str, body: bytes, *, length: int | None = None) -> bytes:
    """A call as it goes over the wire."""
    size = len(body) if length is None else length
    head = (
        f"POST /v1/instances/main/tools/{tool} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {TOKEN}\r\n"
        f"content-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    )
    return head.encode("ascii") + body


async def answer(reader: asyncio.StreamReader) -> str:
    """Read one answer: its outcome, or its status where there is none."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("ascii").lower().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
    body = json.loads(await reader.readexactly(length))
    return str(body.get("outcome", body.get("status")))


GOOD = json.dumps({"text": "Three lights are on."}).encode()


async def good(connection: Connection, tool: str = "echo", body: bytes = GOOD) -> str:
    reader, writer = connection
    writer.write(request(tool, body))
    return await answer(reader)


async def malformed(connection: Connection) -> str:
    return await good(connection, body=b'{"txt": 1}')


async def nonsense(connection: Connection) -> str:
    return await good(connection, body=b"{" * 50)


async def unknown(connection: Connection) -> str:
    return await good(connection, tool="nothing")


async def raising(connection: Connection) -> str:
    return await good(connection, tool="raising")


async def oversized(connection: Connection) -> str:
    reader, writer = connection
    writer.write(request("echo", b"x" * 2 * MAX_BODY))
    try:
        return await answer(reader)
    finally:
        writer.close()


async def slow(connection: Connection) -> str:
    """A byte at a time."""
    reader, writer = connection
    sent = request("echo", GOOD)
    writer.write(sent[:-10])
    for at in range(len(sent) - 10, len(sent)):
        writer.write(sent[at : at + 1])
        await asyncio.sleep(0.001)
    return await answer(reader)


async def half(connection: Connection) -> str:
    """Leaves in the middle of the body."""
    connection[1].write(request("echo", b"{", length=100))
    await connection[1].drain()
    connection[1].close()
    return "left"


async def leaving(connection: Connection) -> str:
    """Leaves while the tool runs."""
    connection[1].write(request("wait", b'{"text": "0.2"}'))
    await connection[1].drain()
    await asyncio.sleep(0.1)
    connection[1].close()
    return "left"


# How often each comes, of a hundred.
KINDS: dict[Callable[[Connection], Awaitable[str]], int] = {
    good: 85, malformed: 4, nonsense: 3, unknown: 2, raising: 2, oversized: 1, slow: 1, half: 1, leaving: 1,
}  # fmt: skip

EXPECTED = {
    "good": "answered", "malformed": "malformed", "nonsense": "400", "unknown": "404", "raising": "failed",
    "oversized": "413", "slow": "answered", "half": "left", "leaving": "left",
}  # fmt: skip


async def soak(port: int, calls: int, *, clients: int = 16, seed: int = 1) -> Counter[tuple[str, str]]:
    """Make so many calls with so many clients, and count the kind of client and what it got."""
    chance = random.Random(seed)
    kinds = chance.choices([*KINDS], weights=[*KINDS.values()], k=calls)
    waiting = iter(kinds)
    tally: Counter[tuple[str, str]] = Counter()

    async def client() -> None:
        connection: Connection | None = None
        for kind in waiting:
            if connection is None or connection[1].is_closing():
                connection = await asyncio.open_connection("127.0.0.1", port)
            got = await kind(connection)
            tally[(str(getattr(kind, "__name__", "")), got)] += 1
        if connection is not None:
            connection[1].close()
            with suppress(ConnectionError):
                await connection[1].wait_closed()

    await asyncio.gather(*(client() for _ in range(clients)))
    return tally
