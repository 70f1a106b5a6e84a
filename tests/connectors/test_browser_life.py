"""When a browser runs: started by the first page, ended with all that it started, and one for every loop."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from connectors.browser import Browser, tools
from connectors.ingress import NetworkRules
from registry.errors import DeclarationError
from tests.support.deployments import until
from tests.support.loops import in_loop
from tests.support.pages import a_browser, page, processes
from tests.support.programs import needs
from tests.support.servers import site
from tests.support.told import Told, ask

pytestmark = needs("chromium")


@in_loop
async def test_a_browser_starts_with_the_first_call_and_ends_with_all_it_started() -> None:
    before = threading.active_count()
    async with site(page("<h1>x</h1>")) as web:
        with a_browser(web.host) as browser:
            these = tools(browser)
            assert (browser.thread, browser.running, threading.active_count()) == (None, None, before)
            await ask(these, "open_page", url=web.url())
            assert browser.running is not None
            home = browser.running.folder.name
            assert processes(home)

    await until(lambda: not processes(home) and not Path(home).exists())
    assert browser.thread is None


@in_loop
async def test_the_browser_gets_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_FENCE_KEY", "the secret of a test")
    async with site(page("x")) as web:
        with a_browser(web.host) as browser:
            await ask(tools(browser), "open_page", url=web.url())
            assert browser.running is not None
            seen = [(entry / "environ").read_bytes() for entry in processes(browser.running.folder.name)]

    assert seen
    assert not any(b"the secret of a test" in environment for environment in seen)


@in_loop
async def test_a_browser_that_nobody_uses_is_ended_and_started_again_when_it_is_needed() -> None:
    async with site(page("x")) as web:
        with a_browser(web.host, idle_s=0.2) as browser:
            await ask(tools(browser), "open_page", url=web.url())
            await until(lambda: browser.running is None)
            gone = await ask(tools(browser), "read_page", page=1)
            again = await ask(tools(browser), "open_page", url=web.url())

    assert gone.code == "no_page"
    assert again.own.startswith("Page 2, status 200")


@in_loop
async def test_a_browser_that_dies_is_replaced() -> None:
    async with site(page("x")) as web:
        with a_browser(web.host) as browser:
            await ask(tools(browser), "open_page", url=web.url())
            assert browser.running is not None
            running = browser.running
            for entry in processes(running.folder.name):
                os.kill(int(entry.name), 9)
            await until(lambda: not running.chromium.is_connected())
            gone = await ask(tools(browser), "read_page", page=1)
            again = await ask(tools(browser), "open_page", url=web.url())

    assert gone.code == "no_page"
    assert again.code == "answered"


@in_loop
async def test_open_pages_are_bounded_and_apart_from_each_other() -> None:
    async with site(page("<script>document.title = document.cookie; document.cookie = 'a=secret'</script>")) as web:
        with a_browser(web.host, max_pages=2) as browser:
            one = await ask(tools(browser), "open_page", url=web.url())
            two = await ask(tools(browser), "open_page", url=web.url())
            three = await ask(tools(browser), "open_page", url=web.url())

    assert "secret" not in one.foreign[0] + two.foreign[0]
    assert three.own == ("Refused (too_many_pages): 2 pages are open, which is the most. Close one with close_page.")


def test_one_browser_serves_several_loops() -> None:
    async def look() -> Told:
        async with site(page("x")) as web:
            rules = NetworkRules(allow_hosts=frozenset({"127.0.0.1"}))
            browser.rules = rules
            return await ask(tools(browser), "open_page", url=web.url())

    with a_browser("127.0.0.1") as browser:
        told = [asyncio.run(look()).code for _ in range(2)]

    assert told == ["answered", "answered"]


@in_loop
async def test_a_browser_that_is_not_installed_is_a_failure() -> None:
    with a_browser(executable="no-such-browser") as browser:
        told = await ask(tools(browser), "open_page", url="http://example.com/")

    assert told.own == "The tool failed.\nThe browser's program is not installed on this machine."


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_pages": 0},
        {"timeout_s": -1},
        {"max_bytes": True},
        {"idle_s": "x"},
        {"max_memory": 0},
        {"max_total_memory": 0},
    ],
)
def test_a_wrong_setting_is_refused_where_it_is_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match="is not a number above 0"):
        Browser(**wrong)
