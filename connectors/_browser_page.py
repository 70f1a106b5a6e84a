"""What is done with one page: it is loaded, used by its marks, and read - unless it lies where nothing may be read.

What it shows is foreign, and so is what the browser says of it; the numbers are ours.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, cast, final
from urllib.parse import urlsplit

from connectors._guard import Guard
from connectors._playwright import BrowserContext, Error, Page
from registry import Foreign, escape_cell
from registry.errors import IngressRefused, ToolFailed

__all__ = [
    "MAX_URL",
    "SETTLE_MS",
    "Look",
    "T",
    "Tab",
    "crashed",
    "first_look",
    "look",
    "no_element",
    "said_by",
    "unless_crashed",
    "use",
    "why",
]

T = TypeVar("T")
Send: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[dict[str, Any]]]

MAX_URL: Final = 8192
MAX_CHARS: Final = 1_000_000
MAX_NOTES: Final = 20
MAX_NOTE: Final = 500
SETTLE_MS: Final = 300
LOAD_MS: Final = 3000
ACT_MS: Final = 5000
SNAPSHOT_MS: Final = 5000


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """One look at a page."""

    number: int
    """The page's number, which the tools take."""
    status: int
    """What its server answered; 0 where none did."""
    text: Foreign[str]
    """Its address, its title, what its scripts said, and its accessibility snapshot."""
    refused: int
    """How many requests the network rules refused."""
    cut: int
    """How many connections were ended because the call had loaded as much as it may."""
    is_broken: bool
    """Whether the answer that the page is made of broke off."""
    is_loading: bool
    """Whether it had not come to be loaded when it was looked at first."""
    dialogs: int
    """How many dialogs it opened; each was dismissed."""
    downloads: int
    """How many downloads it began; each was refused."""
    popups: int
    """How many windows it opened; each was closed."""


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Tab:
    """One page in a context of its own, and what happened in it since the last look."""

    number: int
    context: BrowserContext
    page: Page
    status: int = 0
    is_loading: bool = False
    dialogs: int = 0
    downloads: int = 0
    popups: int = 0
    broken: asyncio.Event = field(default_factory=asyncio.Event)
    crashed: asyncio.Event = field(default_factory=asyncio.Event)
    notes: deque[tuple[str, str]] = field(default_factory=lambda: deque[tuple[str, str]](maxlen=MAX_NOTES))

    def note(self, kind: str, text: str) -> None:
        self.notes.append((kind, text[:MAX_NOTE]))


async def first_of(*works: Awaitable[object]) -> None:
    """Wait until one of them is done, and leave none of them running.

    Raises:
        Error: the one that was done first has failed.
    """
    waiting = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def unless_crashed(tab: Tab, work: Awaitable[T]) -> T:
    """Wait for what the driver does with a page. It may wait for ever where there is no page any more."""
    working = asyncio.ensure_future(work)
    try:
        await first_of(asyncio.shield(working), tab.crashed.wait())
        if working.done():
            return working.result()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    raise crashed()


def crashed() -> IngressRefused:
    return IngressRefused(
        "page_crashed",
        "The page has crashed, as one does that takes more memory than it may. It is closed; open it again, or another one.",
    )


async def settle(page: Page) -> None:
    """Give a page a moment: scripts that answer a click begin at once or not at all, and loading has a bound."""
    await page.wait_for_timeout(SETTLE_MS)
    with suppress(Error):
        await page.wait_for_load_state("load", timeout=LOAD_MS)


async def use(tab: Tab, ref: str, text: str | None, *, submit: bool) -> None:
    """Click an element, or write into it."""
    element = tab.page.locator(f"aria-ref={ref}")
    try:
        is_there = await element.count() == 1
    except Error:  # a mark in a frame that is none
        is_there = False
    if not is_there:
        no_element()
    try:
        if text is None:
            await element.click(timeout=ACT_MS)
        else:
            await element.fill(text, timeout=ACT_MS)
            if submit:
                await element.press("Enter", timeout=ACT_MS)
    except Error as error:
        words = "The element could not be clicked." if text is None else "The element did not take the text."
        raise ToolFailed(words, Foreign(said_by(error))) from None
    await settle(tab.page)


def no_element() -> None:
    raise IngressRefused(
        "no_element", "The page has no element of that mark. Write one that read_page shows, like e12."
    )


