"""From a document to pieces that can be found: HTML becomes text, Markdown is cut at its headings, and all into pieces.

No piece loses or gains a character of the text that it is cut from, and nothing is followed, loaded or run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias, final

from connectors._apart import read_apart_sync
from registry import Foreign
from registry.errors import IngressRefused

NEEDS: Final = "The knowledge store needs inscriptis and markdown-it-py. Write: pip install 'hedgerow[knowledge]'"

try:
    from markdown_it import MarkdownIt
except ImportError as error:  # pragma: no cover  # a subprocess test without it runs it
    raise ImportError(NEEDS, name="markdown_it") from error
if find_spec("inscriptis") is None:  # pragma: no cover  # only the process that reads a page imports it
    raise ImportError(NEEDS, name="inscriptis")

__all__ = ["MAX_CHARS", "Kind", "Piece", "pieces_of", "text_of"]

Kind: TypeAlias = Literal["text", "markdown", "html"]

MAX_CHARS: Final = 2_000_000
MAX_PIECES: Final = 20_000
# A parser looks at each line of Markdown with every rule that it has.
MAX_LINES: Final = 100_000
HTML_S: Final = 20.0
MAX_ELEMENTS: Final = 50_000
PIECE: Final = 1200
MAX_HEADING: Final = 200

LINE_END: Final = re.compile(r"\r\n?")
# Where a piece may end, the best first: after a blank line, a line, a sentence, a word.
BREAKS: Final = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"[.!?。！？]\s"), re.compile(r"\s"))

# The block rules alone: headings are wanted, and not what stands within a line.
MARKDOWN: Final = MarkdownIt("commonmark").disable(["inline", "text_join"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a document's text."""

    start: int
    """The first character."""
    end: int
    """The one after the last."""
    heading: str
    """The heading that it stands under, or nothing."""


def text_of(content: str, kind: Kind) -> str:
    """The text of a document: HTML as text, everything else as it is, with LF for line ends.

    Raises:
        IngressRefused: codes `too_large`, `too_deep`, `not_text`.
        ToolFailed: a page took too long or too much memory.
    """
    if len(content) > MAX_CHARS:
        raise IngressRefused("too_large", f"The document has more than {MAX_CHARS} characters. Divide it.")
    if "\0" in content:
        raise IngressRefused("not_text", "The document holds a NUL character, so it is not text.")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise IngressRefused("not_text", "The document holds halves of characters, so it is not text.") from None
    text = html_text(content) if kind == "html" else LINE_END.sub("\n", content)
    if len(text) > MAX_CHARS:
        raise IngressRefused("too_large", f"The document's text has more than {MAX_CHARS} characters. Divide it.")
    if kind == "markdown" and text.count("\n") > MAX_LINES:
        raise IngressRefused("too_large", f"The document has more than {MAX_LINES} lines. Divide it.")
    return text


def pieces_of(text: str, kind: Kind) -> list[Piece]:
    """Cut a text into pieces of at most 1200 characters, at headings and where lines, sentences or words end.

    Raises:
        IngressRefused: code `too_large`.
    """
    pieces = list(islice(cut_up(text, kind), MAX_PIECES + 1))
    if len(pieces) > MAX_PIECES:
        raise IngressRefused("too_large", f"The document falls into more than {MAX_PIECES} pieces. Divide it.")
    return pieces


def cut_up(text: str, kind: Kind) -> Iterator[Piece]:
    for start, end, heading in sections_of(text) if kind == "markdown" else [(0, len(text), "")]:
        while start < end:
            stop = end if end - start <= PIECE else start + cut(text[start : start + PIECE])
            if text[start:stop].strip():
                yield Piece(start=start, end=stop, heading=heading)
            start = stop


def cut(window: str) -> int:
    """Where to end a piece: at the best break in its second half, else at its end."""
    for pattern in BREAKS:
        ends = [found.end() for found in pattern.finditer(window, len(window) // 2)]
        if ends:
            return ends[-1]
    return len(window)


# -- Markdown ------------------------------------------------------------------------------------------------------


def sections_of(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts between headings. A parser finds those, since a '#' in a block of code is none."""
    offsets = [0]
    for line in text.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    start, heading = 0, ""
    tokens = MARKDOWN.parse(text)
    for token, inside in pairwise(tokens):
        if token.type != "heading_open" or token.map is None:
            continue
        at = offsets[token.map[0]]
        if at > start:
            yield start, at, heading
        start, heading = at, inside.content[:MAX_HEADING]
    if start < len(text):
        yield start, len(text), heading


# -- HTML ----------------------------------------------------------------------------------------------------------


def html_text(markup: str) -> str:
    """A page as the words that it shows, without the targets of its links.

    Raises:
        IngressRefused: codes `too_deep`, `too_large`.
        ToolFailed: it took too long, or more memory than one page may take.
    """
    page = read_apart_sync(
        "html",
        Foreign(markup.encode(), "a page"),
        timeout_s=HTML_S,
        options={"bare": 1, "max_chars": MAX_CHARS + 1, "max_bytes": 4 * MAX_CHARS},
    )
    # A page of which a part would be lost, or torn out of its lines, is refused and never stored without a word.
    if page.measure(lambda found: bool(found["lost"] or found["folded"] or found["elements"] > MAX_ELEMENTS)):
        raise IngressRefused(
            "too_deep",
            f"The page has elements within more than 100 others, or more than {MAX_ELEMENTS} of them. Ingest its text.",
        )
    return page.map(lambda found: str(found["text"])).for_program()  # for this program, which stores it with its origin
