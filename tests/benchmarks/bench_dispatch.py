"""What a call costs here and in the runtimes that people already use, and what each gives for its time.

Each calls the same trivial async handler in this process, as it comes, without a model and without a transport. CPU time is
what is counted, rounds of all of them are interleaved, and the median of their ratios is printed. What each gives is not
claimed but tried: a handler that must not be called, one that waits, one that raises, and many at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from registry import Admission, AuditRecord, ToolDef, ToolInput, run_registry_tool
from tests.support.deployments import deploy

ROUNDS = 21
CALLS = 100
AT_ONCE = 50
PLACES = 8
DEADLINE_S = 0.2
SECRET = "postgres://user:password@host"
ORIGIN = "a page of a stranger"
ARGUMENTS = {"text": "Three lights are on."}

Call: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[object]]


# -- the handlers, the same for all --------------------------------------------------------------------------------


@dataclass(slots=True)
class Seen:
    """What the handlers saw."""

    called: int = 0
    inside: int = 0
    most_inside: int = 0


SEEN = Seen()


async def echo(text: str) -> str:
    """Say it again."""
    SEEN.called += 1
    return text


async def wait(text: str) -> str:
    """Wait for a time in seconds."""
    SEEN.inside += 1
    SEEN.most_inside = max(SEEN.most_inside, SEEN.inside)
    try:
        await asyncio.sleep(float(text))
    finally:
        SEEN.inside -= 1
    return text


async def fail(text: str) -> str:
    """Fail."""
    raise RuntimeError(SECRET)


HANDLERS = (echo, wait, fail)


# -- who calls them ------------------------------------------------------------------------------------------------


class Text(ToolInput):
    text: str


def hedgerow(untrusted_output: Any, records: list[AuditRecord] | None = None) -> Call:
    def tool(function: Callable[[str], Awaitable[str]]) -> Any:
        async def handler(request: Text) -> str:
            return await function(request.text)

        name = function.__name__
        return ToolDef(
            name=name, description="d", input=Text, handler=handler, untrusted_output=untrusted_output, effect="read"
        )

    deployment = deploy(
        *map(tool, HANDLERS),
        admission=Admission(max_concurrent=PLACES, window_s=DEADLINE_S / 2),
        reply_timeout_s=DEADLINE_S,
        audit=None if records is None else records.append,
    )

    async def call(name: str, arguments: Mapping[str, Any]) -> object:
        return await run_registry_tool(deployment, name, arguments)

    return call


async def pydantic_ai() -> Call:
    from pydantic_ai import FunctionToolset, RunContext, RunUsage
    from pydantic_ai.models.test import TestModel

    context = RunContext[Any](deps=None, model=TestModel(), usage=RunUsage())
    toolset = FunctionToolset[Any](HANDLERS)
    tools = await toolset.get_tools(context)

    async def call(name: str, arguments: Mapping[str, Any]) -> object:
        found = tools[name]
        return await toolset.call_tool(name, found.args_validator.validate_python(arguments), context, found)

    return call


async def openai_agents() -> Call:
    from agents import function_tool, set_tracing_disabled
    from agents.tool_context import ToolContext

    set_tracing_disabled(True)
    tools = {function.__name__: function_tool(function) for function in HANDLERS}

    async def call(name: str, arguments: Mapping[str, Any]) -> object:
        text = json.dumps(arguments)
        context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
        return await tools[name].on_invoke_tool(context, text)

    return call


async def langchain() -> Call:
    from langchain_core.tools import StructuredTool

    tools = {one.__name__: StructuredTool.from_function(coroutine=one) for one in HANDLERS}

    async def call(name: str, arguments: Mapping[str, Any]) -> object:
        return await tools[name].ainvoke(dict(arguments))

    return call


async def fastmcp() -> Call:
    # FastMCP as the SDK itself has it, which has called it MCPServer since version 2.
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("benchmark")
    for function in HANDLERS:
        server.add_tool(function)

    async def call(name: str, arguments: Mapping[str, Any]) -> object:
        return await server.call_tool(name, dict(arguments))

    return call


async def everyone() -> dict[str, Call]:
    return {
        "hedgerow, own words": hedgerow(untrusted_output=False),
        "hedgerow, fenced": hedgerow(untrusted_output=ORIGIN),
        "Pydantic AI, FunctionToolset": await pydantic_ai(),
        "OpenAI Agents, FunctionTool": await openai_agents(),
        "LangChain, StructuredTool": await langchain(),
        "MCP SDK, FastMCP": await fastmcp(),
    }


# -- what each costs -----------------------------------------------------------------------------------------------


async def timed(call: Call) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        await call("echo", ARGUMENTS)
    return (time.process_time() - started) / CALLS


async def costs(calls: Mapping[str, Call]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(await timed(call))
    return found


# -- what each gives -----------------------------------------------------------------------------------------------


async def said(made: Awaitable[object]) -> str:
    """What comes back: a result, or what is raised, as text."""
    try:
        return str(await made)
    except Exception as error:  # noqa: BLE001  # whatever a runtime raises
        return f"raised: {error}"


async def is_not_called(call: Call, arguments: Mapping[str, Any]) -> bool:
    before = SEEN.called
    await said(call("echo", arguments))
    return SEEN.called == before


async def keeps_back(call: Call, name: str, arguments: Mapping[str, Any]) -> bool:
    return SECRET not in await said(call(name, arguments))


async def has_a_deadline(call: Call) -> bool:
    task = asyncio.ensure_future(said(call("wait", {"text": str(10 * DEADLINE_S)})))
    done, _ = await asyncio.wait({task}, timeout=4 * DEADLINE_S)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return bool(done)


async def bounds(call: Call) -> bool:
    SEEN.most_inside = 0
    await asyncio.gather(*(said(call("wait", {"text": "0.01"})) for _ in range(AT_ONCE)))
    return SEEN.most_inside <= PLACES


async def says_who(call: Call) -> bool:
    return ORIGIN in await said(call("echo", ARGUMENTS))


async def writes_down(call: Call, records: list[AuditRecord]) -> bool:
    before = len(records)
    await said(call("echo", ARGUMENTS))
    return len(records) == before + 1


TRIALS: Mapping[str, Callable[[Call], Awaitable[bool]]] = {
    "a wrong type is refused": partial(is_not_called, arguments={"text": [7]}),
    "an unknown argument is refused": partial(is_not_called, arguments={"text": "x", "more": 1}),
    "no value is repeated": partial(keeps_back, name="echo", arguments={"text": [SECRET]}),
    "no text of an exception": partial(keeps_back, name="fail", arguments=ARGUMENTS),
    "a deadline": has_a_deadline,
    "a bound on how many run": bounds,
    "says who chose the text": says_who,
}
AUDIT = "a record of each call"


async def given(calls: Mapping[str, Call]) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    records: list[AuditRecord] = []
    for name, call in calls.items():
        trials = {title: await trial(call) for title, trial in TRIALS.items()}
        is_ours = name.startswith("hedgerow")
        recorded = hedgerow(untrusted_output=ORIGIN, records=records) if is_ours else call
        found[name] = {**trials, AUDIT: await writes_down(recorded, records)}
    return found


async def measure() -> tuple[dict[str, list[float]], dict[str, dict[str, bool]]]:
    calls = await everyone()
    for call in calls.values():
        await timed(call)
    found = await costs(calls)
    # Only now, since what fails is logged, and told to callbacks.
    logging.disable()
    try:
        return found, await given(calls)
    finally:
        logging.disable(logging.NOTSET)


def main() -> None:
    """Print the ratios, and what was tried."""
    found, gives = asyncio.run(measure())
    ours = found["hedgerow, own words"]
    print(f"{'one call, in process':32} {'microseconds':>12} {'x hedgerow':>11}")
    for name, times in found.items():
        ratio = statistics.median(a / b for a, b in zip(times, ours, strict=True))
        print(f"{name:32} {statistics.median(times) * 1e6:12.1f} {ratio:11.2f}")
    heads = " ".join(f"{name.partition(',')[0]:>13}" for name in gives)
    print(f"\n{'tried, as each comes':32} {heads}")
    for title in (*TRIALS, AUDIT):
        answers = " ".join(f"{'yes' if given_here[title] else 'no':>13}" for given_here in gives.values())
        print(f"{title:32} {answers}")


if __name__ == "__main__":
    main()
