"""Tools and deployments for tests: small, real, and with a key that is the same in every run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal

from registry import (
    Admission,
    AnyTool,
    AuditRecord,
    Caller,
    Deployment,
    FenceKey,
    Permitted,
    Registry,
    ToolDef,
    ToolInput,
)

KEY = FenceKey.from_bytes(b"a key for tests, of 32 bytes....")

# No wait of a test is longer than this.
WAIT_S = 5.0


class Nothing(ToolInput):
    """The input of a tool that takes no arguments."""


class Text(ToolInput):
    """The input of a tool that takes one text."""

    text: str


def tool(
    handler: Callable[[Any], Any],
    untrusted_output: Any = False,
    *,
    name: str = "tool",
    takes: type[ToolInput] = Nothing,
    effect: Literal["read", "write", "destroy"] = "read",
    scope: str | None = None,
    dispatches: frozenset[str] = frozenset(),
) -> AnyTool:
    """A tool around a handler; what does not matter for a test has a default here."""
    made: AnyTool = ToolDef(
        name=name,
        description="A tool of a test.",
        input=takes,
        handler=handler,
        untrusted_output=untrusted_output,
        scope=scope,
        effect=effect,
        dispatches=dispatches,
    )
    return made


def deploy(
    *tools: AnyTool,
    permitted: Permitted | Callable[[Caller | None], Permitted] | None = None,
    admission: Admission | None = None,
    reply_timeout_s: float = WAIT_S,
    max_result_chars: int = 100_000,
    max_media_bytes: int = 1_000_000,
    audit: Callable[[AuditRecord], None] | None = None,
) -> Deployment:
    """A deployment of these tools; what does not matter for a test has a default here."""
    return Deployment(
        tools=Registry(tools),
        permitted=Permitted.every() if permitted is None else permitted,
        admission=Admission(max_concurrent=8, window_s=1) if admission is None else admission,
        reply_timeout_s=reply_timeout_s,
        catalog_prose="quoted",
        fence_key=KEY,
        max_result_chars=max_result_chars,
        max_media_bytes=max_media_bytes,
        audit=(lambda record: None) if audit is None else audit,
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that another thread or task brings about; fail after `WAIT_S`."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110  # what is waited for may be set by a thread
            await asyncio.sleep(0.001)


def until_sync(event: threading.Event) -> None:
    """Wait for an event of another thread; fail after `WAIT_S`."""
    assert event.wait(WAIT_S), "an event that the test waits for did not come"


def codes(records: Iterable[AuditRecord]) -> list[str]:
    """The codes of audit records, in order."""
    return [record.code for record in records]
