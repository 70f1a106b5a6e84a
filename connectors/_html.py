"""The one way from HTML to text: bounded in size, depth, time and memory, and done in a process of its own.

What it returns is as foreign as the page. It follows no link and loads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, final

from connectors._apart import read_apart
from registry import Foreign

if find_spec("inscriptis") is None:
    raise ImportError(
        "Turning HTML into text needs inscriptis. Write: pip install 'hedgerow[documents]'", name="inscriptis"
    )

__all__ = ["HtmlText", "html_to_text"]

MAX_CHARS: Final = 2_000_000


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HtmlText:
    """A page as text."""

    text: Foreign[str]
    """The title, a blank line, and the text; a link as `[words](target)`, a picture as `[its alternative text]`."""
    hidden: int
    """How many parts were left out because their own style or attribute hides them."""
    is_complete: bool
    """False when the page or its text was longer than what is read."""


def html_to_text(markup: Foreign[str], *, timeout_s: float = 10.0, max_chars: int = MAX_CHARS) -> HtmlText:
    """Turn HTML into text. It blocks until that is done; call it in a thread.

    Args:
        markup: the page. Its first 2,000,000 bytes are read.
        timeout_s: the longest it may take; the call's own deadline holds as well.
        max_chars: the longest text.

    Raises:
        ToolFailed: the page could not be read within its bounds.
    """
    content = markup.map(lambda text: text.encode("utf-8", "replace"))
    found = read_apart("html", content, timeout_s=timeout_s, options={"max_chars": max_chars})
    return HtmlText(
        text=found.map(lambda page: str(page["text"])),
        hidden=found.measure(lambda page: int(page["hidden"])),
        is_complete=found.measure(is_complete),
    )


def is_complete(page: Any) -> bool:
    return bool(page["complete"])
