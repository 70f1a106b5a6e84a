"""Runs the checker over small projects, through its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "checker"


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Lay out a project."""
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def tools_check(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "tools_check", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def findings(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The findings of `check` as data."""
    done = tools_check(folder, "check", "--format", "jsonl", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a corpus that was copied into the repository."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines() if line.strip()]


LYING = """\
import httpx
from registry import ToolDef, ToolInput


class Page(ToolInput):
    url: str


def load(url: str) -> str:
    return httpx.get(url).text


def page(request: Page) -> str:
    return f"got {load(request.url)}"


TOOL = ToolDef(
    name="page",
    description="Reads a page.",
    input=Page,
    handler=page,
    untrusted_output=False,
)
"""
HONEST = LYING.replace("untrusted_output=False", 'untrusted_output="web page"')
