"""The HTTP way in. Everything that the other side sent comes back as `Foreign`; only numbers are ours.

It must never connect to an address that was not judged, and never wait or hold more than the rules say.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, final

from connectors._bounds import seconds, time_left
from connectors._decoding import BadCoding, Decoder, TooLarge, charset_of, codings_of, decode_text
from connectors._network import (
    BLANKS,
    NetworkRules,
    check_host,
    check_number_spelling,
    checked_addresses,
    is_plain,
    place_of,
    refuse_url,
)
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

try:
    import httpcore
    import httpx
except ImportError as error:  # pragma: no cover  # a subprocess test without httpx runs it
    raise ImportError(
        "The HTTP ingress needs httpx. Write: pip install 'hedgerow[connectors]'", name="httpx"
    ) from error

if TYPE_CHECKING:
    import ssl

__all__ = ["Fetched", "Method", "fetch", "place_of"]

Method: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""What a request asks for."""
Headers: TypeAlias = tuple[tuple[str, str], ...]

MAX_URL: Final = 8192
# What one answer may send before its body: interim answers, status line, headers. As much again may go into chunk sizes.
HEAD_BYTES: Final = 128 * 1024
# Each piece costs far more to take in than its bytes, so an answer cut into tiny ones would keep this process busy.
MAX_PIECES: Final = 20_000
AGENT: Final = "hedgerow"
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]{0,8190}[\x21-\x7e])?)?\Z")
# They frame the message or belong to the connection, so they are ours to write: a caller who sets them could smuggle a
# second request, or name one host to the check and another to the server.
OURS: Final = frozenset(
    {
        "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te",
        "trailer", "transfer-encoding", "upgrade", "via",
    }
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fetched:
    """What a server answered."""

    status: int
    """The status code, 100 to 999."""
    redirects: int
    """How many redirects were followed."""
    reason: Foreign[str]
    """The reason phrase, which a server words as it likes."""
    headers: Foreign[Headers]
    """Name and value of each header, in order."""
    url: Foreign[str]
    """Where the answer came from; after a redirect the other side chose it."""
    body: Foreign[bytes]
    """The body, decompressed."""

    def header(self, name: str) -> Foreign[str]:
        """The first header of a name, or the empty string."""
        return self.headers.map(lambda headers: first(headers, name))

    def text(self) -> Foreign[str]:
        """The body as text, by its byte order mark, its declared character set, or UTF-8."""
        return self.header("content-type").map(
            lambda kind: self.body.map(lambda body: decode_text(body, charset_of(kind, body)))
        )


def first(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


async def fetch(
    url: str,
    *,
    rules: NetworkRules,
    origin: str | None = None,
    method: Method = "GET",
    headers: Mapping[str, str] = MappingProxyType({}),
    body: bytes | None = None,
    same_origin: bool = False,
) -> Fetched:
    """Ask a server, under the rules.

    The address is resolved, judged and connected to in one step, for the first request and for every redirect. Redirects
    are followed for GET and HEAD without a body; headers that the caller gave go to the first origin alone. Nothing is
    read from the environment (proxies, certificates, netrc), and no cookie is kept.

    Args:
        url: http or https, without a user name.
        rules: what the deployment allows.
        origin: who chose the bytes; None is the URL without its query.
        method: the request method.
        headers: sent beside ours; not those that frame the message.
        body: sent as it is.
        same_origin: whether a redirect to another scheme, host or port is refused, because only this server's answer will do.

    Raises:
        IngressRefused: codes `url_refused`, `address_refused`, `header_refused`, `redirect_refused`, `too_many_redirects`,
            `too_large`.
        ToolFailed: the network or the server failed; what the other side said is in `detail`.
    """
    origin = place_of(url) if origin is None else origin
    target = checked_url(url, hop=0)
    check_headers(headers)
    bound_s = time_left(rules.timeout_s)
    try:
        async with asyncio.timeout(bound_s):
            return await follow(target, rules, origin, method, headers, body, same_origin=same_origin)
    except TimeoutError:
        raise ToolFailed(f"The server did not finish its answer within {seconds(bound_s)}.{doubt(method)}") from None
    except TooLarge:
        raise IngressRefused(
            "too_large",
            f"The answer takes more than {rules.max_bytes} bytes, which is the most this deployment reads. "
            "Ask for a smaller part of it.",
        ) from None
    except BadCoding:
        raise ToolFailed("The server's answer is compressed in a way that cannot be read.") from None
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        raise ToolFailed(
            f"The server's answer is not valid HTTP.{doubt(method)}", Foreign(str(error), origin)
        ) from None
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ConnectionNotAvailable) as error:
        raise ToolFailed(f"The connection to the server failed.{doubt(method)}", Foreign(str(error), origin)) from None


def doubt(method: Method) -> str:
    """What a failure leaves open, when asking twice could do something twice."""
    return "" if method in ("GET", "HEAD", "OPTIONS") else " The request may have been carried out all the same."


async def follow(
    url: httpx.URL,
    rules: NetworkRules,
    origin: str,
    method: Method,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    same_origin: bool,
) -> Fetched:
    """Ask, and go on where a redirect leads, until something else comes back."""
    follows = method in ("GET", "HEAD") and body is None
    hop = 0
    while True:
        answer = await ask(url, hop, rules, origin, method, headers, body, follows=follows)
        if isinstance(answer, Fetched):
            return answer
        hop += 1
        if hop > rules.max_redirects:
            raise IngressRefused(
                "too_many_redirects",
                f"The server redirects more than {rules.max_redirects} times. Ask for the page that it leads to.",
            )
        onward = redirected(url, answer, hop)
        if not is_same_origin(url, onward):
            if same_origin:
                raise IngressRefused(
                    "redirect_refused", f"Redirect {hop} leads to another server; it was not followed."
                )
            headers = {}  # credentials are for the one whom the caller named, and stay dropped if a redirect leads back
        url = onward


async def ask(
    url: httpx.URL,
    hop: int,
    rules: NetworkRules,
    origin: str,
    method: Method,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    follows: bool,
) -> Fetched | Location:
    """Send one request on one connection of its own; read the answer, or only where it redirects to."""
    backend = CheckedBackend(rules, hop)
    context = (rules.tls or public_tls()) if url.scheme == "https" else None
    async with (
        httpcore.AsyncConnectionPool(ssl_context=context, network_backend=backend, http2=False, retries=0) as pool,
        pool.stream(
            method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=wire_headers(url, headers, body, method),
            content=body,
        ) as response,
    ):
        backend.meter.left += rules.max_bytes
        got = tuple((text_of(name), text_of(value)) for name, value in response.headers)
        if follows and response.status in REDIRECTS and any(name.lower() == "location" for name, _ in got):
            return Location([value for name, value in got if name.lower() == "location"])
        content = b"" if method == "HEAD" else await read_body(response, got, rules)
        # httpcore leaves this mapping untyped
        extensions = cast("Mapping[str, object]", response.extensions)  # pyright: ignore[reportUnknownMemberType]
        reason = cast("bytes", extensions.get("reason_phrase", b""))
        return Fetched(
            status=response.status,
            redirects=hop,
            reason=Foreign(text_of(reason), origin),
            headers=Foreign(got, origin),
            url=Foreign(str(url), origin),
            body=Foreign(content, origin),
        )


async def read_body(response: httpcore.Response, headers: Headers, rules: NetworkRules) -> bytes:
    announced = first(headers, "content-length")
    if announced.isascii() and announced.isdigit() and int(announced[:19]) > rules.max_bytes:
        raise TooLarge
    decoder = Decoder(
        codings_of(value for name, value in headers if name.lower() == "content-encoding"), rules.max_bytes
    )
    content = bytearray()
    pieces = 0
    async for chunk in response.aiter_stream():
        pieces += 1
        if pieces > MAX_PIECES:
            raise ToolFailed(f"The server cuts its answer into more than {MAX_PIECES} pieces.")
        if pieces % 256 == 0:
            await asyncio.sleep(0)  # many pieces arrive in one read, and nothing else would run until the last of them
        for piece in decoder.feed(chunk):
            content += piece
    decoder.finish()
    return bytes(content)


@final
class Location:
    """Where an answer redirects to, as the other side wrote it."""

    def __init__(self, values: list[str]) -> None:
        self.values = values


def redirected(url: httpx.URL, location: Location, hop: int) -> httpx.URL:
    """Resolve a redirect against the page that sent it, and judge it as if it had been asked for."""
    if len(set(location.values)) != 1:
        raise IngressRefused("redirect_refused", f"Redirect {hop} names several targets; it was not followed.")
    if not is_plain(location.values[0]):
        refuse_url(hop, BLANKS, "", code="redirect_refused")
    try:
        joined = url.join(location.values[0]).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError):
        refuse_url(hop, UNREADABLE, "", code="redirect_refused")
    onward = checked_url(str(joined), hop=hop)
    if url.scheme == "https" and onward.scheme == "http":
        refuse_url(hop, "leaves https for http", "", code="redirect_refused")
    return onward


