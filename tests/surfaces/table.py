"""Every surface as one row: how to serve a deployment on it, how to ask for a tool, and how to take the answer apart.

A new surface is one row of `SURFACES`; `test_corpus_walk.py` then walks it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import httpx
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from registry import Deployment, Outcome, Refused, catalog, run_registry_tool
from registry._envelope import outcome_body
from registry.errors import PipelineError
from registry.pipeline import Pipeline, run_pipeline
from registry.surfaces.chat import ChatFormat, chat_tools, run_tool_calls
from registry.surfaces.http import HttpSurface, Tokens
from tests.support.deployments import WAIT_S
from tests.support.http import TOKEN, listening, token
from tests.support.mcp_servers import WAYS, Way, client_of
from tests.support.runtimes import RUNTIMES, Runtime

Kind: TypeAlias = Literal["result", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a client was shown of one call."""

    kind: Kind
    """Whether the surface calls it a result, or something that went wrong."""
    text: str | None
    """The text half; None where the surface sends none for such an outcome."""
    structured: JsonValue = None
    """The structured half: an envelope, or None where there is none."""
    rest: str = ""
    """Everything else that was sent, as JSON: no foreign byte may be in it."""


Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Shown]]
Listed: TypeAlias = "dict[str, tuple[str, Any]]"
"""The description and the schema of each tool, by its name."""
Made: TypeAlias = Callable[[], Deployment]
"""Makes a deployment: a function of a module, or a partial one with strings, so that another process can make it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One surface, and what is its own about it."""

    serve: Callable[[Made], AbstractAsyncContextManager[Ask]]
    """Serve, and give the way to ask."""
    tells_errors: bool = True
    """Whether it has a word for what went wrong; else the text alone says so."""
    lists: Callable[[Made], Awaitable[Listed]] | None = None
    """What a model is shown of the tools; None where nothing is listed."""
    structure: Literal["all", "own", "none"] = "all"
    """Of which data the structured half is sent too."""
    says_nothing_of: frozenset[str] = frozenset()
    """Codes of outcomes whose text is not sent: what is asked for is refused before there is a call."""
    takes_any_name: bool = True
    """Whether a name that it did not list reaches the dispatcher."""
    echoes_the_name: bool = False
    """Whether the protocol knows an answer by the name that was asked for."""
    gives_a_value: bool = False
    """Whether own words without data are data too."""
    is_utf8: bool = False
    """Whether it can carry UTF-8 alone, so that lone surrogates of our own are shown as escapes."""
    most_chars: int = 100_000_000
    """The most foreign text that its client takes in one answer."""


# -- in process ----------------------------------------------------------------------------------------------------

ERRORS = frozenset({"malformed", "failed", "shed", "timed_out", "unknown_tool"})


def shown_of(outcome: Outcome) -> Shown:
    """An outcome as itself."""
    kind: Kind = "error" if outcome.code in ERRORS and not is_handlers_own(outcome) else "result"
    return Shown(kind=kind, text=outcome.text, structured=outcome_body(outcome).get("data"))


