"""Clients of the Model Context Protocol that do everything at once: outcomes add up, and nothing stays behind."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from registry import Admission
from tests.support import mcp_tools
from tests.support.deployments import Text, deploy, tool, until
from tests.support.loops import in_loop
from tests.support.mcp_servers import ERAS, Era, http_server
from tests.support.mcp_soak import EXPECTED, KINDS, soak

LINES = 1000
CALLS = 100
CLIENTS = 4


@pytest.mark.slow
@in_loop
async def test_over_a_pipe_every_line_gets_what_is_its_due_and_every_place_comes_back() -> None:
    found = await soak(LINES)

    asked = Counter({kind: count for (kind, _), count in found.tally.items() if kind in KINDS})
    assert sum(count for (kind, _), count in found.tally.items() if kind in KINDS) == LINES
    assert set(asked) == set(KINDS)
    assert [key for key in found.tally if key[1] != EXPECTED.get(key[0], key[1])] == []
    assert found.strays == []
    assert (found.places, found.last_words) == ("1 taken", "still running: 0")


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
@in_loop
async def test_over_http_clients_that_leave_stop_what_they_asked_for_and_disturb_nobody(era: Era) -> None:
    audited: Counter[str] = Counter()
    inside: dict[str, asyncio.Event] = {}

    async def stays(request: Text) -> Any:
        inside[request.text].set()
        await asyncio.Event().wait()

    tools = (
        tool(mcp_tools.says, name="says", takes=Text),
        tool(mcp_tools.fails, name="fails"),
        tool(stays, name="stays", takes=Text),
    )
    admission = Admission(max_concurrent=8, window_s=10)
    deployment = deploy(
        *tools, admission=admission, reply_timeout_s=30, audit=lambda record: audited.update([record.code])
    )
    sent: Counter[str] = Counter()

    async def ask(client: Client, kind: str) -> None:
        sent[kind] += 1
        match kind:
            case "good":
                await client.call_tool("says", {"text": "x"})
            case "malformed":
                with pytest.raises(MCPError):
                    await client.call_tool("says", {"text": 7})
            case "failed":
                assert (await client.call_tool("fails", {})).is_error
            case _:
                name = str(len(inside))
                inside[name] = asyncio.Event()
                leaving = asyncio.ensure_future(client.call_tool("stays", {"text": name}))
                await inside[name].wait()
                leaving.cancel()
                with suppress(asyncio.CancelledError):
                    await leaving

    async def calls(url: str, seed: int) -> None:
        kinds = random.Random(seed).choices(["good", "malformed", "failed", "left"], weights=[6, 1, 1, 2], k=CALLS)
        async with Client(url, mode=era, read_timeout_seconds=30) as client:
            for kind in kinds:
                await ask(client, kind)

    async with http_server(deployment) as url:
        # One after another in each client; a leaver of one is inside beside the calls of the others.
        await asyncio.gather(*(calls(url, seed) for seed in range(CLIENTS)))
        await until(lambda: admission.in_use == 0)
        await until(lambda: audited.total() == sent.total())

    assert sent.total() == CALLS * CLIENTS
    assert audited == {
        "answered": sent["good"], "malformed": sent["malformed"], "failed": sent["failed"], "cancelled": sent["left"]
    }  # fmt: skip
