"""Which network addresses a fetch may reach: globally routed unicast, and nothing that stands for something nearer.

The tables are ours and not those of `ipaddress.is_private`, whose answers changed between patch releases of Python. They
follow the special-purpose registries for IPv4 and IPv6. Nothing here resolves a name or opens a connection.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

__all__ = ["Address", "address_of", "is_odd_number", "kind_refused"]

Address: TypeAlias = IPv4Address | IPv6Address

IPV4: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "metadata"),  # answers as a cloud's host although the address is a public one
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "tunnel"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# First match wins. The last line refuses everything that is not 2000::/3, so a block that is assigned later is refused
# until somebody decides about it.
IPV6: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("::/96", "tunnel"),  # IPv4-compatible, given up long ago
        ("64:ff9b:1::/48", "tunnel"),
        ("100::/64", "reserved"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "tunnel"),  # Teredo
        ("2001:2::/48", "benchmarking"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "tunnel"),  # 6to4
        ("3fff::/20", "documentation"),
    )
)
GLOBAL: Final = IPv6Network("2000::/3")
# An IPv4 address inside one of these is reached as itself, so it is judged as itself.
EMBEDDING: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("::ffff:0:0:0/96"), IPv6Network("64:ff9b::/96"))
# Interface identifiers that carry an IPv4 address under any prefix (ISATAP).
ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})

NUMBER: Final = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)\Z")


def kind_refused(address: Address) -> str | None:
    """Name the kind of a refused address in a word of ours; None for one that may be reached."""
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in IPV4 if address in network), None)
    if address.scope_id is not None:
        return "link-local"
    if any(address in network for network in EMBEDDING):
        return kind_refused(IPv4Address(int(address) & 0xFFFFFFFF))
    for network, kind in IPV6:
        if address in network:
            return kind
    if address not in GLOBAL:
        return "reserved"
    return "tunnel" if (int(address) >> 32) & 0xFFFFFFFF in ISATAP else None


def address_of(host: str) -> Address | None:
    """Read a host as an address in its one ordinary spelling; None for a name."""
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(host)
        except ValueError:
            continue
    return None


def is_odd_number(host: str) -> bool:
    """A host that some resolver would read as a number although it is not written a.b.c.d: 2130706433, 0x7f.1, 0177.0.0.1.

    The test is that of the URL standard: the last label is a number.
    """
    last = host.removesuffix(".").rpartition(".")[2]
    return bool(NUMBER.match(last)) and address_of(host) is None
