"""One tool for each way in which a call can end."""

from __future__ import annotations

import asyncio
from typing import Any

from registry import Admission, AnyTool, Deployment, Foreign, Media, Permitted, ToolFailed, call_tool, refuse, reply
from tests.support.deployments import Text, deploy, tool

SECRET = "a secret: postgres://admin:hunter2@db"


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


async def nested(_: Any) -> Any:
    return await call_tool("fails", {})


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
        tool(nested, name="nested", dispatches=frozenset({"fails"})),
        tool(says, name="forbidden", scope="nobody", takes=Text),
    )


def patient(*more: AnyTool, admission: Admission | None = None) -> Deployment:
    """Everything but one tool is permitted, and no call of a test is shed or timed out."""
    made = (*tools(), *more)
    grants = [found.grant for found in made if found.grant != "nobody"]
    admission = admission or Admission(max_concurrent=8, window_s=10)
    return deploy(*made, permitted=Permitted.of(*grants), admission=admission, reply_timeout_s=30)
