"""HTML as plain text, by inscriptis over a tree of lxml. It runs in `connectors._apart`, and never in the agent's process.

The tree is made plain first, because the layout is where a small page becomes gigabytes: no style, no attribute but a
link's target, no table (one wide cell pads every row to its width), lists indented ten levels deep at most, and a tree at
most a hundred levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast, final

# lxml and inscriptis bring no types; what comes of them is `Any` here and nowhere else.
etree: Any = import_module("lxml.etree")
lxml_html: Any = import_module("lxml.html")
Inscriptis: Any = import_module("inscriptis.html_engine").Inscriptis
ParserConfig: Any = import_module("inscriptis.model.config").ParserConfig
HtmlElement: Any = import_module("inscriptis.model.html_element").HtmlElement
Display: Any = import_module("inscriptis.html_properties").Display
STRICT: Any = import_module("inscriptis.css_profiles").STRICT_CSS_PROFILE
Element = Any

__all__ = ["Page", "plain", "read_html"]

MAX_MARKUP: Final = 2_000_000
MAX_DEPTH: Final = 100
MAX_LISTS: Final = 10
MAX_TARGET: Final = 2000

# Never text for a reader, whatever the page's style says.
SILENT: Final = ("script", "style", "template", "head", "noframes", "object", "svg", "math", "audio", "video", "canvas")
# What stands in for scripts and frames, which a browser shows in the place of it.
INSTEAD: Final = ("noscript", "iframe")
HIDDEN: Final = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
ROWS: Final = frozenset({"table", "thead", "tbody", "tfoot", "tr", "caption", "form", "section", "dl", "dt", "dd"})
CELLS: Final = frozenset({"td", "th"})
LISTS: Final = frozenset({"ul", "ol"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What became of a page."""

    text: str
    hidden: int = 0
    """How many hidden parts were left out."""
    complete: bool
    """Whether the page and its text are whole."""
    lost: bool = False
    """Whether the parser dropped a part of the page, which lies too deep for it."""
    folded: int = 0
    """How many elements lay so deep that their text stands in one line."""
    elements: int = 0


def read_html(content: bytes, *, max_chars: int, max_bytes: int = MAX_MARKUP, bare: int = 0) -> dict[str, Any]:
    """Turn a page in UTF-8 into what a `Page` holds."""
    page = plain(content, max_chars=max_chars, max_bytes=max_bytes, bare=bool(bare))
    return {name: getattr(page, name) for name in Page.__dataclass_fields__}


def plain(content: bytes, *, max_chars: int, max_bytes: int = MAX_MARKUP, bare: bool = False) -> Page:
    """Turn a page into text.

    Args:
        content: the page, in UTF-8.
        max_chars: the longest text.
        max_bytes: how much of the page is read.
        bare: the words alone that are seen in a browser: no target of a link, no text for a picture, no stand-in for a
            script or a frame, and nothing that is kept from those who are read to.
    """
    tree, whole = parsed(content[:max_bytes])
    if tree is None:
        return Page(text="", complete=len(content) <= max_bytes)
    title = " ".join((tree.findtext(".//title") or "").split())
    elements = sum(1 for _ in tree.iter())
    hidden = without_hidden(tree, bare=bare)
    folded = flatten(tree, bare=bare)
    config = ParserConfig(css=dict(STRICT) if bare else PROFILE, display_links=not bare, display_images=not bare)
    text = Inscriptis(tree, config).get_text()
    text = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    if title:
        text = f"{title}\n\n{text}"
    complete = whole and len(content) <= max_bytes and len(text) <= max_chars
    return Page(
        text=text[:max_chars], hidden=hidden, complete=complete, lost=not whole, folded=folded, elements=elements
    )


def profile() -> dict[str, Any]:
    made = dict(STRICT)
    for name in LISTS:
        made[name] = HtmlElement(display=Display.block, padding_inline=2)
    return made


PROFILE: Final = profile()


def parsed(content: bytes) -> tuple[Element | None, bool]:
    """Return the tree, and whether it holds the whole page: the parser drops in silence what lies too deep for it."""
    # huge_tree: 2048 levels instead of 256.
    parser = lxml_html.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
    )
    content = content.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())
    if not content.strip():
        return None, True
    try:
        tree = lxml_html.document_fromstring(content, parser=parser)
    except etree.ParserError:
        return None, True
    return tree, not any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log)


def without_hidden(tree: Element, *, bare: bool) -> int:
    """Drop what is no text and what no reader of the page would see; count the second. Other ways of hiding are shown."""
    for element in list(tree.iter(*SILENT, *(INSTEAD if bare else ()))):
        drop(element)
    found = [e for e in tree.iter() if is_hidden(e) or (bare and e.get("aria-hidden") == "true")]
    for element in found:
        drop(element)
    return len(found)


def is_hidden(element: Element) -> bool:
    return "hidden" in element.attrib or bool(HIDDEN.search(element.get("style", "")))


def drop(element: Element) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def flatten(tree: Element, *, bare: bool) -> int:
    """Take from the tree everything that could make the layout larger than the page; count what was folded."""
    deep: list[Element] = []
    for element, depth, lists in walk(tree):
        target = element.get("href", "") if element.tag == "a" else ""
        alt = element.get("alt", "") if element.tag == "img" else ""
        element.attrib.clear()
        if target:
            element.set("href", " ".join(target.split())[:MAX_TARGET])
        if alt:
            element.set("alt", alt[:MAX_TARGET])
        if element.tag in CELLS:
            as_cell(element, "  " if bare else " | ")
        elif element.tag in ROWS or (element.tag in LISTS and lists > MAX_LISTS):
            element.tag = "div"
        if depth == MAX_DEPTH:
            deep.append(element)
    for element in deep:
        text = " ".join(cast("Iterator[str]", element.itertext()))
        tail = element.tail
        element.clear()
        element.text, element.tail = text, tail
    return len(deep)


def as_cell(element: Element, between: str) -> None:
    previous = element.getprevious()
    is_first = previous is None
    element.tag = "span"
    if not is_first:
        element.text = f"{between}{element.text or ''}"


def walk(tree: Element) -> Iterator[tuple[Element, int, int]]:
    """Yield each element above the bound, with its depth and how many lists it lies in; without recursion."""
    todo: list[tuple[Element, int, int]] = [(tree, 0, 0)]
    while todo:
        element, depth, lists = todo.pop()
        if not isinstance(element.tag, str):
            continue
        lists += element.tag in LISTS
        if depth < MAX_DEPTH:
            todo += [(child, depth + 1, lists) for child in element]
        yield element, depth, lists
