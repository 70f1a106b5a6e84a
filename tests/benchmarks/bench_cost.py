"""What a call costs beside the handler: ratios to the same validated call without a dispatcher, in one process.

CPU time is what is counted, rounds of all shapes are interleaved, and the median of their ratios is printed, so that a
machine that is busy with something else slows all of them alike. No duration is asserted anywhere.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from registry import Admission, Deployment, FenceKey, Permitted, Registry, ToolDef, ToolInput, run_registry_tool

ROUNDS = 41
CALLS = 400


class Text(ToolInput):
    text: str


async def handler(request: Text) -> str:
    return request.text


def deployment() -> Deployment:
    return Deployment(
        tools=Registry(
            [
                ToolDef(name="own", description="d", input=Text, handler=handler, untrusted_output=False),
                ToolDef(name="fenced", description="d", input=Text, handler=handler, untrusted_output="web"),
            ]
        ),
        permitted=Permitted.every(),
        admission=Admission(max_concurrent=8, window_s=1),
        reply_timeout_s=10,
        catalog_prose="quoted",
        fence_key=FenceKey.random(),
        max_result_chars=100_000,
        max_media_bytes=1_000_000,
        audit=lambda record: None,
    )


ARGUMENTS = {"text": "Three lights are on."}


async def validate_and_call() -> object:
    return await handler(Text.model_validate(ARGUMENTS))


async def own_task_under_a_timeout() -> object:
    async with asyncio.timeout(10):
        return await asyncio.get_running_loop().create_task(validate_and_call())


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - started) / CALLS


async def measure() -> dict[str, list[float]]:
    there = deployment()
    shapes: dict[str, Callable[[], Awaitable[object]]] = {
        "validate + call": validate_and_call,
        "the same in its own task under asyncio.timeout": own_task_under_a_timeout,
        "run_registry_tool, own words": lambda: run_registry_tool(there, "own", ARGUMENTS),
        "run_registry_tool, fenced": lambda: run_registry_tool(there, "fenced", ARGUMENTS),
    }
    found: dict[str, list[float]] = {name: [] for name in shapes}
    for _ in range(ROUNDS):
        for name, shape in shapes.items():
            found[name].append(await timed(shape))
    return found


def main() -> None:
    """Print the ratios."""
    found = asyncio.run(measure())
    bare, own_task = list(found.values())[:2]
    print(f"{'shape':50} {'microseconds':>12} {'x validate+call':>16} {'x own task':>11}")
    for name, times in found.items():
        to_bare = statistics.median(a / b for a, b in zip(times, bare, strict=True))
        to_task = statistics.median(a / b for a, b in zip(times, own_task, strict=True))
        print(f"{name:50} {statistics.median(times) * 1e6:12.1f} {to_bare:16.1f} {to_task:11.2f}")


if __name__ == "__main__":
    main()
