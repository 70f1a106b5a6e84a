"""`hedgerow mcp` as a user starts it: on standard input and output, and over HTTP with a token."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.loops import in_loop
from tests.support.mcp_servers import ROOT, bearer
from tests.surfaces.test_mcp_http import HEADERS, INITIALIZE

HEDGEROW = Path(sys.executable).with_name("hedgerow")
TOOLS = ("--tools", "tests.support.mcp_tools:tools")
TOKEN = "hedgerow_a-token-of-a-test-0123456789"
START_S = 30.0


@contextmanager
def command(*arguments: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [HEDGEROW, "mcp", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def posture(process: subprocess.Popen[str]) -> dict[str, str]:
    """Read what is said at the start, up to its last line."""
    assert process.stderr is not None
    said: dict[str, str] = {}
    for line in process.stderr:
        name, colon, fact = line.strip().partition(": ")
        if colon:
            said[name] = fact
        if name == "structured":
            break
    return said


def test_on_standard_input_it_says_its_posture_and_ends_with_its_input() -> None:
    with command(*TOOLS, "--timeout", "7", "--prose", "omitted") as process:
        said = posture(process)
        out, err = process.communicate(timeout=START_S)

    assert said["permitted"] == "every tool"
    assert said["callers"] == "no token on a pipe: whoever holds it is the process itself"
    assert (said["reply_timeout_s"], said["catalog_prose"], said["structured"]) == ("7", "omitted", "False")
    assert (out, err, process.returncode) == ("", "", 0)


@in_loop
async def test_over_http_it_asks_for_the_token_and_ends_at_a_signal() -> None:
    with command(*TOOLS, "--http", "0", "--token-env", "A_TOKEN", A_TOKEN=TOKEN) as process:
        said = posture(process)
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", said["serving"])
        assert found is not None
        async with httpx2.AsyncClient(timeout=START_S) as http:
            assert (await http.post(found[0], json=INITIALIZE, headers=HEADERS)).status_code == 401
        async with bearer(found[0], TOKEN) as client:
            result: Any = await client.call_tool("says", {"text": "hello"})
            assert result.content[0].text == "5 characters"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=START_S)

    assert (out, process.returncode) == ("", 0)
    assert TOKEN not in str(said) + err


@in_loop
async def test_the_file_of_the_process_decides_for_it_too(tmp_path: Path) -> None:
    """A token opens the instances that it names, and narrows to its grants there."""
    file = tmp_path / "hedgerow.toml"
    file.write_text(f"""
        tools = ["tests.support.mcp_tools:tools"]
        permitted = ["says", "fails"]
        reply_timeout_s = 9
        catalog_prose = "omitted"
        fence_key = "random"
        max_result_chars = 5000
        max_media_bytes = 6000
        admission = {{ max_concurrent = 3, window_s = 2 }}
        [instances]
        one = {{}}
        two = {{}}
        [tokens.anna]
        sha256 = "{sha256(TOKEN.encode()).hexdigest()}"
        instances = ["one"]
        grants = ["says"]
    """)
    with command("--config", str(file), "--instance", "one", "--http", "0") as process:
        said = posture(process)
        url = said["serving"].rpartition(" ")[2]
        async with bearer(url, TOKEN) as client:
            listed = [found.name for found in (await client.list_tools()).tools]
    with command("--config", str(file), "--instance", "two", "--http", "0") as process:
        url = posture(process)["serving"].rpartition(" ")[2]
        async with httpx2.AsyncClient(timeout=START_S) as http:
            headers = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}
            refused = await http.post(url, json=INITIALIZE, headers=headers)

    assert (listed, refused.status_code) == (["says"], 401)
    assert (said["permitted"], said["max_result_chars"], said["reply_timeout_s"]) == (
        "the grants fails, says",
        "5000",
        "9",
    )
    assert said["admission"] == "3 at once in this process, a wait of 2 s, then shed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--token-env", "A_TOKEN"), "--token-env needs --http"),
        (("--http", "0", "--token-env", "NOT_SET_ANYWHERE"), "holds no token of 24 characters or more"),
        (("--http", "70000"), "70000"),
        (("--config", "nowhere.toml"), "Give one of them"),
    ],
)
def test_a_wrong_command_line_is_said_and_nothing_is_served(arguments: tuple[str, ...], said: str) -> None:
    with command(*TOOLS, *arguments) as process:
        _, err = process.communicate(timeout=START_S)

    assert process.returncode == 2
    assert said in err
