"""One tool for each way in which a call can end, and some that do their worst."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from registry import Admission, AnyTool, Deployment, Foreign, Media, Permitted, ToolFailed, call_tool, refuse, reply
from tests.support.deployments import Text, deploy, tool

SECRET = "a secret: postgres://admin:hunter2@db"


class Unspeakable(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


async def answers(request: Text) -> Any:
    return reply("One result.", Foreign(request.text), data=Foreign({"text": request.text}))


async def says(request: Text) -> Any:
    return reply(f"{len(request.text)} characters", data={"characters": len(request.text)})


async def refuses(_: Any) -> Any:
    return refuse("too_far", "It is too far away. Ask for something nearer.")


async def fails(_: Any) -> Any:
    raise RuntimeError(SECRET)


async def fails_with_detail(request: Text) -> Any:
    raise ToolFailed("The server said no.", detail=Foreign(request.text))


async def shows(_: Any) -> Any:
    return reply("A picture.", Foreign(Media(b"\x89PNG", "image/png")), Foreign(Media(b"{}", "text/plain")))


async def waits(_: Any) -> Any:
    await asyncio.Event().wait()


async def undeclared(_: Any) -> Any:
    return reply(Foreign(SECRET))


async def too_large(_: Any) -> str:
    return "x" * 50_000_000


async def nested(_: Any) -> Any:
    return await call_tool("fails", {})


def in_a_thread(error: Callable[[], BaseException]) -> Callable[[Any], str]:
    def handler(_: Any) -> str:
        raise error()

    return handler


def on_the_loop(error: Callable[[], BaseException]) -> Callable[[Any], Any]:
    async def handler(_: Any) -> str:
        raise error()

    return handler


WORST: dict[str, Callable[[Any], Any]] = {
    "unspeakable": on_the_loop(Unspeakable),
    "group": on_the_loop(lambda: BaseExceptionGroup(SECRET, [KeyboardInterrupt(SECRET), ValueError(SECRET)])),
    "group_in_thread": in_a_thread(lambda: BaseExceptionGroup(SECRET, [KeyboardInterrupt(SECRET)])),
    "exit": on_the_loop(lambda: SystemExit(SECRET)),
    "exit_in_thread": in_a_thread(lambda: SystemExit(SECRET)),
    "interrupt_in_thread": in_a_thread(lambda: KeyboardInterrupt(SECRET)),
    "cancelled": on_the_loop(lambda: asyncio.CancelledError(SECRET)),
    "stop": in_a_thread(lambda: StopIteration(SECRET)),
    "generator_exit": on_the_loop(lambda: GeneratorExit(SECRET)),
}
BYTES = b"\xff\xfe\x00 not UTF-8 \xc3\x28 \xed\xa0\x80"
SURROGATES = "own words \udcff\ud800"


async def not_utf8(_: Any) -> Any:
    return BYTES


async def own_surrogates(_: Any) -> Any:
    return reply(SURROGATES, data={"text": SURROGATES})


def tools() -> tuple[AnyTool, ...]:
    return (
        tool(answers, "a stranger", name="answers", takes=Text),
        tool(says, name="says", takes=Text, effect="write"),
        tool(refuses, name="refuses", effect="destroy"),
        tool(fails, name="fails"),
        tool(fails_with_detail, "a server", name="fails_with_detail", takes=Text),
        tool(shows, "a camera", name="shows"),
        tool(waits, name="waits"),
        tool(undeclared, name="undeclared"),
        tool(too_large, name="too_large"),
        tool(nested, name="nested", dispatches=frozenset({"fails"})),
        tool(not_utf8, "a file", name="not_utf8"),
        tool(own_surrogates, name="own_surrogates"),
        tool(says, name="forbidden", scope="nobody", takes=Text),
        *(tool(handler, name=name) for name, handler in WORST.items()),
    )


def patient() -> Deployment:
    """Everything but one tool is permitted, and no call of a test is shed or timed out."""
    made = tools()
    grants = [found.grant for found in made if found.grant != "nobody"]
    admission = Admission(max_concurrent=8, window_s=10)
    return deploy(*made, permitted=Permitted.of(*grants), admission=admission, reply_timeout_s=30)


def hurried() -> Deployment:
    """One call at once, a short wait for a place, and a shorter one for an answer than a test has patience."""
    return deploy(*tools(), admission=Admission(max_concurrent=1, window_s=0.05), reply_timeout_s=0.3)
