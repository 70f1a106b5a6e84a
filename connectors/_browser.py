"""The life of one browser: started by the first page, shared by its tools, bounded, and ended with all it started.

The browser lives on a loop and a thread of its own, since handlers may run on any loop. What a page says - its text, title,
dialogs and console - is foreign; numbers are ours. It downloads nothing, opens no second window, and its only way to the
network is `connectors._guard`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import re
import shutil
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar, cast, final
from urllib.parse import urlsplit

from connectors._bounds import seconds, time_left
from connectors._guard import Guard
from connectors._network import BLANKS, NetworkRules, check_number_spelling, is_plain, refuse_url
from connectors._process import end_marked, marked
from registry import Foreign, escape_cell
from registry.errors import DeclarationError, IngressRefused, ToolFailed

try:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import (
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        Error,
        Page,
        Playwright,
        Request,
        Response,
        async_playwright,
    )
except ImportError as error:  # pragma: no cover  # a subprocess test without playwright runs it
    raise ImportError(
        "The browser connector needs playwright. Write: pip install 'hedgerow[browser]'", name="playwright"
    ) from error

__all__ = ["Browser", "Look"]

T = TypeVar("T")
Send: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[dict[str, Any]]]

PUBLIC: Final = NetworkRules()
MAX_URL: Final = 8192
MAX_CHARS: Final = 1_000_000
MAX_NOTES: Final = 20
MAX_NOTE: Final = 500
MAX_POPUPS: Final = 20
SETTLE_MS: Final = 300
LOAD_MS: Final = 3000
ACT_MS: Final = 5000
SNAPSHOT_MS: Final = 5000
# Of the time that a call may take, what may go by until a page has loaded.
PATIENCE: Final = 0.4
CLOSE_S: Final = 5.0
RESCUE_S: Final = 2.0
WATCH_S: Final = 0.3
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
SHARE: Final = re.compile(rb"^Pss:\s*([0-9]+) kB$", re.MULTILINE)
REF: Final = re.compile(r"(?:f[0-9]{1,4})?e[0-9]{1,6}\Z")

ARGUMENTS: Final = (
    # No name is looked up but by the guard, whatever a page or the browser itself wants to look up.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # Peer connections and QUIC would go by UDP, past a proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the name until version 124
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-component-update",
    "--disable-background-networking",
    "--renderer-process-limit=8",
    "--js-flags=--max-old-space-size=512",
)
# Playwright would let every page open windows.
NOT_GIVEN: Final = ("--disable-popup-blocking",)


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


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """A browser that runs, with everything that ends with it."""

    driver: Playwright
    chromium: Chromium
    guard: Guard
    folder: tempfile.TemporaryDirectory[str]
    tabs: dict[int, Tab] = field(default_factory=dict[int, Tab])
    current: int = 0
    """The page that the call is about."""


@final
class Browser:
    """One browser, for one caller: whoever has its tools can read and use every page that is open in it.

    Use it as a context, or call `close`; the end of the process closes it too.

    Args:
        rules: how far it may reach. `max_redirects`, `max_bytes` and `tls` are the browser's own.
        executable: the program.
        sandbox: whether pages run in the browser's sandbox. It cannot run as root, and in some containers.
        max_pages: how many pages may be open.
        max_bytes: the most that one call may load.
        max_memory: the most bytes of memory that a process of the browser may hold; one that holds more is killed.
        max_total_memory: the most that all of them may hold together; while they hold more, the largest is killed.
        timeout_s: the longest that one call may take.
        idle_s: after how long without a call the browser is ended; the next call starts another one, without pages.

    Raises:
        DeclarationError: an argument is not what it must be.
    """

    def __init__(
        self,
        rules: NetworkRules = PUBLIC,
        *,
        executable: str = "chromium",
        sandbox: bool = True,
        max_pages: int = 4,
        max_bytes: int = 50_000_000,
        max_memory: int = 1_500_000_000,
        max_total_memory: int = 3_000_000_000,
        timeout_s: float = 30.0,
        idle_s: float = 600.0,
    ) -> None:
        if not isinstance(cast("object", rules), NetworkRules):
            raise DeclarationError("Browser: rules is not a NetworkRules. Write NetworkRules(...), or leave it out.")
        for name, value in (
            ("max_pages", max_pages), ("max_bytes", max_bytes), ("max_memory", max_memory),
            ("max_total_memory", max_total_memory), ("timeout_s", timeout_s), ("idle_s", idle_s),
        ):  # fmt: skip
            if isinstance(value, bool) or not isinstance(cast("object", value), int | float) or not value > 0:
                raise DeclarationError(f"Browser: {name} is not a number above 0. Write one.")
        self.rules = rules
        self.executable = executable
        self.sandbox = sandbox
        self.max_pages = max_pages
        self.max_bytes = max_bytes
        self.max_memory = max_memory
        self.max_total_memory = max_total_memory
        self.timeout_s = timeout_s
        self.idle_s = idle_s
        self.state = threading.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        # The following belong to the loop.
        self.turn: asyncio.Lock | None = None
        self.running: Running | None = None
        self.last_number = 0
        self.alarm: asyncio.TimerHandle | None = None
        self.rescuing: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Future[object]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, its pages and its thread. A later call starts them anew."""
        with self.state:
            loop, thread = self.loop, self.thread
            self.loop = self.thread = None
        atexit.unregister(self.close)
        if loop is None or thread is None:
            return
        ended = asyncio.run_coroutine_threadsafe(self.end(), loop)
        with suppress(TimeoutError):
            ended.result(4 * CLOSE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_S)

    # -- from any loop ---------------------------------------------------------------------------------------------

    async def open(self, url: str) -> Look:
        """Open a page.

        Raises:
            IngressRefused: codes `url_refused`, `address_refused`, `too_many_pages`, `download_refused`, `page_crashed`.
            ToolFailed: the browser or the page failed.
        """
        check_url(url)
        return await self.act(lambda running: self.opened(running, url), starts=True)

    async def look(self, number: int) -> Look:
        """Look at a page again.

        Raises:
            IngressRefused: codes `no_page`, `page_crashed`, `address_refused`, `not_loaded`, `url_refused`.
            ToolFailed: the page could not be read.
        """
        return await self.act(lambda running: looked(running, number))

    async def click(self, number: int, ref: str) -> Look:
        """Click an element.

        Raises:
            IngressRefused: codes `no_page`, `no_element`, `page_crashed`, `address_refused`, `not_loaded`, `url_refused`.
            ToolFailed: it could not be clicked, or the page could not be read.
        """
        return await self.act(lambda running: used(running, number, ref, None, submit=False))

    async def type(self, number: int, ref: str, text: str, *, submit: bool) -> Look:
        """Write into an element, in place of what is there; with `submit` press Enter after it.

        Raises:
            IngressRefused: codes `no_page`, `no_element`, `page_crashed`, `address_refused`, `not_loaded`, `url_refused`.
            ToolFailed: it takes no text, or the page could not be read.
        """
        return await self.act(lambda running: used(running, number, ref, text, submit=submit))

    async def close_page(self, number: int) -> None:
        """Close a page.

        Raises:
            IngressRefused: code `no_page`.
        """

        async def closed(running: Running) -> None:
            await drop(running, tab_of(running, number))

        await self.act(closed)

    async def act(self, work: Callable[[Running], Awaitable[T]], *, starts: bool = False) -> T:
        """Do one thing at a time, on the browser's own loop, within its bound and the call's. Where no browser runs there is
        no page, and only what opens one starts it."""
        if not starts and self.running is None:
            raise no_page()
        bound_s = time_left(self.timeout_s)
        done = asyncio.run_coroutine_threadsafe(self.bounded(work, bound_s, starts=starts), self.started())
        return await asyncio.wrap_future(done)

    def started(self) -> asyncio.AbstractEventLoop:
        with self.state:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=run_loop, args=(self.loop,), name="hedgerow-browser", daemon=True)
                self.thread.start()
                atexit.register(self.close)
            return self.loop

    # -- on the loop of its own ------------------------------------------------------------------------------------

    async def bounded(self, work: Callable[[Running], Awaitable[T]], bound_s: float, *, starts: bool) -> T:
        self.turn = self.turn or asyncio.Lock()
        try:
            async with asyncio.timeout(bound_s), self.turn:
                return await self.within(work, starts=starts)
        except TimeoutError:
            raise ToolFailed(
                f"The browser did not finish within {seconds(bound_s)}. What it was told may have been done in part."
            ) from None

    async def within(self, work: Callable[[Running], Awaitable[T]], *, starts: bool) -> T:
        if self.alarm is not None:
            self.alarm.cancel()
        if self.rescuing is not None:
            await asyncio.wait([self.rescuing])
        if not starts and (self.running is None or not self.running.chromium.is_connected()):
            raise no_page()
        running = await self.launched()
        running.guard.begin()
        try:
            return await work(running)
        except Error as error:
            raise ToolFailed("The browser or the page failed.", Foreign(said_by(error))) from None
        except asyncio.CancelledError:
            # The page may be one that never comes to rest, and would take the next call's time too.
            self.rescuing = asyncio.ensure_future(self.rescue(running, running.current))
            raise
        finally:
            self.rest()

    async def rescue(self, running: Running, number: int) -> None:
        """Close the page of a call that ran out of time; a browser that cannot do even that is ended."""
        if number not in running.tabs:
            return
        try:
            async with asyncio.timeout(RESCUE_S):
                await drop(running, running.tabs[number])
        except (TimeoutError, Error):
            await self.end(gently=False)

    def later(self, work: Coroutine[Any, Any, object]) -> None:
        # Not in the context of the call that came first, whose deadline ends before this does.
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def rest(self) -> None:
        """Count the idle time anew."""
        if self.alarm is not None:
            self.alarm.cancel()
        self.alarm = asyncio.get_running_loop().call_later(self.idle_s, lambda: self.later(self.end()))

    async def launched(self) -> Running:
        if self.running is not None and self.running.chromium.is_connected():
            return self.running
        await self.end()
        program = shutil.which(self.executable)
        if program is None:
            raise ToolFailed("The browser's program is not installed on this machine.")
        folder = tempfile.TemporaryDirectory(prefix="hedgerow-browser-", ignore_cleanup_errors=True)
        guard = Guard(self.rules, self.max_bytes)
        driver = await async_playwright().start()
        try:
            chromium = await driver.chromium.launch(
                executable_path=program,
                headless=True,
                chromium_sandbox=self.sandbox,
                args=list(ARGUMENTS),
                ignore_default_args=list(NOT_GIVEN),
                # Nothing of this process's environment, which holds secrets.
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder.name, "LC_ALL": "C.UTF-8"},
                # `<-loopback>`: loopback and link-local addresses go through the guard like all others.
                proxy={"server": f"http://127.0.0.1:{await guard.start()}", "bypass": "<-loopback>"},
                timeout=20_000,
            )
        except BaseException as error:
            await guard.close()
            await driver.stop()
            folder.cleanup()
            if isinstance(error, Error):
                raise ToolFailed(
                    "The browser did not start. It needs its sandbox, which root and some containers do not have."
                ) from None
            raise
        self.running = Running(driver=driver, chromium=chromium, guard=guard, folder=folder)
        self.later(self.watch(self.running))
        return self.running

    async def watch(self, running: Running) -> None:
        """Look at what the browser's processes hold, for as long as it runs."""
        while self.running is running:
            await asyncio.to_thread(end_large, running.folder.name, self.max_memory, self.max_total_memory)
            await asyncio.sleep(WATCH_S)

    async def end(self, *, gently: bool = True) -> None:
        """End what runs, each thing within its bound, and kill what is left of it."""
        running, self.running = self.running, None
        if self.alarm is not None:
            self.alarm.cancel()
        if running is None:
            return
        if gently:
            await within_bound(running.chromium.close())
        # A page can keep the browser and its driver so busy that neither gets to what it is told.
        end_marked(mark_of(running.folder.name))
        await within_bound(running.driver.stop())
        await within_bound(running.guard.close())
        running.folder.cleanup()

    async def opened(self, running: Running, url: str) -> Look:
        if len(running.tabs) >= self.max_pages:
            raise IngressRefused(
                "too_many_pages", f"{self.max_pages} pages are open, which is the most. Close one with close_page."
            )
        context = await running.chromium.new_context(accept_downloads=False, service_workers="block", locale="en-US")
        self.last_number += 1
        page = await context.new_page()
        tab = Tab(number=self.last_number, context=context, page=page)
        running.tabs[tab.number] = tab
        running.current = tab.number
        self.listen(running, tab)
        try:
            return await unless_crashed(tab, first_look(tab, url, running.guard, self.timeout_s * PATIENCE))
        except (Error, IngressRefused, ToolFailed) as error:
            # The word that a download has begun, or that a page has crashed, comes behind that of what failed for it.
            await asyncio.sleep(SETTLE_MS / 1000)
            await drop(running, tab)
            if tab.crashed.is_set():
                raise crashed() from None
            if isinstance(error, Error):
                raise why(error, tab, running.guard) from None
            raise

    def listen(self, running: Running, tab: Tab) -> None:
        """Answer what a page does by itself: dismiss, refuse, close, and keep a note of it."""

        def on_dialog(dialog: Dialog) -> None:
            tab.dialogs += 1
            tab.note("Dialog", dialog.message)
            self.later(quietly(dialog.dismiss()))

        def on_download(download: Download) -> None:
            tab.downloads += 1
            tab.note("Download refused", download.suggested_filename)
            self.later(quietly(download.cancel()))

        def on_page(page: Page) -> None:
            if page is tab.page:
                return
            tab.popups += 1
            self.later(quietly(page.close()))
            if tab.popups > MAX_POPUPS:
                self.later(quietly(drop(running, tab)))

        def on_console(message: ConsoleMessage) -> None:
            tab.note("Console", message.text)

        def on_response(response: Response) -> None:
            with suppress(Error):
                if response.request.is_navigation_request() and response.frame == tab.page.main_frame:
                    tab.status = response.status
                    tab.broken.clear()

        def on_failed(request: Request) -> None:
            with suppress(Error):
                # Aborted is what a page is that goes elsewhere, by a script of its own or as a download.
                is_over = request.failure is not None and "ERR_ABORTED" not in request.failure
                if is_over and request.is_navigation_request() and request.frame == tab.page.main_frame:
                    tab.broken.set()

        def on_crash(_: Page) -> None:
            tab.crashed.set()

        tab.context.on("page", on_page)
        tab.page.on("crash", on_crash)
        tab.page.on("dialog", on_dialog)
        tab.page.on("download", on_download)
        tab.page.on("console", on_console)
        tab.page.on("response", on_response)
        tab.page.on("requestfailed", on_failed)
        tab.page.on("pageerror", lambda error: tab.note("Error", str(error)))
        # To listen is to keep the system's own window for choosing files from opening; nothing is chosen.
        tab.page.on("filechooser", lambda _: None)


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


