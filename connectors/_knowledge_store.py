"""The knowledge store: documents in one SQLite file, cut into pieces that FTS5 finds. Every piece keeps whose words it is.

What is searched for is never a part of a statement and never an expression of FTS5: each word is one quoted string.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, final
from urllib.parse import quote

from connectors._bounds import seconds, time_left
from connectors._knowledge_text import Kind, Piece, pieces_of, text_of
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Hit", "Hits", "Ingested", "Match", "Text", "forget", "ingest", "read_text", "search"]

Match: TypeAlias = Literal["all", "any"]

MAX_NAME: Final = 500
MAX_ORIGIN: Final = 500
MAX_WORDS: Final = 32
SEARCH_S: Final = 10.0
WRITE_S: Final = 60.0
MAX_DETAIL: Final = 4000
# Of the time there is, what may go by in waiting for whoever writes; the rest is for the work and for the answer.
PATIENCE: Final = 0.7
RUN: Final = re.compile(r"\w+")
# How many steps of SQLite's machine pass between two looks at the clock: a fraction of a millisecond.
STEPS: Final = 1_000

# The pieces of a document are neighbours in `found`, so that they can be taken out without looking through all of them.
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS document(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL, first_piece INTEGER NOT NULL, pieces INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(
  heading, text, document UNINDEXED, start UNINDEXED, tokenize='unicode61 remove_diacritics 2');
"""
SEARCH: Final = """
SELECT d.id, d.name, d.origin, f.heading, f.start, f.text FROM found AS f JOIN document AS d ON d.id = f.document
WHERE found MATCH ? ORDER BY bm25(found, 2.0, 1.0), f.rowid LIMIT ? OFFSET ?
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a document."""

    document: int
    """Its number, for `read_knowledge`."""
    pieces: int
    """How many pieces can be found."""
    chars: int
    """The length of its text."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hit:
    """One piece that was found."""

    document: int
    start: int
    """Where it begins in the document's text."""
    name: Foreign[str]
    heading: Foreign[str]
    text: Foreign[str]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
    """A page of what was found."""

    total: int
    hits: tuple[Hit, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text:
    """A document."""

    name: Foreign[str]
    text: Foreign[str]


# -- writing -------------------------------------------------------------------------------------------------------


def ingest(store: Path, name: str, content: str | Foreign[str], *, origin: str, kind: Kind = "text") -> Ingested:
    """Put a document into a store, in the place of one of that name. The store is made if it is not there.

    Args:
        store: the file.
        name: what the document is called, such as its path or address; as foreign as its text.
        content: the text, Markdown or HTML.
        origin: who wrote it, in a few words. Every answer that shows a part of it says so.
        kind: how the content is written. HTML is kept as text, without what a page hides.

    Raises:
        IngressRefused: codes `name_refused`, `origin_refused`, `too_large`, `too_deep`, `not_text`.
        ToolFailed: the store cannot be written, or a page cannot be read within its bounds.
    """
    if not 0 < len(name) <= MAX_NAME or "\0" in name:
        raise IngressRefused("name_refused", f"The name is not one of 1 to {MAX_NAME} characters without NUL.")
    if not any(map(str.isalnum, origin)) or len(origin) > MAX_ORIGIN:
        raise IngressRefused("origin_refused", f"Say in 1 to {MAX_ORIGIN} characters who wrote the document.")
    # It is stored with the origin, and comes out of the store as a Foreign again.
    text = text_of(content.for_program() if isinstance(content, Foreign) else content, kind)
    pieces = pieces_of(text, kind)
    with opened(store, writes=True) as connection:
        number = put(connection, (name, origin, kind, text), pieces)
    return Ingested(document=number, pieces=len(pieces), chars=len(text))


def put(connection: sqlite3.Connection, row: tuple[str, str, str, str], pieces: Sequence[Piece]) -> int:
    """Replace a document within one transaction, so that no search sees half of one."""
    name, _, _, text = row
    take_out(connection, name)
    first = 1 + int(connection.execute("SELECT coalesce(max(rowid), 0) FROM found").fetchone()[0])
    cursor = connection.execute(
        "INSERT INTO document(name, origin, kind, text, first_piece, pieces) VALUES (?, ?, ?, ?, ?, ?)",
        (*row, first, len(pieces)),
    )
    number = int(cursor.lastrowid or 0)
    connection.executemany(
        "INSERT INTO found(rowid, heading, text, document, start) VALUES (?, ?, ?, ?, ?)",
        (
            (at, piece.heading, text[piece.start : piece.end], number, piece.start)
            for at, piece in enumerate(pieces, start=first)
        ),
    )
    return number


def forget(store: Path, name: str) -> bool:
    """Take a document out of a store; false when there is none of that name.

    Raises:
        ToolFailed: the store cannot be written.
    """
    with opened(store, writes=True) as connection:
        return take_out(connection, name)


def take_out(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT id, first_piece, pieces FROM document WHERE name = ?", (name,)).fetchone()
    if found is None:
        return False
    number, first, count = found
    connection.execute("DELETE FROM found WHERE rowid BETWEEN ? AND ?", (first, first + count - 1))
    connection.execute("DELETE FROM document WHERE id = ?", (number,))
    return True


# -- reading -------------------------------------------------------------------------------------------------------


def search(store: Path, query: str, *, match: Match, offset: int, limit: int) -> Hits:
    """Find pieces by words, the best first. It blocks; the time is bounded by what is left of the call.

    Raises:
        IngressRefused: codes `no_words`, `too_many_words`.
        ToolFailed: the store is not there, cannot be read, or took too long.
    """
    expression = expression_of(query, match)
    with opened(store, writes=False) as connection:
        total = connection.execute("SELECT count(*) FROM found WHERE found MATCH ?", (expression,)).fetchone()[0]
        rows = connection.execute(SEARCH, (expression, limit, offset)).fetchall()
    return Hits(total=int(total), hits=tuple(hit_of(*row) for row in rows))


def hit_of(document: int, name: str, origin: str, heading: str, start: int, text: str) -> Hit:
    return Hit(
        document=document,
        start=start,
        name=Foreign(name, origin),
        heading=Foreign(heading, origin),
        text=Foreign(text, origin),
    )


def expression_of(query: str, match: Match) -> str:
    """An expression of FTS5 that looks for the words of a text and for nothing else.

    What stands between blanks is one quoted string, so that NEAR, AND, `*`, `^`, a column and a bracket are text; FTS5
    itself divides a string into words in the way it divided the documents.
    """
    # A NUL would end the expression, and no other control character is a part of a word either.
    plain = "".join(char if char.isprintable() else " " for char in query)
    words = [word for word in dict.fromkeys(plain.split()) if any(map(str.isalnum, word))]
    if not words:
        raise IngressRefused("no_words", "The query holds no word with a letter or a digit. Write what to look for.")
    # A string with many words in it is looked for as a sequence, which costs more than the words alone.
    if sum(len(RUN.findall(word)) for word in words) > MAX_WORDS:
        raise IngressRefused("too_many_words", f"The query has more than {MAX_WORDS} words. Write the few that matter.")
    quoted = ['"' + word.replace('"', '""') + '"' for word in words]
    return (" AND " if match == "all" else " OR ").join(quoted)


def read_text(store: Path, document: int) -> Text:
    """Read a document by its number.

    Raises:
        IngressRefused: code `no_document`.
        ToolFailed: the store is not there, cannot be read, or took too long.
    """
    with opened(store, writes=False) as connection:
        row = connection.execute("SELECT name, origin, text FROM document WHERE id = ?", (document,)).fetchone()
    if row is None:
        raise IngressRefused(
            "no_document", "There is no document of this number. Write one that search_knowledge shows."
        )
    name, origin, text = row
    return Text(name=Foreign(name, origin), text=Foreign(text, origin))


# -- opening -------------------------------------------------------------------------------------------------------


@contextmanager
def opened(store: Path, *, writes: bool) -> Generator[sqlite3.Connection]:
    """Open the store, for reading alone or for one transaction, for no longer than there is time."""
    bound_s = time_left(WRITE_S if writes else SEARCH_S)
    deadline = time.monotonic() + bound_s
    try:
        connection = connected(store, bound_s, writes=writes)
        try:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
            yield connection
            if writes:
                connection.execute("COMMIT")
        finally:
            connection.close()  # what is not committed is undone
    except sqlite3.DatabaseError as error:
        failed = failure_of(error, bound_s)
    else:
        return
    raise failed from None


def failure_of(error: sqlite3.DatabaseError, bound_s: float) -> ToolFailed:
    match getattr(error, "sqlite_errorcode", None):
        case sqlite3.SQLITE_INTERRUPT:
            return ToolFailed(f"The knowledge store did not answer within {seconds(bound_s)} and was stopped.")
        case sqlite3.SQLITE_BUSY:
            return ToolFailed("The knowledge store is being written to, and was waited for in vain. Ask again.")
        case _:
            said = Foreign(str(error)[:MAX_DETAIL], "knowledge store")
            return ToolFailed("The knowledge store gave an error.", said)


def connected(store: Path, bound_s: float, *, writes: bool) -> sqlite3.Connection:
    if not writes and not store.is_file():
        raise ToolFailed("The knowledge store is not there yet. Nothing has been put into it.")
    uri = f"file:{quote(str(store.absolute()))}?mode={'rwc' if writes else 'ro'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=bound_s * PATIENCE)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if writes:
            connection.executescript(SCHEMA)
            connection.execute("BEGIN IMMEDIATE")
        else:
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection
