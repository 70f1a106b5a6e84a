"""A tool that searches the web: `web_search`, over a SearXNG of your own or Brave's API.

How many results there are and in which order is ours to say. Titles, addresses, dates and snippets are words of strangers,
and whoever wants to be found by a model writes them for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, final

from pydantic import Field

from connectors._paging import counted, span
from connectors._rest import Answer, Credential, Query, Service, word
from connectors.ingress import NetworkRules
from registry import AnyTool, Foreign, MixedReply, ToolDef, ToolInput, refuse, render_table, reply
from registry.errors import DeclarationError, IngressRefused

__all__ = ["Brave", "SearXNG", "WebSearch", "tools"]

PUBLIC: Final = NetworkRules()
# A page must not make the whole answer too large for everybody. An address that is cut is another one, so it is not.
MAX_CHARS: Final[Mapping[str, int]] = {"title": 300, "url": 1000, "date": 40, "snippet": 600}
BRAVE_MOST: Final = 20

COLUMNS: Final = ("title", "url", "date", "snippet")
FRESHNESS: Final[Mapping[str, str]] = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
# Brave's names for languages, where they are not those of everybody else.
BRAVE_LANGUAGES: Final[Mapping[str, str]] = {"ja": "jp", "zh": "zh-hans", "pt": "pt-pt", "pt-BR": "pt-br"}

Row: TypeAlias = dict[str, str]


class WebSearch(ToolInput):
    """What `web_search` takes."""

    query: str = Field(min_length=1, max_length=400, description="What to look for.")
    within: Literal["day", "week", "month", "year"] | None = Field(
        default=None, description="Only pages of the last day, week, month or year, where their date is known."
    )
    language: str | None = Field(
        default=None,
        pattern="^[a-z]{2,3}(-[A-Z]{2})?$",
        description="The language of the pages, such as 'en' or 'pt-BR'.",
    )
    page: int = Field(default=1, ge=1, le=10, description="Which page of results.")
    limit: int = Field(default=10, ge=1, le=50, description="How many results of the page to show at most.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of results."""

    rows: Foreign[tuple[Row, ...]]
    """The results that are shown."""
    total: int
    """How many the service sent, those that cannot be read left out."""
    unreadable: int
    """How many have no title, no address, or one that is too long."""
    is_cut: bool
    """Whether a text is longer than what is shown of it."""
    silent: int
    """How many search engines behind the service did not answer."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SearXNG:
    """A SearXNG, which must have `json` among the `formats` of its settings."""

    server: str
    """Its address, such as `https://search.example`."""

    def searching(self, rules: NetworkRules) -> tuple[Service, Callable[[WebSearch, str], Awaitable[Page]]]:
        service = Service(connector="connectors.web_search", name="SearXNG", server=self.server, rules=rules)

        async def search(request: WebSearch, origin: str) -> Page:
            query: Query = {
                "q": request.query,
                "format": "json",
                "pageno": request.page,
                "time_range": request.within,
                "language": request.language,
            }
            answer = await service.ask("search", origin=origin, query=query)
            if answer.status == 403:
                raise answer.failure("SearXNG refuses (status 403). Its settings may not have json among the formats.")
            body = found(answer)
            silent = body.measure(lambda said: len(listed(said, "unresponsive_engines")))
            names = {"title": "title", "url": "url", "date": "publishedDate", "snippet": "content"}
            return page_of(body.map(lambda said: listed(said, "results")), names, request.limit, silent)

        return service, search


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Brave:
    """Brave's Search API."""

    secrets: Callable[[str], str]
    """Gives a secret by its name."""
    secret: str = "brave_search"  # noqa: S105  # a name
    """The name of the subscription token."""
    server: str = "https://api.search.brave.com"
    """Its address."""

    def searching(self, rules: NetworkRules) -> tuple[Service, Callable[[WebSearch, str], Awaitable[Page]]]:
        credential = Credential(give=self.secrets, name=self.secret, header="X-Subscription-Token")
        service = Service(
            connector="connectors.web_search",
            name="Brave Search",
            server=self.server,
            rules=rules,
            credential=credential,
        )

        async def search(request: WebSearch, origin: str) -> Page:
            language, _, country = (request.language or "").partition("-")
            query: Query = {
                "q": request.query,
                "count": min(request.limit, BRAVE_MOST),
                "offset": request.page - 1,
                "result_filter": "web",
                "text_decorations": "false",
                "freshness": FRESHNESS.get(request.within or ""),
                "search_lang": BRAVE_LANGUAGES.get(request.language or "")
                or BRAVE_LANGUAGES.get(language, language)
                or None,
                "country": country or None,
            }
            answer = await service.ask("res", "v1", "web", "search", origin=origin, query=query)
            names = {"title": "title", "url": "url", "date": "page_age", "snippet": "description"}
            results = found(answer).map(lambda body: listed(body.get("web") or {}, "results"))
            return page_of(results, names, request.limit, silent=0)

        return service, search


