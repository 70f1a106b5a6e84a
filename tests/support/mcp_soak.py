"""A client of the Model Context Protocol on the bare wire of a pipe that does everything at once: good calls, wrong ones,
calls that it takes back, and lines that are nothing of the protocol.

`python -m tests.support.mcp_soak 50000` sends so many lines and shows that nothing stays.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry import Admission, Deployment
from tests.support import mcp_tools
from tests.support.deployments import tool
from tests.support.mcp_servers import ROOT

MOST_BYTES = 10_000
AT_ONCE = 32

# How often each comes, of a hundred.
KINDS = {
    "good": 70, "foreign": 10, "malformed": 4, "unknown": 2, "raising": 3, "taken back": 5, "nonsense": 4, "too long": 2,
}  # fmt: skip
EXPECTED = {
    "good": "answered", "foreign": "answered", "malformed": "malformed", "unknown": "unknown_tool", "raising": "failed",
    "too long": "-32600",
}  # fmt: skip
NONSENSE = (b"", b"no JSON", b"\xff\xfe\x00", b"[]", b"null", b"7", b'{"jsonrpc":"1.0"}', b"[" * 5000, b'{"id":')


def deployment() -> Deployment:
    """The tools of the other tests, and one that says how many places are taken."""
    admission = Admission(max_concurrent=8, window_s=10)
    places = tool(lambda _: f"{admission.in_use} taken", name="places")
    return mcp_tools.patient(places, admission=admission)


@dataclass(slots=True)
class Soaked:
    """What came of it."""

    tally: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """The kind of line, and what was answered."""
    strays: list[Any] = field(default_factory=list[Any])
    """Answers to nothing that was asked."""
    places: str = ""
    """What the server says of its places at the end."""
    resident_mb: list[float] = field(default_factory=list[float])
    """After each tenth."""
    last_words: str = ""
    """What the server says when it has ended."""


def line_of(kind: str, id_: int, chance: random.Random) -> bytes:
    names = {"foreign": "answers", "raising": "fails", "unknown": "nothing", "taken back": "waits"}
    if kind == "nonsense":
        return chance.choice(NONSENSE)
    text: Any = {"malformed": 7, "too long": "x" * 2 * MOST_BYTES}.get(kind, "hello")
    name = names.get(kind, "says")
    arguments = {} if name in ("fails", "waits", "nothing") else {"text": text}
    return call_line(id_, name, arguments)


def call_line(id_: int, name: str, arguments: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return json.dumps(message).encode()


def outcome_of(answer: dict[str, Any]) -> str:
    if "error" in answer:
        error: dict[str, Any] = answer["error"]
        data: dict[str, Any] = error.get("data") or {}
        return str(data.get("outcome", error["code"]))
    return str(answer["result"].get("_meta", {}).get("hedgerow/outcome"))


async def soak(lines: int, *, seed: int = 1) -> Soaked:
    """Send so many lines to a server that is a process of its own, never more than `AT_ONCE` unanswered."""
    chance = random.Random(seed)
    found = Soaked()
    options = ("tests.support.mcp_soak:deployment", f"max_message_bytes={MOST_BYTES}")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.mcp_process", *options,
        cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    said = asyncio.ensure_future(last_line(process.stderr))
    waiting: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
    room = asyncio.Semaphore(AT_ONCE)

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            answer = json.loads(line)
            kind, future = waiting.pop(answer.get("id"), ("", None))
            if future is None:
                found.strays.append(answer)
                continue
            room.release()
            found.tally[kind, outcome_of(answer)] += 1
            future.set_result(answer)

    reading = asyncio.ensure_future(read())

    async def send(line: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(line + b"\n")
        await process.stdin.drain()

    async def ask(id_: int, kind: str, line: bytes) -> dict[str, Any]:
        waiting[id_] = kind, (future := asyncio.get_running_loop().create_future())
        await room.acquire()
        await send(line)
        answer: dict[str, Any] = await future
        return answer

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
    await ask(0, "hello", json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
    await send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    tasks: set[asyncio.Task[Any]] = set()
    for number, kind in enumerate(chance.choices([*KINDS], weights=[*KINDS.values()], k=lines), start=1):
        line = line_of(kind, number, chance)
        if kind == "nonsense":
            await send(line)
            found.tally[kind, ""] += 1
        elif kind == "taken back":
            await send(line)
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            await send(json.dumps(note).encode())
            found.tally[kind, ""] += 1
        else:
            task = asyncio.ensure_future(ask(number, kind, line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if len(tasks) >= AT_ONCE:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if number % (lines // 10) == 0:
            found.resident_mb.append(resident_mb(process.pid))
    if tasks:
        await asyncio.wait(tasks)
    places = await ask(lines + 1, "places", call_line(lines + 1, "places", {}))
    found.places = places["result"]["content"][0]["text"]
    process.stdin.close()
    await reading
    found.last_words = await said
    await process.wait()
    return found


async def last_line(stream: asyncio.StreamReader) -> str:
    last = ""
    async for line in stream:
        last = line.decode().strip() or last
    return last


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def main(lines: int) -> None:
    """Print what became of so many lines."""
    found = asyncio.run(soak(lines))
    wrong = {key: count for key, count in found.tally.items() if EXPECTED.get(key[0], key[1]) != key[1]}
    print(f"{lines:,} lines of {len(KINDS)} kinds: {dict(sorted(found.tally.items()))}")
    print(f"not as expected: {wrong or 'none'}; answers to nothing: {len(found.strays)}")
    print(f"at the end: {found.places} (by the question itself); {found.last_words}")
    print(f"resident MB after each tenth: {' '.join(f'{one:.1f}' for one in found.resident_mb)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
