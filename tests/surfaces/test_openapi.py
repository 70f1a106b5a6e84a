"""The OpenAPI document: committed, and true of the server that serves it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from registry import Admission, Foreign, Media, Permitted, ToolInput, refuse, reply
from registry.surfaces._openapi import document
from tests.support.deployments import Text, deploy, tool
from tests.support.http import TOKEN, served
from tests.support.served_tools import TOOLS
from tests.support.snapshots import Snapshots

ROOT = Path(__file__).parent.parent.parent


class Node(ToolInput):
    """A model that holds itself."""

    children: tuple[Node, ...] = ()


def test_the_document_is_the_committed_one(snapshots: Snapshots) -> None:
    snapshots.hold_file(ROOT / "docs" / "reference" / "openapi.json", document())


def test_the_server_serves_the_committed_document_without_a_token() -> None:
    with served(deploy(tool(lambda _: "x"))) as server:
        assert server.client.get("/openapi.json").json() == document()


def test_every_answer_is_of_the_form_that_the_document_gives_its_status() -> None:
    tools = (
        tool(lambda _: reply("x", data={"a": 1}), name="own"),
        tool(
            lambda _: reply(Foreign("x"), Foreign(Media(b"x", "image/png")), data=Foreign([1])),
            "a page",
            name="foreign",
        ),
        tool(lambda _: "x" * 2000, name="large"),
        tool(lambda _: refuse("no", "No."), name="refusing"),
        tool(lambda _: 1 / 0, name="failing"),
        tool(lambda _: "x", name="takes", takes=Text),
        tool(lambda _: "x", name="forbidden"),
    )
    deployment = deploy(*tools, permitted=Permitted.of(*(one.name for one in tools[:-1])), max_result_chars=1000)
    with served(deployment) as server:
        answers = [server.call(one.name) for one in tools]
        answers += [server.call("nothing"), server.call("own", authorization=""), server.post("own", b"{")]
        answers += [server.post("own", b"{}", **{"content-type": "text/plain"}), server.post("own", b"x" * 200_000)]
        listed = server.get("/v1/instances/main/tools")
        health = server.get("/healthz")

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 500, 422, 403, 404, 401, 400, 415, 413]
    wrong = [(a.status_code, *faults(a, "/v1/instances/{instance}/tools/{tool}", "post")) for a in answers]
    assert [one for one in wrong if len(one) > 1] == []
    assert faults(listed, "/v1/instances/{instance}/tools", "get") == []
    assert faults(health, "/healthz", "get") == []


def test_a_call_that_is_shed_and_one_that_is_late_are_of_the_form_too() -> None:
    async def stay(_: object) -> str:
        await asyncio.sleep(60)
        return "x"

    deployment = deploy(
        tool(stay, effect="write"), admission=Admission(max_concurrent=1, window_s=0.01), reply_timeout_s=0.05
    )
    with served(deployment) as server:
        found = [server.call("tool"), server.call("tool")]

    assert [answer.status_code for answer in found] == [504, 503]
    assert [faults(answer, "/v1/instances/{instance}/tools/{tool}", "post") for answer in found] == [[], []]


def faults(answer: httpx.Response, path: str, method: str) -> list[str]:
    """What is wrong with an answer by the document: its type, its headers, its body."""
    made = document()
    said = made["paths"][path][method]["responses"][str(answer.status_code)]
    found = [f"no {name}" for name in said["headers"] if name not in answer.headers]
    kind = answer.headers["content-type"]
    if kind not in said["content"]:
        return [*found, kind]
    schema = {**said["content"][kind]["schema"], "components": made["components"]}
    validator: Any = Draft202012Validator(schema)
    return [*found, *(error.message for error in validator.iter_errors(answer.json()))]


def test_the_document_of_an_instance_describes_each_tool_with_references_that_lead_somewhere() -> None:
    with served(deploy(tool(lambda _: "x", takes=Node), tool(lambda _: "x", name="other", takes=Text))) as server:
        made = server.get("/v1/instances/main/openapi.json").json()

    schema = {"$ref": "#/components/schemas/input.tool", "components": made["components"]}
    validator: Any = Draft202012Validator(schema)
    assert list(made["paths"]) == ["/v1/instances/main/tools/tool", "/v1/instances/main/tools/other"]
    assert made["info"]["x-catalog-prose"] == "quoted"
    assert validator.is_valid({"children": [{"children": []}]})
    assert not validator.is_valid({"children": [{"wrong": 1}]})


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/openapi.json", "/v1/instances/main/openapi.json"])
def test_a_fuzzer_of_documents_finds_nothing(path: str, tmp_path: Path) -> None:
    """Deterministic: the same requests in every run. It also tries methods, types and headers that no one named."""
    with served(deploy(*TOOLS[:2])) as server:
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}{path}",
            "--header", f"Authorization: Bearer {TOKEN}", "--max-examples", "20", "--seed", "1", "--generation-deterministic",
            "--no-color", "--report-ndjson-path", str(tmp_path / "events"),
        ]  # fmt: skip
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)

    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-1000:]
    assert "passed" in ran.stdout


def test_the_document_names_no_tool_and_no_instance() -> None:
    assert "echo" not in json.dumps(document())
