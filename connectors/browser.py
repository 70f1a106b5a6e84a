"""Tools over one browser: open a page, read it as an accessibility snapshot, click, type. What a page says is foreign.

The numbers of pages and of what was refused are ours. Addresses, titles, dialogs, console and snapshots are the page's.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

from pydantic import Field

from connectors._browser import Browser, Look
from connectors._network import NetworkRules, place_of
from connectors._paging import page_of
from registry import AnyTool, MixedReply, OwnReply, ToolDef, ToolInput, refuse, reply
from registry.errors import DeclarationError, IngressRefused

__all__ = ["Browser", "Click", "ClosePage", "NetworkRules", "OpenPage", "ReadPage", "TypeText", "tools"]

PAGE = "The number of the page, as open_page says it."
REF = "The mark of the element, as the page shows it: e12 for [ref=e12]."
LIMIT = "How many characters to show at most."


class OpenPage(ToolInput):
    """What `open_page` takes."""

    url: str = Field(description="The address of the page, beginning with http:// or https://.", max_length=8192)
    limit: int = Field(default=8000, ge=1, le=100_000, description=LIMIT)


class ReadPage(ToolInput):
    """What `read_page` takes."""

    page: int = Field(ge=1, description=PAGE)
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description=LIMIT)


class Click(ToolInput):
    """What `click` takes."""

    page: int = Field(ge=1, description=PAGE)
    ref: str = Field(max_length=20, description=REF)
    limit: int = Field(default=8000, ge=1, le=100_000, description=LIMIT)


class TypeText(ToolInput):
    """What `type_text` takes."""

    page: int = Field(ge=1, description=PAGE)
    ref: str = Field(max_length=20, description=REF)
    text: str = Field(max_length=10_000, description="What to write, in place of what is there.")
    submit: bool = Field(default=False, description="Whether to press Enter after it.")
    limit: int = Field(default=8000, ge=1, le=100_000, description=LIMIT)


class ClosePage(ToolInput):
    """What `close_page` takes."""

    page: int = Field(ge=1, description=PAGE)


def origin_of(request: ReadPage | Click | TypeText) -> str:
    return f"browser page {request.page}"


def tools(browser: Browser) -> tuple[AnyTool, ...]:
    """Make the browser tools.

    Args:
        browser: the browser, which the caller closes. It starts with the first page.

    Raises:
        DeclarationError: `browser` is something else.
    """
    if not isinstance(cast("object", browser), Browser):
        raise DeclarationError("connectors.browser: browser is not a Browser. Write Browser(...).")

    async def open_page(request: OpenPage) -> MixedReply:
        return await shown(browser.open(request.url), 0, request.limit)

    async def read_page(request: ReadPage) -> MixedReply:
        return await shown(browser.look(request.page), request.offset, request.limit)

    async def click(request: Click) -> MixedReply:
        return await shown(browser.click(request.page, request.ref), 0, request.limit)

    async def type_text(request: TypeText) -> MixedReply:
        work = browser.type(request.page, request.ref, request.text, submit=request.submit)
        return await shown(work, 0, request.limit)

    async def close_page(request: ClosePage) -> OwnReply:
        try:
            await browser.close_page(request.page)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return reply(f"Page {request.page} is closed.")

    return (
        ToolDef(
            name="open_page",
            description="Open a page in a browser and show its accessibility snapshot. Each page is apart from the others.",
            input=OpenPage,
            handler=open_page,
            untrusted_output=lambda request: f"browser page {place_of(request.url)}",
            effect="read",
        ),
        ToolDef(
            name="read_page",
            description="Show a page of the browser as it is now, a part at a time.",
            input=ReadPage,
            handler=read_page,
            untrusted_output=origin_of,
            effect="read",
        ),
        ToolDef(
            name="click",
            description="Click an element of a page of the browser, and show the page after it.",
            input=Click,
            handler=click,
            untrusted_output=origin_of,
            effect="write",
        ),
        ToolDef(
            name="type_text",
            description="Write into an element of a page of the browser, and show the page after it.",
            input=TypeText,
            handler=type_text,
            untrusted_output=origin_of,
            effect="write",
        ),
        ToolDef(
            name="close_page",
            description="Close a page of the browser.",
            input=ClosePage,
            handler=close_page,
            untrusted_output=False,
            effect="write",
        ),
    )


async def shown(work: Awaitable[Look], offset: int, limit: int) -> MixedReply:
    """A page: our sentence, then what it says, in one block."""
    try:
        seen = await work
    except IngressRefused as refused:
        return refuse(refused.code, refused.sentence)
    where, part = page_of(seen.text, offset, limit, again="ask read_page with offset={end} for more")
    return reply(f"Page {seen.number}, status {seen.status}, {where}.{happened(seen)}", part)


def happened(seen: Look) -> str:
    """What the page tried, in numbers."""
    counted = (
        (seen.refused, "requests refused by the network rules"),
        (seen.cut, "connections cut off at the most that a call may load"),
        (seen.dialogs, "dialogs dismissed"),
        (seen.downloads, "downloads refused"),
        (seen.popups, "windows closed"),
    )
    words = [f"{number} {what}" for number, what in counted if number]
    broken = " Its answer broke off, so the end is missing." if seen.is_broken else ""
    broken += " It is still loading; read_page shows it as it is later." if seen.is_loading else ""
    return f"{broken} Meanwhile: {', '.join(words)}." if words else broken
