"""The command `hedgerow serve` as a process: what it says at the start, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from registry.surfaces.http import digest_of
from tests.support.deployments import WAIT_S
from tests.support.http import TOKEN, new_client

ROOT = Path(__file__).parent.parent.parent

SETTINGS = f"""
tools = ["tests.support.served_tools:TOOLS"]
permitted = "every"
reply_timeout_s = 1
catalog_prose = "quoted"
fence_key = "random"
max_result_chars = 1000
max_media_bytes = 1000
admission = {{max_concurrent = 4, window_s = 0.5}}
tokens.ci = {{sha256 = "{digest_of(TOKEN)}", instances = ["main"], grants = "every"}}
"""


@dataclass(frozen=True, kw_only=True)
class Process:
    """A running `hedgerow serve`."""

    popen: subprocess.Popen[str]
    said: str
    port: int
    client: httpx.Client

    def call(self, name: str, **arguments: object) -> httpx.Response:
        """Call a tool."""
        headers = {"authorization": f"Bearer {TOKEN}"}
        return self.client.post(f"/v1/instances/main/tools/{name}", json=arguments, headers=headers)

    def ended(self) -> tuple[int, str]:
        """Wait for the end: the exit code, and what was said after the start."""
        _, said = self.popen.communicate(timeout=4 * WAIT_S)
        return self.popen.returncode, said


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-W", "error", "-c", "from registry.cli import main; main()", *arguments]


@contextmanager
def process(tmp_path: Path, http: str) -> Generator[Process]:
    """Start `hedgerow serve` with these settings for HTTP, on a free port."""
    path = tmp_path / "hedgerow.toml"
    path.write_text(f"{SETTINGS}[http]\nport = 0\n{http}\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    popen = subprocess.Popen(
        command("serve", "--config", str(path)), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert popen.stderr is not None
    try:
        said: list[str] = []
        while not (said and said[-1].startswith("  drain_s: ")):
            said.append(popen.stderr.readline())
            assert said[-1], f"it ended: {said}"
        port = next(int(line.rpartition(":")[2]) for line in said if line.startswith("  serving: HTTP on "))
        with new_client(port) as client:
            yield Process(popen=popen, said="".join(said), port=port, client=client)
    finally:
        popen.kill()
        popen.communicate()


def lines_of(path: Path, wanted: int) -> list[str]:
    """Wait until a file has so many lines."""
    found: list[str] = []
    until = time.monotonic() + WAIT_S
    while len(found) < wanted:
        assert time.monotonic() < until, f"{path.name} has only {found}"
        time.sleep(0.01)
        found = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return found


def test_the_start_prints_the_posture_and_no_secret(tmp_path: Path) -> None:
    with process(tmp_path, "drain_s = 1") as served:
        answer = served.call("echo", text="four")
        served.popen.send_signal(signal.SIGTERM)
        code, rest = served.ended()

    assert answer.json()["text"] == "You said 4 characters."
    assert (code, "token ci: instances main; grants every" in served.said) == (0, True)
    assert TOKEN not in served.said + rest
    assert digest_of(TOKEN) not in served.said + rest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_running_is_answered_before_the_end(tmp_path: Path, number: signal.Signals) -> None:
    trace = tmp_path / "trace"
    with process(tmp_path, "drain_s = 5") as served:
        head = (
            f"POST /v1/instances/main/tools/wait HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {TOKEN}\r\n"
            "content-type: application/json\r\n"
        )
        body = json.dumps({"seconds": 0.5, "path": str(trace)})
        with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT_S) as connection:
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            lines_of(trace, 1)
            served.popen.send_signal(number)
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        code, _ = served.ended()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer
    assert answer.endswith(b'"text":"Done.","origins":[],"data":null,"media":[]}')
    assert (code, trace.read_text(encoding="ascii")) == (0, "started\ndone\n")


def test_a_write_that_outlived_its_caller_is_waited_for(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with process(tmp_path, "drain_s = 10") as served:
        late = served.call("wait", seconds=2, path=str(trace))
        served.popen.send_signal(signal.SIGTERM)
        code, _ = served.ended()

    assert (late.status_code, code) == (504, 0)
    assert trace.read_text(encoding="ascii") == "started\ndone\n"


def test_the_wait_for_it_is_bounded_and_the_exit_code_says_that_it_was_cut_off(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with process(tmp_path, "drain_s = 0") as served:
        late = served.call("wait", seconds=60, path=str(trace))
        served.popen.send_signal(signal.SIGTERM)
        code, said = served.ended()

    assert (late.status_code, code) == (504, 1)
    assert "1 handlers are still running; they are cut off" in said


def test_a_load_balancer_sees_that_it_is_not_ready_before_the_door_is_shut_and_who_asks_twice_is_in_a_hurry(
    tmp_path: Path,
) -> None:
    with process(tmp_path, "lame_duck_s = 1000\ndrain_s = 1000") as served:
        before = served.client.get("/readyz").status_code
        served.popen.send_signal(signal.SIGTERM)
        until = time.monotonic() + 4 * WAIT_S
        while served.client.get("/readyz").status_code != 503:
            assert time.monotonic() < until, "it is ready though it was asked to end"
        during = served.call("echo", text="x").status_code
        served.popen.send_signal(signal.SIGTERM)
        code, _ = served.ended()

    assert (before, during, code) == (200, 200, 0)


def run(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command where it is expected to end by itself."""
    clean = {key: value for key, value in os.environ.items() if key != "HEDGEROW_TOKEN"}
    return subprocess.run(
        command(*arguments), cwd=tmp_path, env=clean | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True, text=True, timeout=4 * WAIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "There is no hedgerow.toml in this folder."),
        (("--tools", "tests.support.served_tools:TOOLS"), "--tools: HEDGEROW_TOKEN holds no token"),
        (("--tools", "a:b", "--config", "c"), "--config and --tools are two ways to say the same."),
        (("--config", "nothing.toml"), "nothing.toml cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    ended = run(tmp_path, "serve", *arguments)

    assert ended.returncode == 2
    assert f"Error: {sentence}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run(
            tmp_path, "serve", "--tools", "tests.support.served_tools:TOOLS", "--port", port, HEDGEROW_TOKEN=TOKEN
        )

    assert ended.returncode == 1
    assert f"Error: It cannot listen on 127.0.0.1 port {port}: Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_new_token_and_what_the_file_needs_of_it_go_to_two_places(tmp_path: Path) -> None:
    ended = run(tmp_path, "token")

    made = ended.stdout.strip()
    assert re.fullmatch(r"hedgerow_[A-Za-z0-9_-]{43}", made)
    assert ended.stderr == f'sha256 = "{digest_of(made)}"\n'
