"""An IMAP server that says what a test tells it to: what a real one never says, and a hostile one may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

CAPABILITY = b"* CAPABILITY IMAP4rev1\r\nTAG OK done\r\n"
GREETING = b"* OK ready\r\n"


@dataclass(slots=True, kw_only=True)
class Spoken:
    """A server that runs, and what it was told."""

    port: int
    lines: list[bytes] = field(default_factory=list[bytes])

    def commands(self) -> list[str]:
        """The commands, in order, a UID command with its own name; a line of one word is that word."""
        words = [line.split() for line in self.lines]
        return [b" ".join(command_of(line)).decode().upper() for line in words]


def command_of(words: list[bytes]) -> list[bytes]:
    if len(words) < 2:
        return words
    return words[1:3] if words[1].upper() == b"UID" else words[1:2]


@asynccontextmanager
async def imap_server(answers: Mapping[str, bytes], *, greeting: bytes = GREETING) -> AsyncGenerator[Spoken]:
    """Serve until the block ends. An answer holds `TAG` where the tag goes; one that ends in `...` goes on for ever."""
    spoken = Spoken(port=0)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError, asyncio.CancelledError, asyncio.LimitOverrunError, ValueError):
            await send(writer, greeting)
            while line := await reader.readline():
                spoken.lines.append(line.rstrip(b"\r\n"))
                tag, _, _ = line.partition(b" ")
                answer = answers.get(spoken.commands()[-1], CAPABILITY)
                await send(writer, answer.replace(b"TAG", tag))
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    spoken.port = server.sockets[0].getsockname()[1]
    try:
        yield spoken
    finally:
        server.close()
        left = list(tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def send(writer: asyncio.StreamWriter, answer: bytes) -> None:
    is_endless = answer.endswith(b"...")
    writer.write(answer.removesuffix(b"..."))
    await writer.drain()
    while is_endless:
        writer.write(b"x" * 1000)
        await writer.drain()
        await asyncio.sleep(0.001)  # the pace is what this server is about; no test waits for it
