"""The life of one browser: started by the first page, shared by its tools, bounded, and ended with all it started.

The browser lives on a loop and a thread of its own, since handlers may run on any loop. What a page says - its text, title,
dialogs and console - is foreign; numbers are ours. It downloads nothing, opens no second window, and its only way to the
network is `connectors._guard`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import re
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self, cast, final

from connectors._bounds import seconds, time_left
from connectors._browser_memory import end_large, mark_of
from connectors._browser_page import (
    MAX_URL,
    SETTLE_MS,
    Look,
    T,
    Tab,
    crashed,
    first_look,
    look,
    no_element,
    said_by,
    unless_crashed,
    use,
    why,
)
from connectors._guard import Guard
from connectors._network import BLANKS, NetworkRules, check_number_spelling, is_plain, refuse_url
from connectors._playwright import Browser as Chromium
from connectors._playwright import (
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
from connectors._process import end_marked
from registry import Foreign
from registry.errors import DeclarationError, IngressRefused, ToolFailed

__all__ = ["Browser", "Look"]

PUBLIC: Final = NetworkRules()
MAX_POPUPS: Final = 20
# Of the time that a call may take, what may go by until a page has loaded.
PATIENCE: Final = 0.4
CLOSE_S: Final = 5.0
RESCUE_S: Final = 2.0
WATCH_S: Final = 0.3
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


async def used(running: Running, number: int, ref: str, text: str | None, *, submit: bool) -> Look:
    tab = tab_of(running, number)
    if not REF.match(ref):
        no_element()
    try:
        await unless_crashed(tab, use(tab, ref, text, submit=submit))
        return await unless_crashed(tab, look(tab, running.guard))
    finally:
        await drop_crashed(running, tab)
