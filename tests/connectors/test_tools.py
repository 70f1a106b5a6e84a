"""What holds for every tool of these connectors at once."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors import browser, files, http, knowledge, mail, metrics, sql, terminal
from registry import AnyTool, Foreign, Registry
from registry.errors import DeclarationError
from registry.testing import assert_own_words, observe_ingress
from tests.support.connected import MEASURED, every_connector
from tests.support.loops import in_loop
from tests.support.programs import needs
from tests.support.told import ask

pytestmark = needs("git")


@pytest.fixture
def every_tool(tmp_path: Path) -> tuple[AnyTool, ...]:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    return every_connector(tmp_path)


def test_only_a_request_a_peer_a_page_and_a_program_can_change_something(every_tool: tuple[AnyTool, ...]) -> None:
    assert {t.name for t in every_tool if t.effect != "read"} == {
        "click",
        "close_page",
        "http_request",
        "mcp_call_tool",
        "start_program",
        "stop_program",
        "type_text",
    }


def test_every_tool_that_shows_something_names_an_origin(every_tool: tuple[AnyTool, ...]) -> None:
    own = {tool.name for tool in every_tool if tool.untrusted_output is False}
    assert own == {"close_page", "start_program", "stop_program"}


def test_the_observer_agrees_with_what_only_says_own_words(every_tool: tuple[AnyTool, ...], tmp_path: Path) -> None:
    """The catalogue of an owner is the one such tool that is run; the others change something, and are below."""
    described = metrics.tools(MEASURED, sources={"shop": tmp_path / "shop.duckdb"}, catalog_prose="quoted")

    left = assert_own_words((*(tool for tool in every_tool if tool.name != "describe_catalog"), described[0]))

    assert len(left) == 3
    assert all(any(name in reason for reason in left) for name in ("close_page", "start_program", "stop_program"))


@in_loop
async def test_the_observer_agrees_with_what_starts_and_ends_something(tmp_path: Path) -> None:
    """What is declared own opens the program that it is there to start, and looks for processes of its own; no more."""
    opened: dict[str, list[str]] = {}
    with terminal.Programs({"tests": ["true"]}, folder=tmp_path) as programs:
        steps: tuple[tuple[tuple[AnyTool, ...], str, dict[str, Any]], ...] = (
            (terminal.program_tools(programs), "start_program", {"program": "tests"}),
            (terminal.program_tools(programs), "stop_program", {"run": 1}),
            (browser.tools(browser.Browser(executable="no-such-program")), "close_page", {"page": 1}),
        )
        for these, name, arguments in steps:
            with observe_ingress() as observed:
                await ask(these, name, **arguments)
                await asyncio.to_thread(programs.wait, 1, 5)
            opened[name] = [seen.event for seen in observed.undeclared if not seen.subject.startswith("/proc")]

    assert opened == {"start_program": ["subprocess.Popen"], "stop_program": [], "close_page": []}


def test_every_field_is_described_for_the_model_that_fills_it_in(every_tool: tuple[AnyTool, ...]) -> None:
    bare = [
        f"{tool.name}.{name}"
        for tool in every_tool
        for name, field in tool.input.model_json_schema()["properties"].items()
        if not field.get("description")
    ]

    assert bare == []


def test_the_descriptions_are_ours_and_the_names_differ(every_tool: tuple[AnyTool, ...]) -> None:
    assert not any(isinstance(tool.description, Foreign) for tool in every_tool)
    assert len(Registry(every_tool)) == len(every_tool)


def mailbox(server: Any) -> object:
    return mail.tools(server, str)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (files.tools, "connectors.files: root is not the Path of a folder. Write Path(...) of one that exists."),
        (terminal.tools, "connectors.terminal: repository is not a Path. Write Path(...) of a repository."),
        (
            mailbox,
            "connectors.mail: server is not a MailServer. Write MailServer(host=..., user=...).",
        ),
        (
            sql.tools,
            "connectors.sql: database is neither. Write Sqlite(path=..., name=...) or Postgres(name=..., secrets=...).",
        ),
        (
            knowledge.tools,
            "connectors.knowledge: store is not a Path. Write Path(...) of the store's file.",
        ),
        (browser.tools, "connectors.browser: browser is not a Browser. Write Browser(...)."),
        (http.tools, "connectors.http: rules is not a NetworkRules. Write NetworkRules(...), or leave it out."),
    ],
)
def test_a_wrong_setting_is_refused_where_it_is_written(make: Callable[[Any], object], sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        make("/tmp")

    assert str(refused.value) == sentence
