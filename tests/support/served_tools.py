"""Tools for processes of the tests that serve: they are named on a command line or in a file."""

from __future__ import annotations

import asyncio
import time

from registry import ToolDef, ToolInput


class Echo(ToolInput):
    """One text."""

    text: str


class Wait(ToolInput):
    """For how long, and where to say so."""

    seconds: float
    path: str


async def echo(request: Echo) -> str:
    """Own words that hold an argument."""
    return f"You said {len(request.text)} characters."


def page(request: Echo) -> str:
    """A page that somebody else wrote."""
    return request.text


async def wait(request: Wait) -> str:
    """Say that it runs, wait, and say that it is done: in a file, where a test of another process sees it."""
    with open(request.path, "a", encoding="ascii") as file:  # noqa: ASYNC230, PTH123  # short, and in a test
        file.write("started\n")
    until = time.monotonic() + request.seconds
    while time.monotonic() < until:  # noqa: ASYNC110  # nothing sets an event
        await asyncio.sleep(0.01)
    with open(request.path, "a", encoding="ascii") as file:  # noqa: ASYNC230, PTH123
        file.write("done\n")
    return "Done."


TOOLS = (
    ToolDef(name="echo", description="Count.", input=Echo, handler=echo, untrusted_output=False, effect="read"),
    ToolDef(name="page", description="A page.", input=Echo, handler=page, untrusted_output="a page", effect="read"),
    ToolDef(name="wait", description="Wait.", input=Wait, handler=wait, untrusted_output=False, effect="write"),
)
