"""Tools that ask web servers: `fetch_url` reads a page, `http_request` sends any request.

The status and the numbers are ours. The reason phrase, the headers, the final address and the body are the server's.
"""

from __future__ import annotations

from typing import Literal, cast

from pydantic import Field

from connectors._decoding import sniff_image
from connectors._documents import is_html, is_pdf, pdf_text
from connectors._paging import page_of
from connectors.ingress import Fetched, Method, NetworkRules, fetch, place_of
from registry import AnyTool, Foreign, Media, MixedReply, ToolDef, ToolInput, refuse, reply
from registry.errors import DeclarationError, IngressRefused

__all__ = ["FetchUrl", "HttpRequest", "tools"]

PUBLIC = NetworkRules()


class FetchUrl(ToolInput):
    """What `fetch_url` takes."""

    url: str = Field(description="The address of the page, beginning with http:// or https://.", max_length=8192)
    offset: int = Field(default=0, ge=0, description="How many characters of the page to skip.")
    limit: int = Field(default=4000, ge=1, le=50_000, description="How many characters to show at most.")
    form: Literal["text", "source"] = Field(
        default="text", description="Whether to show HTML as text, or as its source."
    )


class HttpRequest(ToolInput):
    """What `http_request` takes."""

    method: Method = Field(description="The request method.")
    url: str = Field(description="The address, beginning with http:// or https://.", max_length=8192)
    headers: dict[str, str] = Field(
        default={}, description="Headers to send. They are not sent on when the server redirects to another host."
    )
    body: str | None = Field(default=None, max_length=1_000_000, description="The body to send, as UTF-8.")
    offset: int = Field(default=0, ge=0, description="How many characters of the answer's body to skip.")
    limit: int = Field(default=20_000, ge=1, le=200_000, description="How many characters of the body to show at most.")


def page_origin(request: FetchUrl) -> str:
    return place_of(request.url)


def answer_origin(request: HttpRequest) -> str:
    return place_of(request.url)


def tools(rules: NetworkRules = PUBLIC) -> tuple[AnyTool, ...]:
    """Make the HTTP tools.

    Args:
        rules: how far they may reach; the default is the public internet.

    Raises:
        DeclarationError: `rules` is something else.
    """
    if not isinstance(cast("object", rules), NetworkRules):
        raise DeclarationError(
            "connectors.http: rules is not a NetworkRules. Write NetworkRules(...), or leave it out."
        )

    async def fetch_url(request: FetchUrl) -> MixedReply:
        try:
            page = await fetch(request.url, rules=rules, origin=page_origin(request))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        try:
            return await shown(page, request)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)

    async def http_request(request: HttpRequest) -> MixedReply:
        body = None if request.body is None else request.body.encode("utf-8", "surrogatepass")
        try:
            answer = await fetch(
                request.url,
                rules=rules,
                origin=answer_origin(request),
                method=request.method,
                headers=request.headers,
                body=body,
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return described(answer, request)

    return (
        ToolDef(
            name="fetch_url",
            description="Read a page of the web as text, a part at a time. Follows redirects.",
            input=FetchUrl,
            handler=fetch_url,
            untrusted_output=page_origin,
            effect="read",
        ),
        ToolDef(
            name="http_request",
            description="Send an HTTP request and show the status, the headers and the body of the answer.",
            input=HttpRequest,
            handler=http_request,
            untrusted_output=answer_origin,
            effect="write",
        ),
    )


async def shown(page: Fetched, request: FetchUrl) -> MixedReply:
    """A page: our sentence, then its text, or its image, or nothing."""
    head = f"Status {page.status}{moved(page)}"
    mime = image_of(page)
    if mime is not None:
        return reply(f"{head}, {mime}, {page.body.measure(len)} bytes.", page.body.map(lambda body: Media(body, mime)))
    if is_pdf(page.body):
        pdf = await pdf_text(page.body)
        where, part = page_of(pdf.text, request.offset, request.limit)
        return reply(f"{head}. {pdf.words}, {where}.", part)
    if not is_text(page):
        return reply(f"{head}, {page.body.measure(len)} bytes that are neither text nor an image; they are not shown.")
    text, note = page.text(), ""
    if request.form == "text" and is_html(text, page.header("content-type")):
        text, note = await from_html(text)
    where, part = page_of(text, request.offset, request.limit)
    return reply(f"{head}, {where}.{note}", part)


async def from_html(markup: Foreign[str]) -> tuple[Foreign[str], str]:
    """The text of a page, and what to say about it; its source, where the library for it is missing."""
    try:
        from connectors._html import html_to_text
    except ImportError:
        return markup, " The page is shown as its source; to see HTML as text, write: pip install 'hedgerow[documents]'"
    page = await html_to_text(markup)
    note = " HTML as text."
    if page.hidden:
        note += f" Hidden by its HTML and left out: {page.hidden}."
    if not page.is_complete:
        note += " It is longer or deeper than what is read, so the end is missing."
    return page.text, note


def described(answer: Fetched, request: HttpRequest) -> MixedReply:
    """An answer: our sentence, then the status line, the headers and the body of the server, in one block."""
    head = f"Status {answer.status}{moved(answer)}, {answer.headers.measure(len)} headers"
    opening = Foreign.join((answer.reason, answer.url, answer.headers.map(lines))).map("\n".join)
    mime = image_of(answer)
    if mime is not None:
        image = answer.body.map(lambda body: Media(body, mime))
        return reply(f"{head}, a body of {answer.body.measure(len)} bytes, {mime}.", opening, image)
    if not is_text(answer):
        size = answer.body.measure(len)
        return reply(f"{head}, a body of {size} bytes that are not text; they are not shown.", opening)
    again = "ask again with offset={end} for more"
    if request.method not in ("GET", "HEAD", "OPTIONS"):
        again = "the rest is not shown, and asking again would send the request again"
    where, part = page_of(answer.text(), request.offset, request.limit, again=again)
    return reply(f"{head}, body: {where}.", Foreign.join((opening, part)).map("\n\n".join))


def moved(answer: Fetched) -> str:
    return {0: "", 1: " after 1 redirect"}.get(answer.redirects, f" after {answer.redirects} redirects")


def lines(headers: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)


def image_of(answer: Fetched) -> str | None:
    return answer.body.map(lambda body: sniff_image(body) or "").one_of(
        "image/png", "image/jpeg", "image/gif", "image/webp"
    )


def is_text(answer: Fetched) -> bool:
    """Text has no NUL, whatever its header claims; a page in UTF-16 is decoded first."""
    return not answer.text().measure(lambda text: "\0" in text)