def run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def within_bound(work: Awaitable[None]) -> None:
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await work


def mark_of(home: str) -> bytes:
    """What the environment of every process of the browser holds, and nobody else's."""
    return f"HOME={home}".encode()


def end_large(home: str, most: int, most_together: int) -> None:
    """Kill a process of the browser that holds more memory than a page may, and the largest where all hold more than they may
    together: so a page crashes, and not the machine."""
    sizes = {pid: resident(pid) for pid in marked(mark_of(home))}
    for pid in [pid for pid, size in sizes.items() if size > most]:
        kill(pid)
        del sizes[pid]
    if sum(sizes.values()) <= most_together:
        return
    # What several processes share was counted for each of them; to divide it costs the system more than to count it.
    shares = {pid: share_of(pid) for pid in sizes}
    for pid in sorted(shares, key=lambda pid: shares[pid], reverse=True):
        if sum(shares.values()) <= most_together:
            return
        kill(pid)
        del shares[pid]


def resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE_BYTES
    return 0


def share_of(pid: int) -> int:
    """What a process holds, of what it shares with others its part alone."""
    with suppress(OSError, ValueError):
        found = SHARE.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
        return 0 if found is None else int(found[1]) * 1024
    return resident(pid)


def kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


async def quietly(work: Awaitable[None]) -> None:
    with suppress(Error):
        await work


