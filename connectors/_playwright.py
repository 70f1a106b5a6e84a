"""The driver of the browser, or one sentence that says how it is installed: an extra, which only this module asks for."""

try:
    from playwright.async_api import (
        Browser,
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

__all__ = [
    "Browser",
    "BrowserContext",
    "ConsoleMessage",
    "Dialog",
    "Download",
    "Error",
    "Page",
    "Playwright",
    "Request",
    "Response",
    "async_playwright",
]
