"""The one way from HTML to text: bounded in size, depth, time and memory, and done in a process of its own.

What it returns is as foreign as the page. It follows no link and loads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, final

from connectors._apart import read_apart, read_apart_sync
from registry import Foreign

if find_spec("inscriptis") is None:
    raise ImportError(
        "Turning HTML into text needs inscriptis. Write: pip install 'hedgerow[documents]'", name="inscriptis"
    )

__all__ = ["HtmlText", "html_to_text", "html_to_text_sync"]

MAX_CHARS: Final = 2_000_000


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HtmlText:
    """A page as text."""

    text: Foreign[str]
    """The title, a blank line, and the text.

    A link is `[words]` and its target in round brackets, a picture is `[its alternative text]`.
    """
    hidden: int
    """How many parts were left out because their own style or attribute hides them."""
    is_complete: bool
    """False when the page or its text was longer than what is read."""


async def html_to_text(markup: Foreign[str], *, timeout_s: float = 10.0, max_chars: int = MAX_CHARS) -> HtmlText:
    """Turn HTML into text. When this call is cancelled, the reader is killed.

    Args:
        markup: the page. Its first 2,000,000 bytes are read.
        timeout_s: the longest it may take; the call's own deadline holds as well.
        max_chars: the longest text.

    Raises:
        ToolFailed: the page could not be read within its bounds.
    """
    return text_of(await read_apart("html", sent(markup), timeout_s=timeout_s, options={"max_chars": max_chars}))


def html_to_text_sync(markup: Foreign[str], *, timeout_s: float = 10.0, max_chars: int = MAX_CHARS) -> HtmlText:
    """The same, for a thread: it blocks until the page is read."""
    return text_of(read_apart_sync("html", sent(markup), timeout_s=timeout_s, options={"max_chars": max_chars}))


def sent(markup: Foreign[str]) -> Foreign[bytes]:
    return markup.map(lambda text: text.encode("utf-8", "replace"))


def text_of(found: Foreign[Any]) -> HtmlText:
    return HtmlText(
        text=found.map(lambda page: str(page["text"])),
        hidden=found.measure(lambda page: int(page["hidden"])),
        is_complete=found.measure(lambda page: bool(page["complete"])),
    )