def check_url(url: str) -> None:
    """Refuse by its spelling what is no page of the web. The guard judges the host again, as the browser reads it."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https"):
        refuse_url(0, "does not begin with http:// or https://", "Write one that does.")
    if len(url) > MAX_URL:
        refuse_url(0, f"is longer than {MAX_URL} characters", "Write a shorter one.")
    if not is_plain(url):
        refuse_url(0, BLANKS, "Write %20 for a blank and '/' between the parts.")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        refuse_url(0, "holds a user name or a password", "Write it without the part before '@'.")
    check_number_spelling(re.sub(r":[0-9]*\Z", "", authority), hop=0)


def no_page() -> IngressRefused:
    return IngressRefused("no_page", "No page of that number is open. Open one with open_page.")


def tab_of(running: Running, number: int) -> Tab:
    if number not in running.tabs:
        raise no_page()
    running.current = number
    return running.tabs[number]


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


async def looked(running: Running, number: int) -> Look:
    tab = tab_of(running, number)
    try:
        return await unless_crashed(tab, look(tab, running.guard))
    finally:
        await drop_crashed(running, tab)


async def drop_crashed(running: Running, tab: Tab) -> None:
    if tab.crashed.is_set():
        await drop(running, tab)


async def drop(running: Running, tab: Tab) -> None:
    running.tabs.pop(tab.number, None)
    await tab.context.close()


async def settle(page: Page) -> None:
    """Give a page a moment: scripts that answer a click begin at once or not at all, and loading has a bound."""
    await page.wait_for_timeout(SETTLE_MS)
    with suppress(Error):
        await page.wait_for_load_state("load", timeout=LOAD_MS)


async def used(running: Running, number: int, ref: str, text: str | None, *, submit: bool) -> Look:
    tab = tab_of(running, number)
    if not REF.match(ref):
        no_element()
    try:
        await unless_crashed(tab, use(tab, ref, text, submit=submit))
        return await unless_crashed(tab, look(tab, running.guard))
    finally:
        await drop_crashed(running, tab)


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
