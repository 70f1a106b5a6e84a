"""Tools over a knowledge store: `search_knowledge` finds pieces of documents, `read_knowledge` reads one document on.

Documents come from many, so every piece is shown under the origin that it was put in with, and an answer that shows pieces
of several says so. What was found, and how much of it, is ours; names, headings and text are whoever's who wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from pydantic import Field

from connectors._knowledge_store import Hit, Ingested, Match, forget, ingest, read_text, search
from connectors._paging import page_of, span
from registry import AnyTool, Foreign, MixedReply, ToolDef, ToolInput, quote_prose, refuse, reply
from registry.errors import DeclarationError, IngressRefused

__all__ = ["Ingested", "ReadKnowledge", "SearchKnowledge", "forget", "ingest", "tools"]


LINE_ENDS: Final = "\r\n"


class SearchKnowledge(ToolInput):
    """What `search_knowledge` takes."""

    query: str = Field(
        min_length=1,
        max_length=1000,
        description="The words to look for. They are words and no expression: quotes, AND, NEAR and * mean nothing.",
    )
    match: Match = Field(
        default="any", description="Whether a piece must hold 'any' of the words, the best first, or 'all' of them."
    )
    offset: int = Field(default=0, ge=0, le=1_000_000, description="How many hits to skip.")
    limit: int = Field(default=5, ge=1, le=20, description="How many hits to show at most.")


class ReadKnowledge(ToolInput):
    """What `read_knowledge` takes."""

    document: int = Field(ge=1, le=2**62, description="The number of the document, as search_knowledge shows it.")
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=50_000, description="How many characters to show at most.")


def tools(store: Path) -> tuple[AnyTool, ...]:
    """Make the tools of a knowledge store. `ingest` puts documents into it.

    Args:
        store: the SQLite file; it need not be there yet.

    Raises:
        DeclarationError: the store is not a Path.
    """
    if not isinstance(cast("object", store), Path):
        raise DeclarationError("connectors.knowledge: store is not a Path. Write Path(...) of the store's file.")

    def search_knowledge(request: SearchKnowledge) -> MixedReply:
        try:
            found = search(store, request.query, match=request.match, offset=request.offset, limit=request.limit)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        end = min(request.offset + request.limit, found.total)
        head = span("hits", request.offset, end, found.total)
        return reply(
            f"{head[0].upper()}{head[1:]}.",
            *(shown(number, hit) for number, hit in enumerate(found.hits, start=request.offset + 1)),
            data=Foreign.join(map(data_of, found.hits)).map(list) if found.hits else [],
        )

    def read_knowledge(request: ReadKnowledge) -> MixedReply:
        try:
            found = read_text(store, request.document)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        where, part = page_of(found.text, request.offset, request.limit)
        named = Foreign.join((found.name, part)).map(lambda both: f"{one_line(both[0])}\n\n{both[1]}")
        return reply(f"Document {request.document}, {where}.", named)

    return (
        ToolDef(
            name="search_knowledge",
            description="Find pieces of stored documents by words. read_knowledge reads on in a document that was found.",
            input=SearchKnowledge,
            handler=search_knowledge,
            untrusted_output="knowledge store",
            effect="read",
        ),
        ToolDef(
            name="read_knowledge",
            description="Read a stored document, a part at a time. search_knowledge shows its number.",
            input=ReadKnowledge,
            handler=read_knowledge,
            untrusted_output="knowledge store",
            effect="read",
        ),
    )


def shown(number: int, hit: Hit) -> Foreign[str]:
    """A hit as text, under the origin of its document. Its lines are quoted, so that none of them passes for another hit."""
    where = f"hit {number}, document {hit.document}, from character {hit.start}"
    return Foreign.join((hit.name, hit.heading, hit.text)).map(
        lambda parts: f"[{where}] {titled(*parts[:2])}\n{quote_prose(parts[2].strip(LINE_ENDS))}"
    )


def titled(name: str, heading: str) -> str:
    return f"{one_line(name)}: {one_line(heading)}" if heading else one_line(name)


def one_line(text: str) -> str:
    return " ".join(text.split())


def data_of(hit: Hit) -> Foreign[Mapping[str, object]]:
    """A hit for a program."""
    document, start = hit.document, hit.start
    return Foreign.join((hit.name, hit.heading, hit.text)).map(
        lambda parts: {"document": document, "start": start, "name": parts[0], "heading": parts[1], "text": parts[2]}
    )
