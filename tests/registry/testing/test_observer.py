"""The ingress observer sees what a tool opens, knows whose it is, and is not there when nobody asks."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from registry import ToolInput, call_tool, run_registry_tool
from registry.testing import Ingress, Observed, observe_ingress
from registry.testing import _observer as observer
from tests.support.deployments import deploy, tool

SECRET = Path(__file__)


def watched(handler: Callable[[ToolInput], Any], declared: Any = False) -> Observed:
    """What a tool with this handler opens."""
    with observe_ingress() as observed:
        asyncio.run(run_registry_tool(deploy(tool(handler, declared)), "tool", {}))
    return observed


def read() -> str:
    return SECRET.read_text()


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(5)


def connect() -> None:
    with socket.socket() as client:
        client.settimeout(5)
        client.connect_ex(("127.0.0.1", 9))


def listed() -> None:
    for _ in os.scandir(SECRET.parent):
        pass


def started() -> None:
    subprocess.run([sys.executable, "-c", ""], check=False, timeout=30)


def database() -> None:
    sqlite3.connect(":memory:").close()


def resolved() -> None:
    socket.getaddrinfo("127.0.0.1", 80)


WAYS_IN: dict[str, Callable[[], object]] = {
    "open": read,
    "os.scandir": listed,
    "socket.connect": connect,
    "socket.getaddrinfo": resolved,
    "sqlite3.connect": database,
    "subprocess.Popen": started,
}


@pytest.mark.parametrize("event", WAYS_IN)
def test_a_tool_that_declares_false_and_opens_something_is_seen(event: str) -> None:
    def handler(_: ToolInput) -> str:
        WAYS_IN[event]()
        return "own words"

    found = [seen for seen in watched(handler).undeclared if seen.event == event]

    assert [(seen.tool, seen.declared_own) for seen in found] == [("tool", True)]
    assert found[0].where.startswith(f"{__file__}:")


@pytest.mark.parametrize("event", WAYS_IN)
def test_it_is_seen_in_a_thread_that_the_tool_starts(event: str) -> None:
    def handler(_: ToolInput) -> str:
        in_a_thread(WAYS_IN[event])
        return "own words"

    assert event in [seen.event for seen in watched(handler).undeclared]


@pytest.mark.parametrize("event", WAYS_IN)
def test_it_is_seen_in_a_pool_that_another_tool_filled_before(event: str) -> None:
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(int).result(5)

        def handler(_: ToolInput) -> str:
            pool.submit(WAYS_IN[event]).result(5)
            return "own words"

        assert event in [seen.event for seen in watched(handler).undeclared]


def test_it_is_seen_in_a_coroutine_and_in_what_it_hands_to_a_thread() -> None:
    async def directly(_: ToolInput) -> str:
        return read()

    async def to_thread(_: ToolInput) -> str:
        return await asyncio.to_thread(read)

    async def to_executor(_: ToolInput) -> str:
        return await asyncio.get_running_loop().run_in_executor(None, read)

    for handler in (directly, to_thread, to_executor):
        assert [(seen.event, seen.subject) for seen in watched(handler).undeclared] == [("open", str(SECRET))]


def test_a_thread_of_a_thread_is_the_tools_too() -> None:
    def handler(_: ToolInput) -> str:
        in_a_thread(lambda: in_a_thread(read))
        return "own words"

    assert [seen.event for seen in watched(handler).undeclared] == ["open"]


def test_two_tools_at_once_are_told_apart() -> None:
    gate = threading.Barrier(2)

    def reads(_: ToolInput) -> str:
        gate.wait(5)
        return read()

    def waits(_: ToolInput) -> str:
        gate.wait(5)
        return "own words"

    async def both() -> None:
        deployment = deploy(tool(reads, "the disk", name="reads"), tool(waits, name="waits"))
        await asyncio.gather(*(run_registry_tool(deployment, name, {}) for name in ("reads", "waits")))

    with observe_ingress() as observed:
        asyncio.run(both())

    assert [(seen.tool, seen.declared_own) for seen in observed.seen] == [("reads", False)]
    assert observed.undeclared == ()


def test_what_a_nested_call_opens_is_the_nested_tools() -> None:
    async def outer(_: ToolInput) -> str:
        await call_tool("inner", {})
        return "own words"

    def inner(_: ToolInput) -> str:
        return read()

    deployment = deploy(tool(outer, name="outer"), tool(inner, "the disk", name="inner"))
    with observe_ingress() as observed:
        asyncio.run(run_registry_tool(deployment, "outer", {}))

    assert [(seen.tool, seen.event) for seen in observed.seen] == [("inner", "open")]


def test_a_tool_that_opens_nothing_is_not_reported() -> None:
    def handler(_: ToolInput) -> str:
        import colorsys
        import wave  # reads files of Python's own, which an import does

        with Path(os.devnull).open("wb") as nowhere:
            nowhere.write(b"x")
        return f"{colorsys} {wave} {os.environ.get('HOME')} {sum(range(10))}"

    assert watched(handler).seen == ()


def test_a_tool_that_fails_is_not_reported_for_its_traceback() -> None:
    def handler(_: ToolInput) -> str:
        import traceback

        try:
            raise ValueError
        except ValueError:
            return traceback.format_exc()

    assert watched(handler).seen == ()


def test_a_file_opened_for_writing_alone_is_no_way_in(tmp_path: Path) -> None:
    def writes(_: ToolInput) -> str:
        (tmp_path / "a").write_text("x")
        os.close(os.open(tmp_path / "b", os.O_WRONLY | os.O_CREAT))
        return "written"

    def updates(_: ToolInput) -> str:
        with (tmp_path / "a").open("r+"):
            return "own words"

    assert watched(writes).seen == ()
    assert [seen.subject for seen in watched(updates).seen] == [str(tmp_path / "a")]


def test_what_the_test_itself_opens_is_told_apart() -> None:
    with observe_ingress() as observed:
        read()

    assert (observed.seen, [found.tool for found in observed.unattributed]) == ((), [None])


def test_what_a_thread_does_after_its_tool_has_ended_is_not_the_tools() -> None:
    answered, done = threading.Event(), threading.Event()

    def later() -> None:
        answered.wait(5)
        read()
        done.set()

    def handler(_: ToolInput) -> str:
        threading.Thread(target=later).start()
        return "own words"

    with observe_ingress() as observed:
        asyncio.run(run_registry_tool(deploy(tool(handler)), "tool", {}))
        answered.set()
        assert done.wait(5)

    assert observed.seen == ()


def test_every_observer_sees_everything_while_it_watches() -> None:
    def handler(_: ToolInput) -> str:
        return read()

    with observe_ingress() as outer:
        first = watched(handler)
        assert [found.event for found in first.seen] == ["open"]
    watched(handler)

    assert outer.seen == first.seen


def test_a_report_is_one_line_with_the_tool_the_event_and_the_place() -> None:
    found = Ingress(tool="page", declared_own=True, event="open", subject="/a", where="x.py:3")

    assert str(found) == "page: open /a at x.py:3"


def test_nothing_is_watched_wrapped_or_remembered_after_the_block() -> None:
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    with observe_ingress():
        assert threading.Thread.start is not start
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == (start, submit)
    assert observer.OBSERVERS == []


def test_nobody_who_does_not_ask_has_a_hook() -> None:
    """In a process of its own, since a hook once added stays."""
    script = (
        "import sys; added = []\n"
        "sys.addaudithook(lambda event, _: added.append(event) if event == 'sys.addaudithook' else None)\n"
        "import registry.testing as kit; print(len(added))\n"
        "with kit.observe_ingress(): pass\n"
        "with kit.observe_ingress(): pass\n"
        "print(len(added), 'pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "0\n1 False\n"


def test_an_observer_never_stops_what_it_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr(observer, "WATCHED", {**observer.WATCHED, "open": broken})

    def handler(_: ToolInput) -> str:
        return read()

    assert watched(handler).seen == ()
