"""Tests that are coroutines: each runs in a loop of its own, and none longer than its bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec

P = ParamSpec("P")

LONGEST_S = 60.0


def in_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a coroutine test in a new event loop; fail it after a minute."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(LONGEST_S):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run
