"""What holds for every tool of these connectors at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors import files, http, knowledge, metrics, sql, terminal
from registry import AnyTool, Foreign, Registry
from registry.errors import DeclarationError
from tests.support.programs import needs

pytestmark = needs("git")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def every_tool(tmp_path: Path) -> tuple[AnyTool, ...]:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    shop = sql.Sqlite(path=tmp_path / "shop.db", name="shop")
    measured = metrics.read_definitions(EXAMPLES / "metrics" / "metrics.toml")
    sources = {"shop": tmp_path / "shop.duckdb"}
    return (
        *http.tools(),
        *files.tools(tmp_path),
        *knowledge.tools(tmp_path / "knowledge.db"),
        *metrics.tools(measured, sources=sources, catalog_prose="quoted", author="a vendor"),
        *sql.tools(shop),
        *terminal.tools(tmp_path),
    )


def test_only_a_request_can_change_something(every_tool: tuple[AnyTool, ...]) -> None:
    assert {tool.name: tool.effect for tool in every_tool} == {
        "fetch_url": "read",
        "http_request": "write",
        "list_files": "read",
        "read_file": "read",
        "search_files": "read",
        "search_knowledge": "read",
        "read_knowledge": "read",
        "describe_catalog": "read",
        "ask_metric": "read",
        "sql_query": "read",
        "sql_tables": "read",
        "git_log": "read",
        "git_show": "read",
        "git_diff": "read",
        "git_status": "read",
        "tmux_pane": "read",
    }


def test_every_tool_names_an_origin(every_tool: tuple[AnyTool, ...]) -> None:
    assert [tool.name for tool in every_tool if tool.untrusted_output is False] == []


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
            sql.tools,
            "connectors.sql: database is neither. Write Sqlite(path=..., name=...) or Postgres(name=..., secrets=...).",
        ),
        (
            knowledge.tools,
            "connectors.knowledge: store is not a Path. Write Path(...) of the store's file.",
        ),
        (http.tools, "connectors.http: rules is not a NetworkRules. Write NetworkRules(...), or leave it out."),
    ],
)
def test_a_wrong_setting_is_refused_where_it_is_written(make: Callable[[Any], object], sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        make("/tmp")

    assert str(refused.value) == sentence
