"""What programs, panes and commits send to a terminal reaches a reader as text, and no command of theirs is carried out."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.terminal import Programs, program_tools, tools
from registry import Outcome
from tests.support.deployments import until
from tests.support.loops import in_loop
from tests.support.programs import needs
from tests.support.rows import rows
from tests.support.told import ask

ROWS = rows("connectors/terminal_escapes.jsonl")
MARK = "=== {} ===\n"


def sent(row: dict[str, Any]) -> bytes:
    return str(row["bytes"]).encode("utf-8", "surrogateescape")


def commands_in(outcome: Outcome) -> list[str]:
    """The characters of an answer that a terminal would take for commands."""
    return [char for char in outcome.text if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]


@in_loop
async def test_what_a_program_prints_is_no_command_to_whoever_shows_the_answer(tmp_path: Path) -> None:
    for number, row in enumerate(ROWS):
        (tmp_path / f"{number:02}").write_bytes(MARK.format(row["name"]).encode() + sent(row) + b"\n")
    code = "import pathlib, sys\nfor p in sorted(pathlib.Path().iterdir()): sys.stdout.buffer.write(p.read_bytes())"
    with Programs({"show": [sys.executable, "-c", code]}, folder=tmp_path) as these:
        await ask(program_tools(these), "start_program", program="show")
        await until(lambda: these.look(1).state != "running")
        told = await ask(program_tools(these), "read_program", run=1, limit=100_000)

    assert commands_in(told.outcome) == []
    # Nothing is taken away either: who reads the block back has what was printed.
    whole = b"".join(MARK.format(row["name"]).encode() + sent(row) + b"\n" for row in ROWS)
    assert told.foreign[0].encode("utf-8", "surrogateescape") == whole


def commit_each(folder: Path) -> None:
    """A repository in which each row is what a file holds and what a commit says."""
    who = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **who}

    def git(*arguments: str, stdin: bytes = b"") -> None:
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, input=stdin, timeout=30)

    git("init", "-q", "-b", "main")
    for number, row in enumerate(ROWS):
        (folder / f"{number:02}").write_bytes(sent(row))
        git("add", ".")
        git("commit", "-q", "-F", "-", stdin=b"x" + sent(row))


@needs("git")
@in_loop
async def test_what_a_commit_says_is_no_command_to_whoever_shows_the_answer(tmp_path: Path) -> None:
    commit_each(tmp_path)

    shown = [await ask(tools(tmp_path), "git_show", revision=f"HEAD~{number}") for number in range(3)]
    for told in (await ask(tools(tmp_path), "git_log", limit=200), await ask(tools(tmp_path), "git_status"), *shown):
        assert told.code == "answered"
        assert commands_in(told.outcome) == []


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[str]:
    """The socket of a tmux server whose pane was sent every row."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    (tmp_path / "all").write_bytes(b"\n".join(map(sent, ROWS)) + b"\x1b\\\x1b[0m\x1b(B\nthe end\n")
    name = f"hedgerow-escapes-{os.getpid()}"
    base = ["tmux", "-L", name, "-f", os.devnull]
    show = ["new-session", "-d", "-s", "work", "-x", "200", "-y", "50", f"cat '{tmp_path}/all'; sleep 1000"]
    subprocess.run([*base, *show], check=True, timeout=30, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
    yield name
    subprocess.run([*base, "kill-server"], check=True, timeout=30)


@needs("git", "tmux")
@in_loop
async def test_what_a_pane_shows_is_no_command_to_whoever_shows_the_answer(pane: str, tmp_path: Path) -> None:
    these = tools(tmp_path, tmux_socket=pane)
    async with asyncio.timeout(10):
        told = await ask(these, "tmux_pane", target="work", history=100)
        while "the end" not in "".join(told.foreign):
            told = await ask(these, "tmux_pane", target="work", history=100)

    assert commands_in(told.outcome) == []
    assert "\x1b" not in told.foreign[0]
