"""A loop in which a model looks at a page and decides on the next step. The page is read without any tool."""

from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic import BaseModel

from registry import FenceKey, Foreign
from registry.errors import NarrowError
from registry.prompt import Message, own, owner, prompt, stranger


class Step(BaseModel):
    """What a model may decide: a closed model, so that what it read cannot speak through it."""

    action: Literal["click", "scroll", "done"]
    element: int = 0


async def decide(
    snapshot: Callable[[], Awaitable[str]],
    ask: Callable[[list[Message]], Awaitable[str]],
    address: str,
    goal: str,
    key: FenceKey,
) -> Step:
    """Show the model the page and read its decision.

    The snapshot is the page's own text: docs/adr/0001-the-seven-rules.md, rule 4. What the model answers has read it, and is
    foreign too.
    """
    page = stranger(await snapshot(), origin=f"page {address}")
    asked = prompt(
        own('Answer with JSON: {"action": "click", "scroll" or "done", "element": number}.'), owner(goal), page
    )
    answer = Foreign(await ask(asked.openai(key=key)), origin="the deciding model")
    try:
        return answer.narrow(Step)
    except NarrowError:
        return Step(action="scroll")
