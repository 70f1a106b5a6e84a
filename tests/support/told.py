"""What a model is told by a call, taken apart: what stands outside of the fence, and what stands inside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from registry import (
    Admission,
    Answered,
    AnyTool,
    Foreign,
    Outcome,
    fence_untrusted,
    run_registry_tool,
    unfence_untrusted,
)
from registry.errors import FenceError
from tests.support.deployments import KEY, deploy


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One outcome, taken apart."""

    code: str
    own: str
    foreign: tuple[str, ...]
    outcome: Outcome


async def ask(tools: tuple[AnyTool, ...], name: str, /, *, within_s: float = 30.0, **arguments: Any) -> Told:
    """Call a tool through the dispatcher and take the answer apart."""
    deployment = deploy(
        *tools,
        admission=Admission(max_concurrent=8, window_s=within_s / 2),
        reply_timeout_s=within_s,
        max_result_chars=1_000_000,
    )
    outcome = await run_registry_tool(deployment, name, arguments)
    own, foreign = taken_apart(outcome.text)
    return Told(code=outcome.code, own=own, foreign=foreign, outcome=outcome)


def data_of(told: Told) -> Any:
    """The structured half of an answer, foreign or not, as a program reads it."""
    assert isinstance(told.outcome, Answered), told.outcome.text
    data = told.outcome.data
    return data.for_program() if isinstance(data, Foreign) else data


def taken_apart(text: str) -> tuple[str, tuple[str, ...]]:
    """Split a text into the lines outside of blocks that verify, and what those blocks hold."""
    own: list[str] = []
    foreign: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = end_of_block(lines, at)
        if end is None:
            own.append(lines[at])
            at += 1
            continue
        foreign.append(unfence_untrusted("\n".join(lines[at : end + 1]), key=KEY))
        at = end + 1
    return "\n".join(own), tuple(foreign)


def end_of_block(lines: list[str], at: int) -> int | None:
    if not lines[at].startswith(OPENING):
        return None
    for end in range(len(lines) - 1, at, -1):
        try:
            unfence_untrusted("\n".join(lines[at : end + 1]), key=KEY)
        except FenceError:
            continue
        return end
    return None


def opening() -> str:
    """What every opening line begins with, learned from the fence itself, so that no test spells it."""
    blocks = [fence_untrusted(text, origin="a", key=KEY) for text in "123456789"]
    same = zip(*blocks, strict=False)
    return "".join(chars[0] for chars in takewhile(lambda chars: len(set(chars)) == 1, same))


OPENING = opening()
