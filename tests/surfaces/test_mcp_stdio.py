"""The raw wire of standard input and output: bounds, cancellation, the end, and what is not the protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from registry import Deployment
from tests.support import mcp_tools
from tests.support.deployments import Nothing, deploy, tool
from tests.support.mcp_servers import ROOT

# Another interpreter starts, and the machine may be busy.
START_S = 30.0


def noisy() -> Deployment:
    """Tools that print, read standard input, and take long."""

    def prints(_: Nothing) -> str:
        print("a stray print")
        subprocess.run([sys.executable, "-c", "print('a stray child')"], check=True)
        return repr(sys.stdin.read())

    async def slow(_: Nothing) -> str:
        import asyncio

        await asyncio.sleep(0.3)  # the pace is what this tool is about; no test waits for it
        print("slow has ended", file=sys.stderr, flush=True)
        return "done"

    async def endless(_: Nothing) -> str:
        import asyncio

        await asyncio.Event().wait()
        return ""

    return deploy(
        tool(prints, name="prints"),
        tool(slow, name="slow", effect="write"),
        tool(endless, name="endless", effect="write"),
        reply_timeout_s=30,
    )


class Wire:
    """A server as a process, and its lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, id_: int | str, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode())

    def call(self, id_: int | str, name: str, **arguments: Any) -> None:
        self.ask(id_, "tools/call", name=name, arguments=arguments)

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[list[Any], str, int]:
        """Close the input; return what still comes, what is said on standard error, and the exit code."""
        out, err = self.process.communicate(timeout=START_S)
        return [json.loads(line) for line in out.splitlines()], err.decode(), self.process.returncode


@contextmanager
def wire(deployment: str, *options: str) -> Generator[Wire]:
    command = [sys.executable, "-m", "tests.support.mcp_process", deployment, *options]
    pipe = subprocess.PIPE
    # As a host starts it: with a standard output that Python buffers.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        server = Wire(process)
        try:
            server.ask(
                0,
                "initialize",
                protocolVersion="2025-11-25",
                capabilities={},
                clientInfo={"name": "test", "version": "1"},
            )
            assert server.line()["id"] == 0
            server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            yield server
        finally:
            process.kill()


PATIENT = "tests.support.mcp_tools:patient"
NOISY = "tests.surfaces.test_mcp_stdio:noisy"


def test_a_line_that_is_too_long_is_answered_and_not_kept_and_the_next_one_is_served() -> None:
    text = "x" * 5_000_000
    first = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "says", "arguments": {"text": text}}}
    last = {
        "method": "tools/call",
        "params": {"name": "says", "arguments": {"id": 9, "text": text}},
        "jsonrpc": "2.0",
        "id": "b",
    }
    hidden = {"jsonrpc": "2.0", "params": {"id": 7, "text": text}, "id": 3, "method": "tools/call"}
    with wire(PATIENT, "max_message_bytes=100000") as server:
        for message in (first, last, hidden):
            server.send(json.dumps(message).encode())
        server.send(b"y" * 100_001)
        server.call(4, "says", text="z" * 99_000)
        answers = [server.line() for _ in range(5)]

    assert [(answer.get("id"), answer.get("error", {}).get("code")) for answer in answers] == [
        (1, -32600), ("b", -32600), (None, -32600), (None, -32600), (4, None)
    ]  # fmt: skip
    assert answers[4]["result"]["content"][0]["text"] == "99000 characters"


def test_a_cancelled_call_is_never_answered() -> None:
    with wire(PATIENT) as server:
        server.call(1, "waits")
        server.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
        server.call(2, "says", text="abc")
        assert server.line()["id"] == 2
        rest, _, code = server.end()

    assert (rest, code) == ([], 0)


def test_the_end_of_the_input_waits_for_the_answers_that_are_due() -> None:
    with wire(NOISY) as server:
        server.call(1, "slow")
        rest, said, code = server.end()

    assert [answer["result"]["content"][0]["text"] for answer in rest] == ["done"]
    assert (said.splitlines()[-1], code) == ("still running: 0", 0)


def test_the_end_waits_no_longer_than_its_bound() -> None:
    with wire(NOISY, "drain_s=0.1") as server:
        server.call(1, "endless")
        rest, said, _ = server.end()

    assert [answer["error"]["message"] for answer in rest] == ["Connection closed"]
    assert said.splitlines()[-1] == "still running: 1"


def test_a_signal_is_the_end_of_the_input() -> None:
    with wire(NOISY) as server:
        server.call(1, "slow")
        server.call(2, "nothing of this name")
        assert server.line()["id"] == 2
        server.process.send_signal(signal.SIGTERM)
        assert server.line()["result"]["content"][0]["text"] == "done"
        assert server.process.wait(START_S) == 0


def test_what_a_handler_prints_or_reads_is_not_the_protocols() -> None:
    with wire(NOISY) as server:
        server.call(1, "prints")
        answer = server.line()
        rest, said, _ = server.end()

    assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "''")
    assert rest == []
    assert {"a stray print", "a stray child"} <= set(said.splitlines())


@pytest.mark.parametrize("line", [b"", b"not json", b"\xff\xfe", b"[" * 50_000, b'{"jsonrpc":"1.0"}', b"null", b"[]"])
def test_what_is_not_the_protocol_leaves_the_server_serving(line: bytes) -> None:
    with wire(PATIENT) as server:
        server.send(line)
        server.call(1, "says", text="abc")
        assert server.line()["id"] == 1


def test_the_posture_is_said_on_standard_error_and_holds_no_secret() -> None:
    with wire(PATIENT) as server:
        _, said, _ = server.end()

    assert "permitted: the grants " in said
    assert "max_result_chars: 100000" in said
    assert "max_message_bytes: 4194304" in said
    assert "a key for tests" not in said
    assert mcp_tools.SECRET not in said
