"""The tools of every connector, as one deployment has them; nothing they would reach is there."""

from __future__ import annotations

from pathlib import Path

from connectors import (
    browser,
    files,
    generate,
    github,
    http,
    knowledge,
    mail,
    mcp_client,
    metrics,
    sql,
    terminal,
    web_search,
)
from registry import AnyTool
from tests.support.deployments import KEY

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MODEL = generate.OpenAIModel("a-model", secrets=None, server="https://models.example/v1")
MEASURED = metrics.read_definitions(EXAMPLES / "metrics" / "metrics.toml")


def every_connector(folder: Path) -> tuple[AnyTool, ...]:
    """Make all tools over an empty folder, which is taken for a repository.

    A connector that is not listed here is not held to what all of them promise.
    """
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "pins.json").write_text('{"hedgerow_pins": 1}')
    peer = mcp_client.StdioPeer(name="peer", argv=["no-such-program"])
    programs = terminal.Programs({"tests": ["make", "test"]}, folder=folder)
    shop = {"shop": folder / "shop.duckdb"}
    return (
        *browser.tools(browser.Browser()),
        *files.tools(folder),
        *generate.tools(MODEL, fence_key=KEY, reader="person"),
        *github.tools(secrets=None),
        *http.tools(),
        *knowledge.tools(folder / "knowledge.db"),
        *mail.tools(mail.MailServer(host="mail.example", user="anna"), str),
        *mcp_client.tools(peer, pins=folder / "pins.json"),
        *metrics.tools(MEASURED, sources=shop, catalog_prose="quoted", author="a vendor"),
        *sql.tools(sql.Sqlite(path=folder / "shop.db", name="shop")),
        *terminal.program_tools(programs),
        *terminal.tools(folder),
        *web_search.tools(web_search.SearXNG(server="https://search.example")),
    )