def is_same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, port_of(one)) == (other.scheme, other.host, port_of(other))


def port_of(url: httpx.URL) -> int:
    return url.port if url.port is not None else {"http": 80, "https": 443}[url.scheme]


UNREADABLE: Final = "holds a host or a port that cannot be read"


def checked_url(text: str, *, hop: int) -> httpx.URL:
    """Read a URL and refuse what is wrong with it by its spelling alone."""
    if len(text) > MAX_URL:
        refuse_url(hop, f"is longer than {MAX_URL} characters", "Write a shorter one.")
    if not is_plain(text):
        refuse_url(hop, BLANKS, "Write %20 for a blank and '/' between the parts.")
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in ("http", "https"):
        refuse_url(hop, "does not begin with http:// or https://", "Write one that does.")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        refuse_url(hop, "holds a user name or a password", "Write it without the part before '@'.")
    # Before it is read, since the reader refuses some of these spellings with less to say.
    check_number_spelling(re.sub(r":[0-9]*\Z", "", authority), hop=hop)
    port_written = authority.rpartition(":")[2]
    if port_written.isdigit() and not port_written.isascii():
        refuse_url(hop, UNREADABLE, "Write the port in the digits 0 to 9.")
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii")
        port = port_of(url)
    except (httpx.InvalidURL, ValueError, KeyError):
        refuse_url(hop, UNREADABLE, "Write one of the form https://host/path.")
    check_host(host, port, hop=hop)
    return url


