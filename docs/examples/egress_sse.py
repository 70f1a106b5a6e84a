"""A chat endpoint that lets no beacon out: live deltas, the settled turn, and what is stored."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from registry.egress import Turn

# A model as the runtime sees it: a question in, pieces of the answer out.
Model = Callable[[str], AsyncIterator[str]]


def event(name: str, data: object) -> str:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def answer(model: Model, question: str, database: Path) -> AsyncIterator[str]:
    """Streams one answer; the reader, the settled turn and the database get the same words."""
    turn = Turn()
    heard: list[str] = []
    async for piece in model(question):
        heard.append(piece)
        if shown := turn.delta(piece):
            yield event("text.delta", {"text": shown})
    settled = turn.settle({"next_message_md": "".join(heard), "verdict": "done"})
    if rest := turn.tail():
        yield event("text.delta", {"text": rest})
    store(database, question, settled["next_message_md"])  # before it is pushed, and scrubbed before both
    yield event("turn.completed", settled)


def store(database: Path, question: str, text: str) -> None:
    """Keeps a settled answer."""
    connection = sqlite3.connect(database)
    try:
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS turns (question TEXT, answer TEXT)")
            connection.execute("INSERT INTO turns VALUES (?, ?)", (question, text))
    finally:
        connection.close()


def stored(database: Path) -> list[dict[str, str]]:
    """All settled answers, oldest first."""
    connection = sqlite3.connect(database)
    try:
        found = connection.execute("SELECT question, answer FROM turns ORDER BY rowid").fetchall()
    finally:
        connection.close()
    return [{"question": question, "answer": text} for question, text in found]


def application(model: Model, database: Path) -> Starlette:
    """The service: GET /answer?q=... streams, GET /turns reads what was stored."""

    async def stream(request: Request) -> StreamingResponse:
        events = answer(model, request.query_params["q"], database)
        return StreamingResponse(events, media_type="text/event-stream")

    async def turns(request: Request) -> JSONResponse:
        return JSONResponse(stored(database))

    return Starlette(routes=[Route("/answer", stream), Route("/turns", turns)])
