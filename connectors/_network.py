"""What the deployment decides about the network, and which URLs and addresses may be asked for under it.

An address is judged where the connection is made (`checked_addresses`), never earlier: a name that was looked up before
may answer differently a moment later. No message here holds the URL, the host or an address.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from typing import Final, NoReturn, TypeAlias, cast, final
from urllib.parse import urlsplit

from connectors._addresses import Address, address_of, is_odd_number, kind_refused
from registry.errors import DeclarationError, IngressRefused, ToolFailed

__all__ = [
    "BLANKS",
    "NetworkRules",
    "Resolver",
    "check_host",
    "check_number_spelling",
    "checked_addresses",
    "is_plain",
    "place_of",
    "refuse_url",
    "resolve_by_system",
]

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host and a port. It judges nothing: what it returns is judged before it is connected to."""

LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST_NAME: Final = re.compile(rf"{LABEL}(?:\.{LABEL})*\.?\Z")
MAX_ADDRESSES: Final = 64
MAX_TRIES: Final = 4


# Threads of its own: a name server that never answers keeps one for a long time, and in the loop's own pool everything else
# that runs in a thread (programs, documents, the watch over a browser's memory) would wait behind a page's dead names.
LOOKUPS: Final = ThreadPoolExecutor(max_workers=32, thread_name_prefix="hedgerow-lookup")


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver. It runs in a thread that cannot be stopped; the wait for it is bounded by the fetch."""
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(LOOKUPS, look)
    return [cast("str", sockaddr[0]) for *_, sockaddr in found]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRules:
    """How far a fetch may reach. The defaults reach the public internet and nothing nearer.

    Raises:
        DeclarationError: a field is not what it must be.
    """

    allow_hosts: frozenset[str] = frozenset()
    """Hosts whose address is not judged, each `host` (any port) or `host:port`, matched exactly; `[::1]:8080` for IPv6."""
    max_redirects: int = 5
    """How many redirects of a GET or HEAD are followed."""
    max_bytes: int = 5_000_000
    """The largest answer, both as it travels and after decompression."""
    timeout_s: float = 20.0
    """For the whole fetch, from the lookup of the name to the last byte, redirects included."""
    resolve: Resolver = resolve_by_system
    """Names to addresses. What it returns is judged, and exactly that is connected to."""
    tls: ssl.SSLContext | None = None
    """Which certificates are trusted; None is the public list that httpx brings, whatever the environment says."""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.allow_hosts), frozenset):
            raise DeclarationError(
                f"NetworkRules: allow_hosts is a {type(self.allow_hosts).__name__}. Write frozenset({{'host:port'}})."
            )
        for entry in self.allow_hosts:
            check_entry(entry)
        check_number("max_redirects", self.max_redirects, least=0)
        check_number("max_bytes", self.max_bytes, least=1)
        check_number("timeout_s", self.timeout_s, least=0.001)

    def allows(self, host: str, port: int) -> bool:
        """Whether the deployment named this host, so that its address is not judged."""
        written = f"[{host}]" if ":" in host else host
        return bool(self.allow_hosts & {host, f"{written}:{port}"})


def check_number(field: str, value: float, *, least: float) -> None:
    if isinstance(value, bool) or not isinstance(cast("object", value), int | float) or not value >= least:
        raise DeclarationError(f"NetworkRules: {field} is {written(value)}. Write a number that is at least {least}.")


def written(value: object) -> str:
    """A setting as it was written, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_entry(entry: object) -> None:
    """Refuse an entry that could never match, such as a URL or a pattern: it would seem to allow and would not."""
    if isinstance(entry, str) and (is_host(entry) or is_host_and_port(entry)):
        return
    raise DeclarationError(
        f"NetworkRules: allow_hosts holds {written(entry)}. Write 'host' or 'host:port' in lower case, without a scheme, a "
        "path or a star; an IPv6 address as '::1' or '[::1]:8080', in its shortest form."
    )