def check_headers(headers: Mapping[str, str]) -> None:
    names = [name.lower() for name in headers]
    if len(headers) > 50 or len(set(names)) != len(names):
        raise IngressRefused("header_refused", "The headers are more than 50, or one is named twice. Write each once.")
    for number, (name, value) in enumerate(headers.items(), start=1):
        if name.lower() in OURS or name.lower().startswith("proxy-"):
            raise IngressRefused(
                "header_refused",
                f"Header {number} frames the message or belongs to the connection. Leave it out; it is written for you.",
            )
        if not TOKEN.match(name) or not VALUE.match(value):
            raise IngressRefused(
                "header_refused",
                f"Header {number} holds a character that a header cannot hold. Write a name of letters, digits and '-', and "
                "a value of one line in ASCII, without blanks at its ends.",
            )


def wire_headers(
    url: httpx.URL, given: Mapping[str, str], body: bytes | None, method: str
) -> list[tuple[bytes, bytes]]:
    ours = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "gzip, deflate", "Connection": "close"}
    chosen = {name.lower() for name in given}
    ours |= {n: v for n, v in (("Accept", "*/*"), ("User-Agent", AGENT)) if n.lower() not in chosen}
    if body is not None or method in ("POST", "PUT", "PATCH"):
        ours["Content-Length"] = str(len(body or b""))
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in [*ours.items(), *given.items()]]


def text_of(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


@cache
def public_tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


# -- the connection ------------------------------------------------------------------------------------------------


@final
class Meter:
    """Counts every byte of a connection, so that headers, interim answers and chunk sizes are bounded too.

    It begins with what a head may hold; the body's share is added when the head has arrived.
    """

    def __init__(self, left: int) -> None:
        self.left = left

    def count(self, data: bytes) -> bytes:
        self.left -= len(data)
        if self.left < 0:
            raise TooLarge
        return data


@final
class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were judged in the same step.

    httpcore hands over the name. The name is resolved here, every address is judged, and the connection is made to the
    judged address itself; the name stays in the Host header and in the TLS handshake. There is no second lookup that
    could answer differently.
    """

    def __init__(self, rules: NetworkRules, hop: int) -> None:
        self.rules = rules
        self.hop = hop
        self.meter = Meter(HEAD_BYTES)
        self.inner = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002  # none are set; httpcore names it
    ) -> httpcore.AsyncNetworkStream:
        addresses = await checked_addresses(host, port, rules=self.rules, hop=self.hop)
        for address in addresses[:-1]:
            try:
                return MeteredStream(await self.inner.connect_tcp(address, port, timeout, local_address), self.meter)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return MeteredStream(await self.inner.connect_tcp(addresses[-1], port, timeout, local_address), self.meter)


@final
class MeteredStream(httpcore.AsyncNetworkStream):
    """A connection that counts what it reads."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, meter: Meter) -> None:
        self.inner = inner
        self.meter = meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return self.meter.count(await self.inner.read(max_bytes, timeout))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self.inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        return MeteredStream(await self.inner.start_tls(ssl_context, server_hostname, timeout), self.meter)

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)
