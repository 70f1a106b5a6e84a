"""One page of a long foreign text, and our sentence that says which page it is. The sentence holds numbers alone."""

from __future__ import annotations

from connectors._decoding import decode_text
from registry import Foreign

__all__ = ["as_text", "counted", "page_of", "span"]


def page_of(
    text: Foreign[str], offset: int, limit: int, *, again: str = "ask again with offset={end} for more"
) -> tuple[str, Foreign[str]]:
    """Cut one page out, and say in our words where it lies. Nothing is cut without a word."""
    total = text.measure(len)
    return span("characters", offset, min(offset + limit, total), total, again), text.map(
        lambda whole: whole[offset : offset + limit]
    )


def span(what: str, start: int, end: int, total: int, again: str = "ask again with offset={end} for more") -> str:
    """Say which of how many: 'characters 1 to 4000 of 81234; ask again with offset=4000 for more'."""
    if total == 0:
        return f"no {what}"
    if start >= total:
        return f"nothing at offset {start}, there are {total} {what}"
    words = f"{what} {start + 1} to {end} of {total}"
    return words if end >= total else f"{words}; {again.format(end=end)}"


def as_text(body: Foreign[bytes]) -> Foreign[str]:
    """Bytes as UTF-8, what is not UTF-8 as lone surrogates."""
    return body.map(lambda content: decode_text(content, "utf-8"))


def counted(number: int, one: str) -> str:
    """A number and a noun of ours: '1 comment', '2 comments'."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
