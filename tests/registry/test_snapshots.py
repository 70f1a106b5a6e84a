"""The shapes that other programs rest on, committed: the schema of each tool, and the body of each outcome.

Beside the bytes stand the properties, by name: a snapshot says that something changed, a property says what must not.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import connectors.browser
import connectors.files
import connectors.http
import connectors.mail
import connectors.terminal
from registry import (
    Admission,
    Caller,
    CatalogProse,
    Deployment,
    Foreign,
    Outcome,
    Permitted,
    Registry,
    ToolFailed,
    ToolInput,
    catalog,
    refuse,
    reply,
    run_registry_tool,
)
from registry._envelope import outcome_body
from registry.testing import assert_inputs_not_named, assert_registry_declares
from tests.support.deployments import Text, deploy, tool
from tests.support.snapshots import Snapshots
from tests.support.third_party import LAMP, PAGE, PEER


@pytest.fixture
def connected(tmp_path: Path) -> Registry:
    """The tools of every connector, as a deployment has them."""
    (tmp_path / ".git").mkdir()
    pages = connectors.browser.tools(connectors.browser.Browser())
    programs = connectors.terminal.Programs({"tests": ["make", "test"]}, folder=tmp_path)
    runs = connectors.terminal.program_tools(programs)
    mail = connectors.mail.tools(connectors.mail.MailServer(host="mail.example", user="anna"), str)
    return Registry(
        [
            *connectors.files.tools(tmp_path),
            *connectors.http.tools(),
            *mail,
            *pages,
            *runs,
            *connectors.terminal.tools(tmp_path),
        ]
    )


# -- schemas -------------------------------------------------------------------------------------------------------


def test_the_schema_of_each_connector_tool_is_what_is_committed(connected: Registry, snapshots: Snapshots) -> None:
    shown = catalog(Deployment.single_user(connected)).tools

    snapshots.hold("connectors", {t.name: {"description": t.description, "schema": t.schema()} for t in shown})


def test_no_connector_speaks_of_this_machine(connected: Registry, tmp_path: Path) -> None:
    assert str(tmp_path) not in json.dumps(catalog(Deployment.single_user(connected)).body())


def test_every_field_of_a_connector_is_described(connected: Registry) -> None:
    bare = [
        f"{t.name}.{name}"
        for t in catalog(Deployment.single_user(connected)).tools
        for name, field in t.schema()["properties"].items()
        if not field.get("description")
    ]
    assert bare == []


def test_the_only_prose_of_a_schema_is_a_description(connected: Registry) -> None:
    for shown in catalog(Deployment.single_user([*connected.values(), LAMP, PAGE])).tools:
        assert not [key for key in keywords(shown.schema()) if key in {"title", "examples", "$comment"}]


def test_every_connector_does_what_it_declares(connected: Registry) -> None:
    assert_registry_declares(connected)


@pytest.mark.parametrize("prose", get_args(CatalogProse))
def test_the_body_of_a_catalogue_is_what_is_committed(prose: CatalogProse, snapshots: Snapshots) -> None:
    deployment = dataclasses.replace(deploy(LAMP, PAGE, PEER), catalog_prose=prose)

    shown = catalog(deployment)
    as_listed = [{"name": t.name, "description": t.description, "schema": t.schema()} for t in shown.tools]
    snapshots.hold(f"catalog-{prose}", {"body": shown.body(), "text": shown.text, "list": as_listed})


def keywords(schema: object, *, is_map: bool = False) -> Iterator[str]:
    """The keywords of a schema: names of properties and of definitions are none."""
    if isinstance(schema, list):
        for item in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from keywords(item)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(schema, dict):
        for key, value in schema.items():  # pyright: ignore[reportUnknownVariableType]
            if not is_map:
                yield str(key)  # pyright: ignore[reportUnknownArgumentType]
            if key not in {"default", "enum", "const"}:
                yield from keywords(value, is_map=not is_map and key in {"properties", "$defs"})  # pyright: ignore[reportUnknownArgumentType]


# -- what a governed tool must not take -----------------------------------------------------------------------------

QUERY_WORDS = ("sql", "table", "predicate", "rows")


@pytest.mark.parametrize("word", QUERY_WORDS)
def test_no_connector_that_governs_its_queries_takes_one(connected: Registry, word: str) -> None:
    """A tool named `metric...` is there so that a model names a measure and never writes a query."""
    assert_inputs_not_named([t for t in connected.values() if t.name.startswith("metric")], word)


@pytest.mark.parametrize("word", QUERY_WORDS)
def test_a_governed_tool_that_takes_a_query_is_a_named_failure(word: str) -> None:
    governed = type("Governed", (ToolInput,), {"__annotations__": {word: str}, "__module__": __name__})

    with pytest.raises(AssertionError, match=f"Tool 'metric' takes an input named '{word}', which it must not"):
        assert_inputs_not_named([tool(lambda request: "x", takes=governed, name="metric")], *QUERY_WORDS)


# -- outcomes ------------------------------------------------------------------------------------------------------


def ending(request: Text) -> Any:
    match request.text:
        case "own":
            return reply("1 page", data={"pages": 1})
        case "bare":
            return "a page"
        case "foreign":
            return reply("1 page", Foreign("a page", "a stranger"), data=Foreign({"pages": ["a page"]}))
        case "refused":
            return refuse("no_page", "There is no such page.")
        case "failed":
            raise ToolFailed("The server said no.", detail=Foreign("no", "the server"))
        case "large":
            return "x" * 2000
        case _:
            raise ValueError("not shown")


async def waiting(_: ToolInput) -> str:
    await asyncio.Event().wait()
    return "never"


async def outcomes() -> dict[str, Outcome]:
    tools = (
        tool(ending, "web", name="page", takes=Text),
        tool(ending, False, name="own", takes=Text),
        tool(waiting, name="slow"),
        tool(waiting, name="slow-write", effect="write"),
    )
    deployment = deploy(*tools, max_result_chars=1000, permitted=lambda caller: Permitted.of("page", "own"))
    full = deploy(*tools, admission=Admission(max_concurrent=1, window_s=0.01), reply_timeout_s=0.5)

    async def page(text: str, **more: Any) -> Outcome:
        return await run_registry_tool(deployment, "page", {"text": text}, **more)

    ended = {
        "answered-own": await run_registry_tool(deployment, "own", {"text": "own"}),
        "answered-bare": await page("bare"),
        "answered-foreign": await page("foreign"),
        "answered-foreign-arguments": await page("own", argument_origins=("a stranger",)),
        "refused": await page("refused"),
        "refused-not-permitted": await run_registry_tool(deployment, "slow", {}, caller=Caller("x", frozenset())),
        "refused-unknown-tool": await run_registry_tool(deployment, "none", {}),
        "refused-result-too-large": await page("large"),
        "refused-undeclared-foreign": await run_registry_tool(deployment, "own", {"text": "foreign"}),
        "malformed": await run_registry_tool(deployment, "page", {"texts": 1}),
        "failed": await page("failed"),
        "failed-exception": await page("broken"),
    }
    stopped = asyncio.create_task(run_registry_tool(full, "slow", {}))
    await asyncio.sleep(0)
    ended["shed"] = await run_registry_tool(full, "slow", {})
    ended["timed-out"] = await stopped
    unbounded = deploy(*tools, reply_timeout_s=0.05, admission=Admission(max_concurrent=1, window_s=0.01))
    ended["timed-out-write"] = await run_registry_tool(unbounded, "slow-write", {})
    return ended


def test_the_body_of_each_outcome_is_what_is_committed(snapshots: Snapshots) -> None:
    snapshots.hold("outcomes", {name: outcome_body(ended) for name, ended in asyncio.run(outcomes()).items()})


def test_every_kind_of_outcome_is_committed() -> None:
    kinds = {type(ended) for ended in asyncio.run(outcomes()).values()}

    assert kinds == set(get_args(Outcome)) or {kind.__name__ for kind in kinds} == {
        "Answered", "Refused", "Malformed", "Failed", "Shed", "TimedOut",
    }  # fmt: skip


def test_every_body_has_the_same_three_fields_and_only_an_answer_has_data() -> None:
    for name, ended in asyncio.run(outcomes()).items():
        body = outcome_body(ended)
        assert list(body) == ["outcome", "text", "origins", *(["data"] if name.startswith("answered") else [])]