def tools(engine: SearXNG | Brave, *, rules: NetworkRules = PUBLIC) -> tuple[AnyTool, ...]:
    """Make the search tool.

    Args:
        engine: which service is asked, and where it is.
        rules: how far requests may reach; the default is the public internet, so a SearXNG of your own network is named in
            `allow_hosts`.

    Raises:
        DeclarationError: the engine, its address or the rules cannot be used.
    """
    if not isinstance(cast("object", engine), SearXNG | Brave):
        raise DeclarationError(
            "connectors.web_search: engine is none. Write SearXNG(server=...) or Brave(secrets=...)."
        )
    service, search = engine.searching(rules)
    # Without the query, which may be about somebody: origins stand in the audit.
    origin = f"web pages found by {service.host}"

    async def web_search(request: WebSearch) -> MixedReply:
        try:
            page = await search(request, origin)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        text = page.rows.map(lambda rows: table(rows, service.host))
        data = page.rows.map(lambda rows: {"results": [{"rank": at, **row} for at, row in enumerate(rows, start=1)]})
        return reply(head(page, request), text, data=data)

    return (
        ToolDef(
            name="web_search",
            description="Search the web. Shows the title, address, date and a snippet of each result.",
            input=WebSearch,
            handler=web_search,
            untrusted_output=origin,
            effect="read",
        ),
    )


def found(answer: Answer) -> Foreign[dict[str, Any]]:
    """The body of an answer that is one.

    Raises:
        ToolFailed: the service answered something else.
    """
    if answer.status != 200:
        raise answer.unexpected()
    body = answer.json()
    if not body.measure(lambda value: isinstance(value, dict)):
        raise answer.failure(f"The answer of {answer.service} is not a list of results.")
    return body


def listed(body: object, key: str) -> list[object]:
    value = cast("dict[str, object]", body).get(key) if isinstance(body, dict) else None
    return cast("list[object]", value) if isinstance(value, list) else []


def page_of(results: Foreign[list[object]], names: Mapping[str, str], limit: int, silent: int) -> Page:
    rows = results.map(lambda items: rows_of(items, names))
    total = rows.measure(len)
    shown = rows.map(lambda whole: whole[:limit])
    return Page(
        rows=shown.map(shortened_rows),
        total=total,
        unreadable=results.measure(len) - total,
        is_cut=shown.measure(lambda whole: shortened_rows(whole) != whole),
        silent=silent,
    )


def rows_of(items: list[object], names: Mapping[str, str]) -> tuple[Row, ...]:
    return tuple(row for item in items if (row := row_of(item, names)) is not None)


def row_of(item: object, names: Mapping[str, str]) -> Row | None:
    row = {column: word(item, names[column]) for column in COLUMNS}
    return row if row["title"] and 0 < len(row["url"]) <= MAX_CHARS["url"] else None


def shortened_rows(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(map(shortened, rows))


def shortened(row: Row) -> Row:
    return {column: row[column][: MAX_CHARS[column]] for column in COLUMNS}


def table(rows: tuple[Row, ...], provenance: str) -> str:
    """A line for each result, of which no title can begin another."""
    return render_table(COLUMNS, ([row[column] for column in COLUMNS] for row in rows), provenance)


def head(page: Page, request: WebSearch) -> str:
    """How many there are and what is not shown, in our words."""
    shown = min(page.total, request.limit)
    again = f"ask again with a higher limit, or with page={request.page + 1}, for more"
    shown = min(page.total, request.limit)
    words = [f"Page {request.page}: {span('results', 0, shown, page.total, again)}."]
    if page.is_cut:
        words.append(f"Titles are cut after {MAX_CHARS['title']} characters, snippets after {MAX_CHARS['snippet']}.")
    if page.unreadable:
        words.append(f"{counted(page.unreadable, 'result')} without a title or a usable address left out.")
    if page.silent:
        words.append(f"{counted(page.silent, 'search engine')} did not answer, so there may be more.")
    return " ".join(words)
