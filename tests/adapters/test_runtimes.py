"""What is a runtime's own: media, arguments that it would take for itself, what its application gets, and who asks.

That its model reads the dispatcher's very words is held by `tests/surfaces/test_corpus_walk.py`.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from registry import Caller, Foreign, Permitted, run_registry_tool
from tests.support import mcp_tools
from tests.support.deployments import Text, deploy, tool
from tests.support.loops import in_loop
from tests.support.runtimes import RUNTIMES, Runtime

pydantic_ai = pytest.importorskip("pydantic_ai", reason="not run: pydantic-ai is missing")
agents = pytest.importorskip("agents", reason="not run: openai-agents is missing")
langchain_core = pytest.importorskip("langchain_core", reason="not run: langchain-core is missing")

every_runtime = pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=list(RUNTIMES))


@every_runtime
@in_loop
async def test_media_stand_between_their_fenced_lines(runtime: Runtime) -> None:
    deployment = mcp_tools.patient()
    outcome: Any = await run_registry_tool(deployment, "shows", {})
    read = await runtime(deployment, "shows", "{}")

    first, second = outcome.media
    assert read.texts == (
        outcome.text,
        first.opening, base64.b64encode(b"\x89PNG").decode(), first.closing,
        second.opening, base64.b64encode(b"{}").decode(), second.closing,
    )  # fmt: skip


@every_runtime
@in_loop
async def test_an_unknown_argument_is_refused_and_never_dropped(runtime: Runtime) -> None:
    called: list[str] = []

    async def handler(request: Text) -> str:
        called.append(request.text)
        return "called"

    deployment = deploy(tool(handler, name="only", takes=Text))
    for extra in ("config", "callbacks", "run_manager", "kwargs", "self", "ctx", "arguments", "tool_call_id"):
        read = await runtime(deployment, "only", json.dumps({"text": "x", extra: 1}))
        assert f"{extra}: is not a field of this tool" in read.texts[0]

    assert called == []


@pytest.mark.parametrize("name", ["pydantic_ai", "openai_agents"])
@pytest.mark.parametrize("arguments", ["{", "[]", '"x"', "7", mcp_tools.SECRET])
@in_loop
async def test_arguments_that_are_no_object_are_malformed_and_not_repeated(name: str, arguments: str) -> None:
    read = await RUNTIMES[name](mcp_tools.patient(), "refuses", arguments)

    assert "The arguments do not fit the input of this tool; it was not called." in read.texts[0]
    assert "secret" not in f"{read.texts}{read.rest}"


@in_loop
async def test_arguments_that_are_nested_too_deeply_are_malformed() -> None:
    """Given to the tool itself, for the SDK's own reading of them fails before it calls one."""
    from registry.adapters.openai_agents import function_tools

    [made] = function_tools(deploy(tool(mcp_tools.says, name="says", takes=Text)))
    context: Any = None

    assert "arguments: must be an object" in await made.on_invoke_tool(context, "[" * 50_000)


def test_each_runtime_is_shown_what_its_caller_may_use() -> None:
    from registry.adapters.langchain import structured_tools
    from registry.adapters.openai_agents import function_tools
    from registry.adapters.pydantic_ai import HedgerowToolset

    deployment = deploy(*(tool(mcp_tools.says, name=name, takes=Text) for name in ("one", "two")))
    caller = Caller("anna", frozenset({"two"}))
    context: Any = None
    toolset = HedgerowToolset(deployment, caller=lambda _: caller)

    assert [made.name for made in function_tools(deployment, caller=caller)] == ["two"]
    assert [made.name for made in structured_tools(deployment, caller=caller)] == ["two"]
    assert list(asyncio.run(toolset.get_tools(context))) == ["two"]


@in_loop
async def test_a_tool_that_was_taken_away_is_refused_at_the_call() -> None:
    from registry.adapters.langchain import structured_tools

    grants = ["says"]
    deployment = deploy(tool(mcp_tools.says, name="says", takes=Text), permitted=lambda _: Permitted.of(*grants))
    [made] = structured_tools(deployment)
    grants.clear()

    message = await made.ainvoke({"name": "says", "args": {"text": "x"}, "id": "1", "type": "tool_call"})
    assert message.content == "Refused (not_permitted): This caller may not use this tool."


def test_langchain_gives_the_program_the_outcome_and_a_failure_its_status() -> None:
    from registry.adapters.langchain import structured_tools

    found = {made.name: made for made in structured_tools(mcp_tools.patient())}

    def message(name: str, **arguments: Any) -> Any:
        return found[name].invoke({"name": name, "args": arguments, "id": "1", "type": "tool_call"})

    answered = message("answers", text="hello")
    assert answered.artifact["data"] == {"untrusted": {"text": "hello"}, "origins": ["a stranger"]}
    assert [answered.status, message("refuses").status, message("fails").status] == ["success", "success", "error"]


@in_loop
async def test_foreign_text_has_no_other_way_into_a_message_of_pydantic_ai() -> None:
    """The structured half is the application's: it is in no part that a model is sent."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from registry import reply
    from registry.adapters.pydantic_ai import HedgerowToolset

    async def handler(_: Any) -> Any:
        return reply("Done.", data=Foreign({"evil": "only in the data"}))

    seen: list[ModelMessage] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = messages
        return ModelResponse(parts=[ToolCallPart("quiet", {}) if len(messages) == 1 else TextPart("done")])

    toolset = HedgerowToolset(deploy(tool(handler, "a stranger", name="quiet")))
    await Agent(FunctionModel(model), toolsets=[toolset]).run("go")
    [part] = [part for part in seen[-1].parts if isinstance(part, ToolReturnPart)]

    assert "only in the data" not in part.model_response_str()
    assert part.metadata["data"]["untrusted"] == {"evil": "only in the data"}