def is_host(entry: str) -> bool:
    address = address_of(entry)
    return bool(HOST_NAME.match(entry)) if address is None else str(address) == entry


def is_host_and_port(entry: str) -> bool:
    host, _, port = entry.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    return (
        is_host(bare)
        and (":" in bare) == (bare != host)
        and port.isascii()
        and port.isdigit()
        and 1 <= int(port) <= 65535
    )


def refuse_url(hop: int, what: str, advice: str, *, code: str = "url_refused") -> NoReturn:
    """Refuse a URL in words of ours; `what` goes on from 'a URL that ...'. Hop 0 is the URL that was asked for."""
    if hop:
        raise IngressRefused(code, f"Redirect {hop} leads to a URL that {what}; it was not followed.")
    raise IngressRefused(code, f"The URL {what}. {advice}")


BLANKS: Final = "holds a blank, a control character or a backslash"


def is_plain(url: str) -> bool:
    """A URL without the characters about which its readers disagree."""
    return not any(char <= " " or "\x7f" <= char <= "\x9f" or char == "\\" or char.isspace() for char in url)


def place_of(url: str) -> str:
    """Name who chose the bytes at a URL: scheme, host and path, without a query, which may hold a secret."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "a URL that cannot be read"
    return f"{parts.scheme}://{host}{parts.path}" if host else "a URL without a host"


def check_host(host: str, port: int, *, hop: int) -> None:
    """Refuse a host by its spelling. An address that is spelled well is judged later, where it is connected to."""
    if not host:
        refuse_url(hop, "names no host", "Write one of the form https://host/path.")
    if "%" in host:
        refuse_url(hop, "names a host with a zone or an escape", "Write the host's plain name, without a '%'.")
    check_number_spelling(host, hop=hop)
    if address_of(host) is None and (len(host) > 253 or not HOST_NAME.match(host)):
        refuse_url(
            hop,
            "names a host that is not a host name",
            "Write letters, digits, '-' and '.', or an IPv6 address in [ ].",
        )
    if not 1 <= port <= 65535:
        refuse_url(hop, "names a port that does not exist", "Write a port from 1 to 65535, or leave it out.")


def check_number_spelling(host: str, *, hop: int) -> None:
    """Refuse what one reader takes for a name and another for an address."""
    if is_odd_number(host):
        refuse_url(
            hop,
            "spells its host as a number other than a.b.c.d",
            "Write four decimal numbers up to 255 without leading zeros, or the host's name.",
        )


async def checked_addresses(host: str, port: int, *, rules: NetworkRules, hop: int) -> tuple[str, ...]:
    """Resolve a host and judge every address that comes back: one that is refused refuses them all.

    Raises:
        IngressRefused: an address is not a public one, and the deployment did not name the host.
        ToolFailed: the name has no address.
    """
    literal = address_of(host)
    found = [host] if literal is not None else await resolved(host, port, rules.resolve)
    if rules.allows(host, port):
        return tuple(found[:MAX_TRIES])
    for text in found:
        address = address_of(text)
        kind = "unreadable" if address is None else kind_refused(address) or own_kind(address)
        if kind is not None:
            refuse_url(
                hop,
                f"names a host with an address that is {kind}",
                "Ask for a host on the public internet; only the deployment can allow another.",
                code="address_refused",
            )
    return tuple(found[:MAX_TRIES])


def own_kind(address: Address) -> str | None:
    """Say so where an address is one of this machine's own: what listens there may count on being reached from here alone.

    The system is asked from where it would send something there; nothing is sent.
    """
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), 9))
        if address_of(cast("str", probe.getsockname()[0])) == address:
            return "this machine's own"
    return None


async def resolved(host: str, port: int, resolve: Resolver) -> list[str]:
    try:
        found = list(dict.fromkeys(await resolve(host, port)))
    except (OSError, UnicodeError):
        found = []
    if not found or len(found) > MAX_ADDRESSES:
        raise ToolFailed("The host name has no address that could be used.")
    return found