def is_handlers_own(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and outcome.code != "unknown_tool"


@asynccontextmanager
async def in_process(made: Made) -> AsyncGenerator[Ask]:
    """The dispatcher itself, which the others are compared with."""
    deployment = made()

    async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
        return shown_of(await run_registry_tool(deployment, name, arguments))

    yield ask


async def catalogue(made: Made) -> Listed:
    return {tool.name: (tool.description, tool.schema()) for tool in catalog(made()).tools}


# -- chat ----------------------------------------------------------------------------------------------------------


def chat(form: ChatFormat) -> Callable[[Made], AbstractAsyncContextManager[Ask]]:
    """A provider's form: a turn with one call, and the message that goes back."""

    @asynccontextmanager
    async def serve(made: Made) -> AsyncGenerator[Ask]:
        deployment = made()

        async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
            (message,) = await run_tool_calls(deployment, form, [asked(form, name, arguments)])
            # As the libraries of the providers send it.
            return shown(form, json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8")))

        yield ask

    return serve


def asked(form: ChatFormat, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call as a provider writes it."""
    text = json.dumps(arguments)
    match form:
        case "anthropic":
            return {"type": "tool_use", "id": "call_1", "name": name, "input": dict(arguments)}
        case "openai-chat":
            return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text}}
        case "openai-responses":
            return {"type": "function_call", "call_id": "call_1", "name": name, "arguments": text}
        case "gemini":
            return {"functionCall": {"id": "call_1", "name": name, "args": dict(arguments)}}


def shown(form: ChatFormat, message: dict[str, Any]) -> Shown:
    """Take a provider's message of a result apart. Two of the forms have no word for what went wrong."""
    match form:
        case "anthropic":
            (result,) = message["content"]
            text = result.pop("content", "")
            kind: Kind = "error" if result.pop("is_error", False) else "result"
        case "openai-chat":
            text, kind = message.pop("content"), "result"
        case "openai-responses":
            text, kind = message.pop("output"), "result"
        case "gemini":
            response = message["parts"][0]["functionResponse"]["response"]
            key = "error" if "error" in response else "output"
            text, kind = response.pop(key), "error" if key == "error" else "result"
    return Shown(kind=kind, text=text, rest=json.dumps(message))


def offered(form: ChatFormat) -> Callable[[Made], Awaitable[Listed]]:
    async def lists(made: Made) -> Listed:
        tools = json.loads(json.dumps(chat_tools(made(), form)))
        found = tools[0]["functionDeclarations"] if form == "gemini" else [one.get("function", one) for one in tools]
        keys = ("input_schema", "parameters", "parametersJsonSchema")
        return {one["name"]: (one["description"], next(one[key] for key in keys if key in one)) for one in found}

    return lists


# -- pipeline ------------------------------------------------------------------------------------------------------

STOPPED = "The pipeline stopped at step 'only'.\n"


@asynccontextmanager
async def pipeline(made: Made) -> AsyncGenerator[Ask]:
    """A pipeline of one step, whose arguments are inputs of the run."""
    deployment = made()

    async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
        inputs = {f"input{number}": value for number, value in enumerate(arguments.values())}
        refs = {key: {"$ref": f"inputs.input{number}"} for number, key in enumerate(arguments)}
        step = {"id": "only", "tool": name, "arguments": refs}
        try:
            written = Pipeline.model_validate({"inputs": [*inputs], "steps": [step]})
            result = await run_pipeline(deployment, written, inputs=inputs)
        except PipelineError:
            # Whoever wrote the pipeline reads it, with their own words in it. Nothing has run.
            return Shown(kind="error", text=None)
        found = shown_of(result.outcome)
        if found.kind == "result":
            return found
        assert result.text.startswith(STOPPED)
        return replace(found, text=result.text.removeprefix(STOPPED))

    yield ask


# -- HTTP ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def http_client(made: Made) -> AsyncGenerator[httpx.AsyncClient]:
    """A real server in a thread, and a client of this loop."""
    surface = HttpSurface({"main": made()}, tokens=Tokens([token()]), max_body_bytes=1_000_000, body_timeout_s=WAIT_S)
    with listening(surface) as port:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/v1/instances/main/tools",
            headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
            timeout=6 * WAIT_S,
            verify=False,
            trust_env=False,
        ) as client:
            yield client


@asynccontextmanager
async def http(made: Made) -> AsyncGenerator[Ask]:
    async with http_client(made) as client:

        async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
            response = await client.post(f"/{name}", content=json.dumps(arguments))
            body: dict[str, Any] = response.json()
            text, structured = body.pop("text", None), body.pop("data", None)
            # Which origin: the same word stands in the text, where it is escaped.
            body.pop("origins", None)
            rest = json.dumps([body, list(response.headers.items())])
            is_result = response.status_code in (200, 403)
            return Shown(kind="result" if is_result else "error", text=text, structured=structured, rest=rest)

        yield ask


# -- the Model Context Protocol ------------------------------------------------------------------------------------


def mcp(way: Way, *, structured: bool = True) -> Callable[[Made], AbstractAsyncContextManager[Ask]]:
    """The SDK's own client on one of its transports, in one era of the protocol."""

    @asynccontextmanager
    async def serve(made: Made) -> AsyncGenerator[Ask]:
        async with client_of(way, made, structured=structured) as client:

            async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
                try:
                    result = await client.call_tool(name, dict(arguments))
                except MCPError as error:
                    rest = json.dumps([error.error.code, error.error.data])
                    return Shown(kind="error", text=error.error.message, rest=rest)
                return taken(result)

            yield ask

    return serve


def mcp_list(way: Way) -> Callable[[Made], Awaitable[Listed]]:
    async def lists(made: Made) -> Listed:
        async with client_of(way, made) as client:
            tools = (await client.list_tools()).tools
            return {tool.name: (tool.description or "", tool.input_schema) for tool in tools}

    return lists


def taken(result: types.CallToolResult) -> Shown:
    """Take a result apart. The text stands in it two times, and both must be the same."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    sent: dict[str, Any] = json.loads(result.model_dump_json(by_alias=True))
    del sent["content"][0]["text"]
    body = cast("dict[str, Any]", sent.pop("structuredContent") or {"text": block.text, "origins": []})
    assert body.pop("text") == block.text
    structured = body.pop("data", None)
    body.pop("origins")
    kind: Kind = "error" if result.is_error else "result"
    return Shown(kind=kind, text=block.text, structured=structured, rest=json.dumps([sent, body]))


# -- the runtimes --------------------------------------------------------------------------------------------------


def runtime(run: Runtime) -> Callable[[Made], AbstractAsyncContextManager[Ask]]:
    """A runtime with its own test model, which calls the tool once."""

    @asynccontextmanager
    async def serve(made: Made) -> AsyncGenerator[Ask]:
        deployment = made()

        async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
            read = await run(deployment, name, json.dumps(arguments))
            (text,) = read.texts
            structured = None if read.body is None else read.body.get("data")
            return Shown(kind="error" if read.is_error else "result", text=text, structured=structured, rest=read.rest)

        yield ask

    return serve


async def of_pydantic_ai(made: Made) -> Listed:
    from registry.adapters.pydantic_ai import HedgerowToolset

    context: Any = None
    found = {name: one.tool_def for name, one in (await HedgerowToolset(made()).get_tools(context)).items()}
    return {name: (one.description or "", one.parameters_json_schema) for name, one in found.items()}


async def of_openai_agents(made: Made) -> Listed:
    from registry.adapters.openai_agents import function_tools

    return {one.name: (one.description, one.params_json_schema) for one in function_tools(made())}


async def of_langchain(made: Made) -> Listed:
    from registry.adapters.langchain import structured_tools

    return {one.name: (one.description, one.args_schema) for one in structured_tools(made())}


# -- the table -----------------------------------------------------------------------------------------------------

IN_PROCESS = Surface(serve=in_process, lists=catalogue)
"""What the others are compared with."""

SURFACES: Mapping[str, Surface] = {
    "in process": IN_PROCESS,
    "chat, Anthropic": Surface(serve=chat("anthropic"), lists=offered("anthropic"), structure="none", is_utf8=True),
    "chat, OpenAI Chat": Surface(
        serve=chat("openai-chat"), lists=offered("openai-chat"), tells_errors=False, structure="none", is_utf8=True
    ),
    "chat, OpenAI Responses": Surface(
        serve=chat("openai-responses"),
        lists=offered("openai-responses"),
        tells_errors=False,
        structure="none",
        is_utf8=True,
    ),
    "chat, Gemini": Surface(
        serve=chat("gemini"), lists=offered("gemini"), structure="none", is_utf8=True, echoes_the_name=True
    ),
    "pipeline": Surface(serve=pipeline, gives_a_value=True, says_nothing_of=frozenset({"malformed", "unknown_tool"})),
    # It would tell an unknown tool from an instance that is not open.
    "HTTP": Surface(serve=http, says_nothing_of=frozenset({"unknown_tool"})),
    # The SDK's client takes at most 1 MiB in one event of the older era's HTTP, and the structured half repeats a text.
    **{
        f"MCP, {way}": Surface(
            serve=mcp(way),
            lists=mcp_list(way),
            is_utf8=True,
            most_chars=300_000 if way == Way("http", "legacy") else 100_000_000,
        )
        for way in WAYS
    },
    "MCP, text of foreign answers alone": Surface(
        serve=mcp(Way("memory", "auto"), structured=False), structure="own", is_utf8=True
    ),
    "Pydantic AI": Surface(
        serve=runtime(RUNTIMES["pydantic_ai"]), lists=of_pydantic_ai, takes_any_name=False, is_utf8=True
    ),
    "OpenAI Agents": Surface(
        serve=runtime(RUNTIMES["openai_agents"]),
        lists=of_openai_agents,
        tells_errors=False,
        structure="none",
        takes_any_name=False,
        is_utf8=True,
    ),
    "LangChain": Surface(serve=runtime(RUNTIMES["langchain"]), lists=of_langchain, takes_any_name=False, is_utf8=True),
}
"""Every surface, by its name."""