async def first_look(tab: Tab, url: str, guard: Guard, patience_s: float) -> Look:
    """Load a page and read it."""
    await tab.page.goto(url, wait_until="commit", timeout=0)
    loaded = asyncio.ensure_future(tab.page.wait_for_load_state("domcontentloaded", timeout=0))
    try:
        # A page whose answer breaks off never comes to be loaded, nor does one that goes on to an address of another
        # program (mailto:, tel:) meanwhile; what there is of it can be read.
        await first_of(asyncio.shield(loaded), tab.broken.wait(), asyncio.sleep(patience_s))
        tab.is_loading = not loaded.done() and not tab.broken.is_set()
    finally:
        loaded.cancel()
        await asyncio.gather(loaded, return_exceptions=True)
    await settle(tab.page)
    return await look(tab, guard)


async def look(tab: Tab, guard: Guard) -> Look:
    """Read a page, unless it is one that must not be read."""
    check_place(tab, guard)
    title = await title_of(tab)
    # A frame that was refused (of a file, of the browser itself) never answers. Of the others the time is enough for all.
    snapshot = await tab.page.aria_snapshot(mode="ai", timeout=SNAPSHOT_MS)
    lines = [f"Address: {escape_cell(tab.page.url[:MAX_URL])}"]
    lines += [f"Title: {escape_cell(title[:MAX_NOTE])}"] if title else []
    lines += [f"{kind}: {escape_cell(text)}" for kind, text in tab.notes]
    seen = Look(
        number=tab.number,
        status=tab.status,
        text=Foreign("\n".join(lines) + "\n\n" + snapshot[:MAX_CHARS]),
        refused=guard.refusals,
        cut=guard.cuts,
        is_broken=tab.broken.is_set(),
        is_loading=tab.is_loading,
        dialogs=tab.dialogs,
        downloads=tab.downloads,
        popups=tab.popups,
    )
    tab.notes.clear()
    tab.dialogs = tab.downloads = tab.popups = 0
    tab.is_loading = False
    return seen


async def title_of(tab: Tab) -> str:
    """The beginning of a page's title, or nothing where it cannot be had.

    The driver's own way would bring all of it here, and a title may have hundreds of megabytes. It is cut in the page, in a
    world of names that no script of the page has changed.
    """
    title: object = ""
    with suppress(Error, KeyError):
        session = await tab.context.new_cdp_session(tab.page)
        send = cast("Send", session.send)  # pyright: ignore[reportUnknownMemberType]  # the library leaves the dict bare
        tree = await send("Page.getFrameTree", {})
        world = await send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
        asked = {"expression": f"document.title.slice(0, {MAX_NOTE})", "contextId": world["executionContextId"]}
        title = (await send("Runtime.evaluate", asked))["result"]["value"]
        await session.detach()
    return title if isinstance(title, str) else ""


def check_place(tab: Tab, guard: Guard) -> None:
    """Refuse a page that the guard did not let through, and one that is no page of the web."""
    parts = urlsplit(tab.page.url)
    if parts.scheme in ("http", "https"):
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        if ((parts.hostname or ""), port) in guard.refused:
            raise not_reached()
    elif parts.scheme == "chrome-error":
        raise (
            not_reached()
            if guard.refused
            else IngressRefused(
                "not_loaded", "The page has gone to an address that could not be loaded. Open another one."
            )
        )
    elif parts.scheme not in ("about", "blob", "data"):
        raise IngressRefused("url_refused", "The page has gone to an address that is not of the web. It is not shown.")


def not_reached() -> IngressRefused:
    return IngressRefused(
        "address_refused",
        "The page is at, or leads to, a host with an address that is not a public one. Ask for a host on the public "
        "internet; only the deployment can allow another.",
    )


def why(error: Error, tab: Tab, guard: Guard) -> IngressRefused | ToolFailed:
    """Why a page could not be opened."""
    if tab.downloads:
        return IngressRefused("download_refused", "The address is a file to be downloaded, and nothing is downloaded.")
    if guard.refused:
        return not_reached()
    return ToolFailed("The page could not be opened.", Foreign(said_by(error)))


def said_by(error: Error) -> str:
    """What the browser said, which quotes the page; without the driver's log of its own steps."""
    return error.message.partition("\nCall log:")[0][:4000]
