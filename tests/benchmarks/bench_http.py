"""What a call over HTTP costs: calls per CPU second of the server, as a ratio to a bare Starlette endpoint that does JSON.

Both servers are processes of their own under the same uvicorn, driven in turn by the same clients; the CPU time is theirs
alone. `python -m tests.benchmarks.bench_http soak 100000` instead sends clients of every kind and shows that nothing stays.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from registry import Admission, AuditRecord, ToolDef, ToolInput
from registry.surfaces._serve import serve
from registry.surfaces.http import HttpSurface, Tokens
from tests.support.deployments import deploy
from tests.support.http import token
from tests.support.soak import EXPECTED, KINDS, MAX_BODY, good, soak

ROUNDS = 11
CALLS = 2000
CLIENTS = 16


class Text(ToolInput):
    text: str


async def echo(request: Text) -> str:
    return request.text


async def wait(request: Text) -> str:
    await asyncio.sleep(float(request.text))
    return "done"


async def raising(request: Text) -> str:
    raise RuntimeError(request.text)


def surface(audited: Counter[str]) -> HttpSurface:
    def audit(record: AuditRecord) -> None:
        audited[record.code] += 1

    tools = (
        ToolDef(name="echo", description="d", input=Text, handler=echo, untrusted_output=False, effect="read"),
        ToolDef(name="page", description="d", input=Text, handler=echo, untrusted_output="a page", effect="read"),
        ToolDef(name="wait", description="d", input=Text, handler=wait, untrusted_output=False, effect="read"),
        ToolDef(name="raising", description="d", input=Text, handler=raising, untrusted_output=False, effect="read"),
    )
    deployment = deploy(*tools, admission=Admission(max_concurrent=64, window_s=5), reply_timeout_s=30, audit=audit)
    return HttpSurface({"main": deployment}, tokens=Tokens([token()]), max_body_bytes=MAX_BODY, body_timeout_s=10)


async def bare(request: Request) -> JSONResponse:
    found = await request.json()
    return JSONResponse({"outcome": "answered", "text": found["text"]})


# -- the server process --------------------------------------------------------------------------------------------


def serving(kind: str) -> None:
    audited: Counter[str] = Counter()
    if kind == "bare":
        # At the same address, so that the clients are the same to the byte.
        app = Starlette(routes=[Route("/v1/instances/main/tools/{tool}", bare, methods=["POST"])])
        config = uvicorn.Config(app, port=0, log_config=None, access_log=False, ws="none")
        asyncio.run(bare_until_told(uvicorn.Server(config)))
        return
    served = surface(audited)

    def started(host: str, port: int) -> None:
        print(port, flush=True)

    ended = asyncio.run(
        serve(
            served,
            host="127.0.0.1",
            port=0,
            head_timeout_s=10,
            lame_duck_s=0,
            drain_s=5,
            max_connections=1000,
            started=started,
        )
    )
    print(json.dumps({"ended": ended, "in_use": served.admission.in_use, "audited": audited}), flush=True)


async def bare_until_told(server: uvicorn.Server) -> None:
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  # uvicorn offers no event
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task


@contextmanager
def process(kind: str) -> Generator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "tests.benchmarks.bench_http", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as popen:
        assert popen.stdout is not None
        try:
            yield popen, int(popen.stdout.readline())
        finally:
            popen.kill()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


# -- the ratio -----------------------------------------------------------------------------------------------------


async def load(port: int, tool: str, calls: int) -> None:
    async def client() -> None:
        connection = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(calls // CLIENTS):
            await good(connection, tool)
        connection[1].close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def main() -> None:
    """Print the ratios."""
    found: dict[str, list[float]] = {"bare": [], "own words": [], "fenced": []}
    with process("bare") as (bare_server, bare_port), process("ours") as (ours, port):
        targets = {
            "bare": (bare_server.pid, bare_port, "echo"),
            "own words": (ours.pid, port, "echo"),
            "fenced": (ours.pid, port, "page"),
        }
        for _, target, tool in targets.values():
            asyncio.run(load(target, tool, 200))
        for _ in range(ROUNDS):
            for name, (pid, target, tool) in targets.items():
                before = cpu_s(pid)
                asyncio.run(load(target, tool, CALLS))
                found[name].append((cpu_s(pid) - before) / CALLS)
    base = found["bare"]
    print(f"bare Starlette JSON endpoint: {1 / statistics.median(base):,.0f} calls per CPU second of the server")
    for name in ("own words", "fenced"):
        ratio = statistics.median(b / one for b, one in zip(base, found[name], strict=True))
        print(f"hedgerow, {name}: {ratio:.2f} of the bare endpoint's calls per CPU second")


# -- the soak ------------------------------------------------------------------------------------------------------


def soaking(calls: int) -> None:
    """Print what became of so many calls, and what they left behind."""
    with process("ours") as (server, port):
        asyncio.run(soak(port, 2000, seed=2))
        memory = [resident_mb(server.pid)]
        tally: Counter[tuple[str, str]] = Counter()
        for part in range(10):
            tally += asyncio.run(soak(port, calls // 10, seed=part + 3))
            memory.append(resident_mb(server.pid))
        server.send_signal(signal.SIGTERM)
        assert server.stdout is not None
        left: dict[str, Any] = json.loads(server.stdout.readline())
    wrong = {key: count for key, count in tally.items() if EXPECTED[key[0]] != key[1]}
    print(f"{tally.total():,} calls of {len(KINDS)} kinds of client: {dict(sorted(tally.items()))}")
    print(f"not as expected: {wrong or 'none'}")
    print(f"the server's audit: {left['audited']}")
    print(f"places taken at the end: {left['in_use']}; everything ended: {left['ended']}")
    print(f"resident MB after each tenth: {' '.join(f'{one:.1f}' for one in memory)}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["soak", count]:
            soaking(int(count))
        case [kind]:
            serving(kind)
        case _:
            main()
