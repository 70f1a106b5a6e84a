"""Clients of every kind at once: outcomes add up, and nothing stays behind."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from registry import Admission
from tests.support.deployments import Text, deploy, tool
from tests.support.http import served
from tests.support.loops import in_loop
from tests.support.soak import EXPECTED, MAX_BODY, soak

CALLS = 2000


async def echo(request: Text) -> str:
    return request.text


async def wait(request: Text) -> str:
    await asyncio.sleep(float(request.text))
    return "done"


async def raising(request: Text) -> str:
    raise RuntimeError(request.text)


@pytest.mark.slow
@in_loop
async def test_every_client_gets_what_is_its_due_and_every_place_comes_back() -> None:
    audited: Counter[str] = Counter()
    tools = [tool(echo, takes=Text, name="echo"), tool(wait, takes=Text, name="wait")]
    tools.append(tool(raising, takes=Text, name="raising"))
    deployment = deploy(
        *tools,
        admission=Admission(max_concurrent=64, window_s=5),
        reply_timeout_s=30,
        audit=lambda record: audited.update([record.code]),
    )
    with served(deployment, max_body_bytes=MAX_BODY) as server:
        tally = await soak(server.port, CALLS)

    by_kind = {kind: sum(count for (name, _), count in tally.items() if name == kind) for kind in EXPECTED}
    assert tally.total() == CALLS
    assert {key: count for key, count in tally.items() if EXPECTED[key[0]] != key[1]} == {}
    # What never was a call is in no audit: nonsense, too large, half of a body. What left is in it as cancelled.
    assert audited == {
        "answered": by_kind["good"] + by_kind["slow"],
        "malformed": by_kind["malformed"],
        "unknown_tool": by_kind["unknown"],
        "failed": by_kind["raising"],
        "cancelled": by_kind["leaving"],
    }
    assert deployment.admission.in_use == 0
