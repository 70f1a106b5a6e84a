"""One turn with a model: offer the tools, run what it asks for, give the answers back. The model is played here."""

import asyncio
import json
from typing import Any

from registry import Deployment, Foreign, MixedReply, ToolDef, ToolInput, fence_notice, reply
from registry.surfaces.chat import chat_tools, run_tool_calls


class Page(ToolInput):
    """Which page."""

    address: str


async def read_page(request: Page) -> MixedReply:
    """A page, as the network would bring it."""
    return reply("One page.", Foreign(f"Welcome to {request.address}."))


READ_PAGE = ToolDef(
    name="read_page",
    description="Read a page.",
    input=Page,
    handler=read_page,
    untrusted_output=lambda request: request.address,
    effect="read",
)


def ask_the_model(system: str, tools: list[dict[str, Any]], messages: list[dict[str, object]]) -> list[dict[str, Any]]:
    """Stands for the request to a provider; what comes back is the `content` of Anthropic's answer, as plain dicts."""
    assert system
    assert tools[0]["name"] == "read_page"
    assert messages
    return [
        {"type": "text", "text": "I look at both."},
        {"type": "tool_use", "id": "call_1", "name": "read_page", "input": {"address": "a.example"}},
        {"type": "tool_use", "id": "call_2", "name": "read_page", "input": {"adress": "b.example"}},
    ]


async def main() -> None:
    """Run both calls at once; the answers come back in the order of the calls."""
    deployment = Deployment.single_user([READ_PAGE])
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What do the two pages say?"}]
    turn = ask_the_model(fence_notice(), chat_tools(deployment, "anthropic"), messages)
    answers = await run_tool_calls(deployment, "anthropic", turn)
    messages += [{"role": "assistant", "content": turn}, *answers]
    print(json.dumps(answers, indent=2))


if __name__ == "__main__":
    asyncio.run(main())
