"""What holds for every tool of these connectors at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors import browser, files, http, knowledge, mail, sql, terminal
from registry import AnyTool, Foreign, Registry
from registry.errors import DeclarationError
from tests.support.connected import every_connector
from tests.support.programs import needs

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
