"""Turns one page of HTML into text, as a process of its own, and prints it. It must never follow, load or run anything.

It is started by its path, so it imports nothing of this package.

How it ended is its exit code. The page is a file, which a variable of the environment names.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

__all__ = ["MAX_DEPTH", "MAX_ELEMENTS", "PAGE", "TOO_DEEP"]

PAGE: Final = "HEDGEROW_PAGE"
TOO_DEEP: Final = 70

MAX_ELEMENTS: Final = 50_000
MAX_DEPTH: Final = 100
MAX_LISTS: Final = 8
MEMORY_BYTES: Final = 1024 * 1024 * 1024
SECONDS: Final = 60

UNSEEN: Final = ("script", "style", "template", "noscript", "head", "svg", "math", "object", "iframe", "canvas")
HIDES: Final = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def main() -> None:
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # macOS has no bound of memory
            resource.setrlimit(what, (most, most))
    text = html_text(Path(os.environ[PAGE]).read_bytes())
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def html_text(markup: bytes) -> str:
    """A page as text, without what is hidden and without what would make the text far longer than the page.

    Cells of a table are not lined up, since one wide cell would pad every other; styles are dropped, since a margin can ask
    for a million lines; lists are indented to a bounded depth.
    """
    # By name: neither has types, and whoever imports this module for its bounds must not load them.
    etree: Any = import_module("lxml.etree")
    html: Any = import_module("lxml.html")
    css: Any = import_module("inscriptis.css_profiles").CSS_PROFILES["strict"]
    parser = html.HTMLParser(encoding="utf-8")
    try:
        tree = html.document_fromstring(markup, parser=parser)
    except etree.ParserError:
        return ""  # nothing, or a comment alone
    # libxml2 stops at a depth of 256 and gives what it has; a page is refused, and never cut without a word.
    if parser.error_log.filter_from_fatals():
        sys.exit(TOO_DEEP)
    title = " ".join((tree.findtext(".//title") or "").split())
    simplify(tree, etree)
    config = import_module("inscriptis.model.config").ParserConfig(css=css.copy())
    text: str = import_module("inscriptis.html_engine").Inscriptis(tree, config).get_text()
    return f"{title}\n\n{text}" if title else text


def simplify(tree: Any, etree: Any) -> None:
    """Change a tree into one whose text is bounded by it."""
    depth, count, lists = 0, 0, 0
    gone: list[Any] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        is_list = element.tag in ("ul", "ol")
        if event == "end":
            depth, lists = depth - 1, lists - is_list
            if is_list and lists >= MAX_LISTS:
                element.tag = "div"
            continue
        depth, count, lists = depth + 1, count + 1, lists + is_list
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            sys.exit(TOO_DEEP)
        if is_unseen(element):
            gone.append(element)
    for element in gone:
        element.drop_tree()
    etree.strip_elements(tree, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    for element in tree.iter():
        flatten(element)


def is_unseen(element: Any) -> bool:
    return (
        element.tag in UNSEEN
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or HIDES.search(element.get("style", "")) is not None
    )


def flatten(element: Any) -> None:
    for name in ("style", "align", "valign"):
        element.attrib.pop(name, None)
    if element.tag in ("td", "th"):
        element.tag = "span"
        element.tail = f"  {element.tail or ''}"
    elif element.tag in ("table", "tr", "thead", "tbody", "tfoot", "caption"):
        element.tag = "div"


if __name__ == "__main__":
    main()
