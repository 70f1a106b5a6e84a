"""The whole hostile corpus over the Model Context Protocol: the dispatcher's bytes in both halves, on every transport.

Each field holds another text of the corpus, so that none can hide behind a sibling that is treated rightly.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types

from registry import Admission, Deployment, Foreign, ToolFailed, reply, run_registry_tool, unfence_untrusted
from registry.testing.corpus import BODIES, CELLS, FAILURES, PROSE, Attack
from tests.support.deployments import KEY, Nothing, deploy, tool
from tests.support.loops import in_loop
from tests.support.mcp_servers import Way, client_of, every_way

ATTACKS: tuple[Attack, ...] = (*BODIES, *CELLS, *PROSE, *FAILURES)
# So many tools, each with so many attacks: a call for each alone would take minutes over a pipe.
AT_ONCE = 8
# A long one goes alone. The SDK's client takes at most 1 MiB in one event of the older era's HTTP, and the structured half
# repeats a text two times, so the longest does not come through there, whatever the server does.
MOST_OF_AN_EVENT = 300_000
LONG = 20_000
SHORT = [attack for attack in ATTACKS if len(attack.text) <= LONG]
GROUPS = [
    *(tuple(SHORT[at : at + AT_ONCE]) for at in range(0, len(SHORT), AT_ONCE)),
    *((attack,) for attack in ATTACKS if len(attack.text) > LONG),
]


def data_of(group: tuple[Attack, ...]) -> dict[str, str]:
    """Each text as a value, and as a key."""
    keys = {attack.text: attack.id for attack in group if len(attack.text) <= LONG}
    return {attack.id: attack.text for attack in reversed(group)} | keys


def answering(group: tuple[Attack, ...]) -> Any:
    async def handler(_: Nothing) -> Any:
        parts = [
            part for attack in group for part in ("Our own line.", Foreign(attack.text, f"origin of {attack.text}!"))
        ]
        return reply(*parts, data=Foreign(data_of(group)))

    return handler


def failing(group: tuple[Attack, ...]) -> Any:
    async def handler(_: Nothing) -> Any:
        raise ToolFailed("It failed.", detail=Foreign("\n".join(attack.text for attack in group)))

    return handler


def hostile() -> Deployment:
    """Tools whose answers and failures are the corpus."""
    return deploy(
        *(tool(answering(group), "a stranger", name=f"answers{n}") for n, group in enumerate(GROUPS)),
        *(tool(failing(group), "a server", name=f"fails{n}") for n, group in enumerate(GROUPS)),
        admission=Admission(max_concurrent=4, window_s=20),
        reply_timeout_s=30,
        max_result_chars=50_000_000,
    )


def is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


@every_way
@in_loop
async def test_no_text_of_the_corpus_leaves_its_fence_or_its_envelope(way: Way) -> None:
    deployment = hostile()
    async with asyncio.timeout(50), client_of(way, hostile, structured=True) as client:
        for number, group in enumerate(GROUPS):
            if way == Way("http", "legacy") and sum(len(attack.text) for attack in group) > MOST_OF_AN_EVENT:
                continue
            result = await client.call_tool(f"answers{number}", {})
            outcome = await run_registry_tool(deployment, f"answers{number}", {})
            assert [block.text for block in result.content if isinstance(block, types.TextContent)] == [outcome.text]

            body = result.structured_content
            assert body is not None
            assert set(body) == {"outcome", "text", "origins", "data"}
            assert (body["outcome"], body["text"]) == ("answered", outcome.text)
            texts = [attack.text for attack in group]
            if all(map(is_unicode, texts)):
                assert body["data"]["untrusted"] == data_of(group)
                assert set(body["data"]) == {"untrusted", "origins"}
            else:
                assert set(body["data"]) == {"omitted"}

            failed = await client.call_tool(f"fails{number}", {})
            expected = await run_registry_tool(deployment, f"fails{number}", {})
            assert [block.text for block in failed.content if isinstance(block, types.TextContent)] == [expected.text]
            assert failed.structured_content is not None
            assert set(failed.structured_content) == {"outcome", "text", "origins"}
            own, _, block = expected.text.partition("It failed.\n")
            assert own == "The tool failed.\n"
            assert unfence_untrusted(block, key=KEY) == "\n".join(texts)


@in_loop
async def test_by_default_no_foreign_byte_stands_outside_of_a_fence() -> None:
    """What is left of a result when its blocks are taken out holds nothing of the corpus, in any field at any depth."""
    deployment = hostile()
    async with client_of(Way("memory", "auto"), hostile) as client:
        for number, group in enumerate(GROUPS):
            result = await client.call_tool(f"answers{number}", {})
            outcome = await run_registry_tool(deployment, f"answers{number}", {})
            sent = json.loads(result.model_dump_json(by_alias=True))
            assert sent.pop("content") == [{"type": "text", "text": outcome.text, "annotations": None, "_meta": None}]
            rest = json.dumps(sent, ensure_ascii=False)
            assert sent["structuredContent"] is None
            assert [attack.id for attack in group if len(attack.text) > 3 and attack.text in rest] == []
