"""A browser of the tests, and the pages that it is given, from real servers on loopback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from connectors.browser import Browser, tools
from connectors.ingress import NetworkRules
from tests.support.servers import Answer, response, site
from tests.support.told import Told, ask

HTML = (("Content-Type", "text/html; charset=utf-8"),)


def page(text: str) -> bytes:
    return response(text.encode("utf-8", "replace"), headers=HTML)


def a_browser(*allowed: str, **more: Any) -> Browser:
    """A browser that may reach these hosts. It has no sandbox where the tests run as root."""
    settings: dict[str, Any] = {"sandbox": os.getuid() != 0, "timeout_s": 20.0, **more}
    return Browser(NetworkRules(allow_hosts=frozenset(allowed)), **settings)


async def opened(answer: Answer | bytes, **more: Any) -> Told:
    async with site(answer) as web:
        with a_browser(web.host, **more) as browser:
            return await ask(tools(browser), "open_page", url=web.url())


def processes(folder: str) -> list[Path]:
    """The processes that run with this folder as their home: the browser's and no others."""

    def is_ours(entry: Path) -> bool:
        try:
            return f"HOME={folder}\0".encode() in (entry / "environ").read_bytes()
        except OSError:
            return False

    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and is_ours(entry)]
