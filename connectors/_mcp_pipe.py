"""A peer that is a program: its standard streams as a transport of the protocol, with the bounds that the SDK leaves out.

The program gets an argument list, a scrubbed environment and a process group of its own, which is killed when the connection
ends, whatever the program thinks of that. What it writes to standard error reaches no terminal.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from connectors._mcp_peer import StdioPeer
from connectors._mcp_watch import Read, Watch, Write
from connectors._process import STANDARD_PATH, end, has_ended
from registry.errors import ToolFailed

__all__ = ["TOO_LONG", "UNREADABLE", "pipe"]

# Codes under which a request is answered whose answer was not read. A peer that sends one has its own answer withheld.
TOO_LONG: Final = -33001
UNREADABLE: Final = -33002

PIECE: Final = 65_536
EDGE: Final = 512
MAX_GARBAGE: Final = 1_000
GRACE_S: Final = 1.0
LOOK_S: Final = 0.02
# Standard error is read no faster than this, piece by piece: a flood of it costs the peer and not us.
PAUSE_S: Final = 0.01

ID: Final = rb'"id"\s*:\s*(?P<id>\d{1,15})\s*'
AT_START: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + ID + rb",")
AT_END: Final = re.compile(rb"[,{]\s*" + ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')

GUARD: Final = Path(__file__).with_name("_mcp_guard.py")
# Each program that runs, and our end of its lifeline.
RUNNING: Final[dict[subprocess.Popen[bytes], int]] = {}


@asynccontextmanager
async def pipe(peer: StdioPeer, secret_env: Mapping[str, str], watch: Watch) -> AsyncGenerator[tuple[Read, Write]]:
    """Start the program, and hand out its streams; when this ends, its whole process group has ended.

    Raises:
        ToolFailed: it is not installed, or did not start.
    """
    process = started(peer, secret_env)
    try:
        async with streams(process, watch) as both:
            yield both
    finally:
        try:
            await leave(process)
        finally:
            finished(process)


def started(peer: StdioPeer, secret_env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # A relative folder on PATH would find a program in the folder that is worked in.
    folders = os.environ.get("PATH", STANDARD_PATH).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    program = shutil.which(peer.argv[0], path=path)
    if program is None:
        raise ToolFailed(f"The program of the peer {peer.name!r} is not installed on this machine.")
    lifeline, held = os.pipe()
    # Absolute, since a relative one would be looked for again from `cwd`.
    argv = [str(Path(program).absolute()), *peer.argv[1:]]
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(lifeline), *argv],
            pass_fds=(lifeline,),
            cwd=peer.cwd,
            env={"PATH": path, "LC_ALL": "C.UTF-8", **peer.env, **secret_env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        os.close(held)
        # The number's own text, not the exception's: that one holds the arguments.
        raise ToolFailed(
            f"The program of the peer {peer.name!r} did not start: {os.strerror(error.errno or 0)}."
        ) from None
    finally:
        os.close(lifeline)
    RUNNING[process] = held
    return process


def finished(process: subprocess.Popen[bytes]) -> None:
    """Kill the group and reap."""
    end(process)
    held = RUNNING.pop(process, None)
    if held is not None:
        os.close(held)


async def leave(process: subprocess.Popen[bytes]) -> None:
    """Give a program whose input has ended a moment to end by itself; what it has to write may be worth that."""
    async with asyncio.timeout(GRACE_S * 2):
        for _ in range(int(GRACE_S / LOOK_S)):
            if has_ended(process.pid):
                return
            await asyncio.sleep(LOOK_S)


@atexit.register
def kill_the_rest() -> None:
    """At the end of the process nothing of ours runs on, not even where a loop was left without being closed."""
    for process in list(RUNNING):
        with suppress(Exception):  # the interpreter is ending, and the next one must be killed too
            finished(process)


# -- the streams ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def streams(process: subprocess.Popen[bytes], watch: Watch) -> AsyncGenerator[tuple[Read, Write]]:
    loop = asyncio.get_running_loop()
    stdout, errors = asyncio.StreamReader(PIECE), asyncio.StreamReader(PIECE)
    transports: list[asyncio.BaseTransport] = []
    try:
        for reader, file in ((stdout, process.stdout), (errors, process.stderr)):
            reading, _ = await loop.connect_read_pipe(lambda of=reader: asyncio.StreamReaderProtocol(of), file)  # type: ignore[misc]  # a default binds the loop variable
            transports.append(reading)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        pipe_in, _ = await loop.connect_write_pipe(lambda: flow, process.stdin)
        transports.append(pipe_in)
        stdin = asyncio.StreamWriter(pipe_in, flow, None, loop)
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            loop.create_task(read_lines(stdout, incoming, watch)),
            loop.create_task(write_lines(outgoing, stdin, incoming)),
            loop.create_task(read_errors(errors, watch)),
        ]
        try:
            yield Read(read, watch), Write(write, watch)
        finally:
            # What was accepted for writing goes out first; a peer that does not read keeps nobody.
            write.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S * 10):
                    await asyncio.wait([tasks[1]])
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for stream in (incoming, read, write, outgoing):
                stream.close()
    finally:
        for transport in transports:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            transport.close()
        # One turn of the loop, in which the transports close their pipes.
        await asyncio.sleep(0)


async def read_lines(
    stdout: asyncio.StreamReader, incoming: MemoryObjectSendStream[SessionMessage | Exception], watch: Watch
) -> None:
    """Send on each line that is a message. One that is too long is not kept, and its request is answered with an error."""
    buffer = bytearray()
    skipped: bytes | None = None
    looked_at = garbage = 0
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with incoming:
            while data := await stdout.read(PIECE):
                if watch.took(len(data)):
                    return
                buffer += data
                while (at := buffer.find(b"\n", looked_at)) >= 0:
                    line, looked_at = bytes(buffer[:at]), 0
                    del buffer[: at + 1]
                    if skipped is not None or len(line) > watch.limits.max_message_bytes:
                        found = answer_to(line[:EDGE] if skipped is None else skipped, line[-EDGE:], TOO_LONG)
                        skipped = None
                    else:
                        # What cannot be read may still be an answer that somebody waits for.
                        found = message_of(line) or answer_to(line[:EDGE], line[-EDGE:], UNREADABLE)
                    garbage += found is None
                    if garbage > MAX_GARBAGE:
                        watch.leave("The peer writes to its output what are no messages, and was left.")
                        return
                    if found is not None:
                        await incoming.send(SessionMessage(found))
                looked_at = len(buffer)
                if looked_at > watch.limits.max_message_bytes:
                    skipped = bytes(buffer[:EDGE]) if skipped is None else skipped
                    del buffer[:-EDGE]
                    looked_at = len(buffer)


def message_of(line: bytes) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def answer_to(start: bytes, ending: bytes, code: int) -> types.JSONRPCMessage | None:
    """The error with which a request is answered whose answer is not taken, if it says at either end whose it is."""
    found = AT_START.match(start) or AT_END.search(ending)
    if found is None:
        return None
    error = types.ErrorData(code=code, message="not taken")
    return types.JSONRPCError(jsonrpc="2.0", id=int(found["id"]), error=error)


async def write_lines(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    stdin: asyncio.StreamWriter,
    incoming: MemoryObjectSendStream[Any],
) -> None:
    try:
        async with outgoing:
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode("utf-8") + b"\n")
                await stdin.drain()
    except OSError:
        # Its input is closed, so nothing that is asked now is ever answered.
        incoming.close()


async def read_errors(errors: asyncio.StreamReader, watch: Watch) -> None:
    while data := await errors.read(PIECE):
        watch.note_error(data)
        await asyncio.sleep(PAUSE_S)
