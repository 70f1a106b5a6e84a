"""What holds for every tool of these connectors at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connectors import browser, files, http, mail, terminal
from registry import AnyTool, Foreign, Registry
from registry.errors import DeclarationError
from tests.support.programs import needs

pytestmark = needs("git")


@pytest.fixture
def every_tool(tmp_path: Path) -> tuple[AnyTool, ...]:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    runs = terminal.program_tools(terminal.Programs({"tests": ["make", "test"]}, folder=tmp_path))
    mailbox = mail.tools(mail.MailServer(host="mail.example", user="anna"), str)
    return (
        *http.tools(),
        *files.tools(tmp_path),
        *terminal.tools(tmp_path),
        *mailbox,
        *browser.tools(browser.Browser()),
        *runs,
    )


def test_only_a_request_and_a_page_in_use_can_change_something(every_tool: tuple[AnyTool, ...]) -> None:
    assert {tool.name: tool.effect for tool in every_tool} == {
        "fetch_url": "read",
        "http_request": "write",
        "list_files": "read",
        "read_file": "read",
        "search_files": "read",
        "git_log": "read",
        "git_show": "read",
        "git_diff": "read",
        "git_status": "read",
        "tmux_pane": "read",
        "list_mail_folders": "read",
        "search_mail": "read",
        "read_mail": "read",
        "open_page": "read",
        "read_page": "read",
        "click": "write",
        "type_text": "write",
        "close_page": "write",
        "start_program": "write",
        "read_program": "read",
        "stop_program": "write",
    }


def test_every_tool_that_shows_something_names_an_origin(every_tool: tuple[AnyTool, ...]) -> None:
    assert [tool.name for tool in every_tool if tool.untrusted_output is False] == [
        "close_page", "start_program", "stop_program",
    ]  # fmt: skip


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


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (files.tools, "connectors.files: root is not the Path of a folder. Write Path(...) of one that exists."),
        (terminal.tools, "connectors.terminal: repository is not a Path. Write Path(...) of a repository."),
        (
            partial(mail.tools, secrets=str),
            "connectors.mail: server is not a MailServer. Write MailServer(host=..., user=...).",
        ),
        (browser.tools, "connectors.browser: browser is not a Browser. Write Browser(...)."),
        (http.tools, "connectors.http: rules is not a NetworkRules. Write NetworkRules(...), or leave it out."),
    ],
)
def test_a_wrong_setting_is_refused_where_it_is_written(make: Callable[[Any], object], sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        make("/tmp")

    assert str(refused.value) == sentence
