"""The runtimes that people already use, each driven end to end by its own test model, which calls one tool once."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from pydantic import JsonValue

from registry import Deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a runtime handed on of one call."""

    texts: tuple[str, ...]
    """What the model reads, each picture or file as its base64."""
    is_error: bool | None
    """Whether it is told as a failure; None where the runtime has no word for one."""
    body: dict[str, JsonValue] | None = None
    """What the application gets beside it, where the runtime has a place for that."""
    rest: str = ""
    """Everything else of the message, as JSON."""


Runtime: TypeAlias = Callable[[Deployment, str, str], Awaitable[Read]]


async def with_pydantic_ai(deployment: Deployment, name: str, arguments: str) -> Read:
    """Pydantic AI."""
    pytest.importorskip("pydantic_ai", reason="not run: pydantic-ai is missing")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from registry.adapters.pydantic_ai import HedgerowToolset

    answers: list[ToolReturnPart[Any]] = []
    others: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool_name=name, args=arguments)])
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                answers.append(part)
            else:
                others.append(repr(part))
        return ModelResponse(parts=[TextPart("done")])

    await Agent(FunctionModel(model), toolsets=[HedgerowToolset(deployment)]).run("go")
    [part] = answers
    content = part.content
    items: list[Any] = [*content] if isinstance(content, list) else [content]
    return Read(
        texts=tuple(item if isinstance(item, str) else base64.b64encode(item.data).decode() for item in items),
        is_error=part.outcome != "success",
        body=part.metadata,
        # What the runtime itself puts around the text of a call that went wrong is in there too.
        rest=json.dumps([part.tool_name, part.outcome, repr(part.retry), others]),
    )


async def with_openai_agents(deployment: Deployment, name: str, arguments: str) -> Read:
    """The OpenAI Agents SDK."""
    pytest.importorskip("agents", reason="not run: openai-agents is missing")
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from registry.adapters.openai_agents import function_tools

    answers: list[dict[str, Any]] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
            results = [
                item for item in input if not isinstance(item, str) and item.get("type") == "function_call_output"
            ]
            if not results:
                call = ResponseFunctionToolCall(arguments=arguments, call_id="1", name=name, type="function_call")
                return ModelResponse(output=[call], usage=Usage(), response_id=None)
            answers.append(dict(results[-1]))
            words = ResponseOutputText(annotations=[], text="done", type="output_text")
            message = ResponseOutputMessage(
                id="2", content=[words], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="test", model=Scripted(), tools=list(function_tools(deployment)))
    await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    [answer] = answers
    output = answer.pop("output")
    items = [output] if isinstance(output, str) else [text_of(item) for item in output]
    return Read(texts=tuple(items), is_error=None, rest=json.dumps(answer))


def text_of(item: Any) -> str:
    found = item.get("text") or item.get("image_url") or item.get("file_data")
    return str(found).partition("base64,")[2] if str(found).startswith("data:") else str(found)


async def with_langchain(deployment: Deployment, name: str, arguments: str) -> Read:
    """LangChain."""
    pytest.importorskip("langchain_core", reason="not run: langchain-core is missing")
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

    from registry.adapters.langchain import structured_tools

    answers: list[dict[str, Any]] = []

    class Scripted(FakeMessagesListChatModel):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            if len(messages) > 1:
                answers.append(dict(messages[-1].model_dump()))
            return super()._generate(messages, *args, **kwargs)

    found = {made.name: made for made in structured_tools(deployment)}
    calls: Any = [{"name": name, "args": json.loads(arguments), "id": "1", "type": "tool_call"}]
    model = Scripted(responses=[AIMessage("", tool_calls=calls), AIMessage("done")])
    messages: list[BaseMessage] = [HumanMessage("go")]
    asked: Any = await model.ainvoke(messages)
    messages += [asked, await found[name].ainvoke(asked.tool_calls[0])]
    await model.ainvoke(messages)
    [answer] = answers
    content, artifact, status = answer.pop("content"), answer.pop("artifact"), answer.pop("status")
    items = [content] if isinstance(content, str) else content
    return Read(
        texts=tuple(item if isinstance(item, str) else item.get("text") or item["base64"] for item in items),
        is_error=status == "error",
        body=artifact,
        rest=json.dumps(answer, default=repr),
    )


RUNTIMES: dict[str, Runtime] = {
    "pydantic_ai": with_pydantic_ai,
    "openai_agents": with_openai_agents,
    "langchain": with_langchain,
}
