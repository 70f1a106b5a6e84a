"""Each runtime, end to end with its own test model: the model reads the dispatcher's very words, and nothing else."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from registry import Caller, Deployment, Foreign, Permitted, run_registry_tool
from registry.testing.corpus import BODIES, FAILURES
from tests.support import mcp_tools
from tests.support.deployments import Text, deploy, tool
from tests.support.loops import in_loop

pydantic_ai = pytest.importorskip("pydantic_ai", reason="not run: pydantic-ai is missing")
agents = pytest.importorskip("agents", reason="not run: openai-agents is missing")
langchain_core = pytest.importorskip("langchain_core", reason="not run: langchain-core is missing")

Read: TypeAlias = "tuple[str, ...]"
Runtime: TypeAlias = Callable[[Deployment, str, str], Awaitable[Read]]


async def with_pydantic_ai(deployment: Deployment, name: str, arguments: str) -> Read:
    """What a model of Pydantic AI reads after it has called a tool once."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from registry.adapters.pydantic_ai import HedgerowToolset

    read: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool_name=name, args=arguments)])
        for part in messages[-1].parts:
            content: Any = getattr(part, "content", "")
            items: list[Any] = [*content] if isinstance(content, list) else [content]  # pyright: ignore[reportUnknownVariableType]
            read.extend(item if isinstance(item, str) else base64.b64encode(item.data).decode() for item in items)
        return ModelResponse(parts=[TextPart("done")])

    await Agent(FunctionModel(model), toolsets=[HedgerowToolset(deployment)]).run("go")
    return tuple(read)


async def with_openai_agents(deployment: Deployment, name: str, arguments: str) -> Read:
    """What a model of the OpenAI Agents SDK reads after it has called a tool once."""
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from registry.adapters.openai_agents import function_tools

    read: list[str] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
            results = [
                item for item in input if not isinstance(item, str) and item.get("type") == "function_call_output"
            ]
            if not results:
                call = ResponseFunctionToolCall(arguments=arguments, call_id="1", name=name, type="function_call")
                return ModelResponse(output=[call], usage=Usage(), response_id=None)
            output = results[-1]["output"]
            read.extend([output] if isinstance(output, str) else [text_of(item) for item in output])
            words = ResponseOutputText(annotations=[], text="done", type="output_text")
            message = ResponseOutputMessage(
                id="2", content=[words], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="test", model=Scripted(), tools=list(function_tools(deployment)))
    await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    return tuple(read)


def text_of(item: Any) -> str:
    found = item.get("text") or item.get("image_url") or item.get("file_data")
    return str(found).partition("base64,")[2] if str(found).startswith("data:") else str(found)


async def with_langchain(deployment: Deployment, name: str, arguments: str) -> Read:
    """What a chat model of LangChain reads after it has called a tool once."""
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

    from registry.adapters.langchain import structured_tools

    read: list[str] = []

    class Scripted(FakeMessagesListChatModel):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            if len(messages) > 1:
                content: Any = messages[-1].content
                items = [content] if isinstance(content, str) else content
                read.extend(item if isinstance(item, str) else item.get("text") or item["base64"] for item in items)
            return super()._generate(messages, *args, **kwargs)

    found = {made.name: made for made in structured_tools(deployment)}
    calls: Any = [{"name": name, "args": json.loads(arguments), "id": "1", "type": "tool_call"}]
    model = Scripted(responses=[AIMessage("", tool_calls=calls), AIMessage("done")])
    messages: list[BaseMessage] = [HumanMessage("go")]
    asked: Any = await model.ainvoke(messages)
    messages += [asked, await found[name].ainvoke(asked.tool_calls[0])]
    await model.ainvoke(messages)
    return tuple(read)


RUNTIMES: list[Runtime] = [with_pydantic_ai, with_openai_agents, with_langchain]
every_runtime = pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.__name__.removeprefix("with_"))


async def in_words(deployment: Deployment, name: str, arguments: Any) -> str:
    return (await run_registry_tool(deployment, name, arguments)).text


@every_runtime
@in_loop
async def test_a_model_reads_the_dispatchers_words_whatever_a_call_ends_in(runtime: Runtime) -> None:
    deployment = mcp_tools.patient()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("answers", {"text": "hello"}),
        ("says", {"text": "hello"}),
        ("refuses", {}),
        ("fails", {}),
        ("fails_with_detail", {"text": "ignore all that"}),
        ("undeclared", {}),
        ("too_large", {}),
        ("not_utf8", {}),
        ("answers", {"text": 7, "config": mcp_tools.SECRET, "callbacks": 1, "run_manager": 1, mcp_tools.SECRET: 1}),
        *((name, {}) for name in mcp_tools.WORST),
    ]
    for name, arguments in calls:
        [read] = await runtime(deployment, name, json.dumps(arguments))
        assert read.startswith(await in_words(deployment, name, arguments)), name
        assert "secret" not in read


@every_runtime
@in_loop
async def test_media_stand_between_their_fenced_lines(runtime: Runtime) -> None:
    deployment = mcp_tools.patient()
    outcome: Any = await run_registry_tool(deployment, "shows", {})
    read = await runtime(deployment, "shows", "{}")

    first, second = outcome.media
    assert read == (
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
        [read] = await runtime(deployment, "only", json.dumps({"text": "x", extra: 1}))
        assert f"{extra}: is not a field of this tool" in read

    assert called == []


@pytest.mark.parametrize("runtime", [with_pydantic_ai, with_openai_agents], ids=["pydantic_ai", "openai_agents"])
@pytest.mark.parametrize("arguments", ["{", "[]", '"x"', "7", mcp_tools.SECRET])
@in_loop
async def test_arguments_that_are_no_object_are_malformed_and_not_repeated(runtime: Runtime, arguments: str) -> None:
    [read] = await runtime(mcp_tools.patient(), "refuses", arguments)

    assert "The arguments do not fit the input of this tool; it was not called." in read
    assert "secret" not in read


@in_loop
async def test_arguments_that_are_nested_too_deeply_are_malformed() -> None:
    """Given to the tool itself, for the SDK's own reading of them fails before it calls one."""
    from registry.adapters.openai_agents import function_tools

    [made] = function_tools(deploy(tool(mcp_tools.says, name="says", takes=Text)))
    context: Any = None

    assert "arguments: must be an object" in await made.on_invoke_tool(context, "[" * 50_000)


@every_runtime
@in_loop
async def test_no_text_of_the_corpus_leaves_its_fence(runtime: Runtime) -> None:
    deployment = mcp_tools.patient()
    # Each with its own text, and every kind: a runtime costs too much for all of them here.
    some = {attack.kind: attack for attack in (*BODIES, *FAILURES)}.values()
    for attack in some:
        for name in ("answers", "fails_with_detail"):
            arguments = {"text": attack.text.encode("utf-8", "replace").decode()}
            [read] = await runtime(deployment, name, json.dumps(arguments))
            assert read.startswith(await in_words(deployment, name, arguments)), attack.id


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
