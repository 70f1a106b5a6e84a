"""Which servers of the Model Context Protocol a deployment speaks to, and how far each may go. Nothing starts here.

A peer is named by the deployment and never by itself: what a server calls itself reaches nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, cast, final

from connectors._network import NetworkRules
from registry.errors import DeclarationError

__all__ = ["HttpPeer", "Limits", "Peer", "Secrets", "StdioPeer", "no_secrets"]

Secrets: TypeAlias = Callable[[str], str]

NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,23}\Z")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
# The transport writes these itself.
FRAMING: Final = re.compile(
    r"(?:accept|accept-encoding|connection|content-.*|cookie|host|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding"
    r"|upgrade)\Z",
    re.IGNORECASE,
)
# They decide what a program loads before its first line, so a peer that needs one is started by a script of the owner's.
LOADING: Final = re.compile(
    r"(?:LD_.*|DYLD_.*|PYTHON(?:PATH|HOME|STARTUP)|NODE_(?:OPTIONS|PATH)|BASH_ENV|ENV|PATH|IFS|PERL5(?:OPT|LIB)|RUBY(?:OPT|LIB))\Z",
    re.IGNORECASE,
)
PUBLIC: Final = NetworkRules()


def no_secrets(name: str) -> str:
    """Give no secret: for peers that need none."""
    raise KeyError(name)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a peer is taken.

    Raises:
        DeclarationError: a number is not positive.
    """

    start_s: float = 30.0
    """The longest that it may take to start and to greet."""
    timeout_s: float = 60.0
    """The longest that it may take to answer; the call's own deadline holds as well."""
    idle_s: float = 300.0
    """How long a connection is kept that nobody uses."""
    recheck_s: float = 60.0
    """How old what it said of its tools may be when one is called; 0 asks before every call."""
    max_message_bytes: int = 4_194_304
    """The longest message that is read."""
    max_media_bytes: int = 2_000_000
    """The most bytes of images and sounds in one answer."""
    max_tools: int = 500
    """The most tools that are looked at."""
    max_chatter: int = 10_000
    """How many messages that nobody asked for may come before the next answer."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value: object = getattr(self, name)
            least = 0 if name == "recheck_s" else 0.001
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
                raise DeclarationError(f"Limits: {name} is not a number that is at least {least}. Write one.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StdioPeer:
    """A server that is a program of this machine, started from an argument list and never by a shell.

    It gets an environment of PATH, a UTF-8 locale and what stands here, and a process group that ends with the connection.

    Raises:
        DeclarationError: a field is not what it must be.
    """

    name: str
    """What the deployment calls it: a letter, then letters, digits and '-'."""
    argv: Sequence[str]
    """The program, found on the absolute folders of PATH, and its arguments. Never a secret: every user can read them."""
    cwd: Path | None = None
    """Where it runs; None is where this process runs."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that are no secret."""
    secret_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that are filled with a secret, by its name."""
    limits: Limits = Limits()
    """How much of it is taken."""

    def __post_init__(self) -> None:
        check_name(self.name)
        argv = cast("object", self.argv)
        if isinstance(argv, str) or not isinstance(argv, Sequence) or not argv:
            raise DeclarationError(f"Peer {self.name!r}: argv is no list. Write the program first, then its arguments.")
        for number, argument in enumerate(cast("Sequence[object]", argv)):
            check_text(self.name, f"argument {number}", argument)
        if not str(self.argv[0]).strip() or str(self.argv[0]).startswith("-"):
            raise DeclarationError(f"Peer {self.name!r}: argv names no program. Write it first.")
        for name, value in (*self.env.items(), *self.secret_env.items()):
            check_variable(self.name, name)
            check_text(self.name, f"variable {name}", value)
        both = sorted(self.env.keys() & self.secret_env.keys())
        if both:
            raise DeclarationError(f"Peer {self.name!r}: variable {both[0]!r} is set twice. Write it once.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPeer:
    """A server that is reached over streamable HTTP, under the same rules as every fetch.

    Raises:
        DeclarationError: a field is not what it must be.
    """

    name: str
    """What the deployment calls it: a letter, then letters, digits and '-'."""
    url: str
    """Its one address. A redirect is followed within its origin alone."""
    secret_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers that are filled with a secret, by its name: {"Authorization": "files-token"}."""
    rules: NetworkRules = PUBLIC
    """How far requests may reach; the default is the public internet."""
    limits: Limits = Limits()
    """How much of it is taken."""

    def __post_init__(self) -> None:
        check_name(self.name)
        check_text(self.name, "url", self.url)
        if not self.url.startswith(("https://", "http://")):
            raise DeclarationError(
                f"Peer {self.name!r}: url begins with neither https:// nor http://. Write one that does."
            )
        if not isinstance(cast("object", self.rules), NetworkRules):
            raise DeclarationError(f"Peer {self.name!r}: rules is not a NetworkRules. Write NetworkRules(...).")
        if self.secret_headers and self.url.startswith("http://") and not self.rules.allow_hosts:
            raise DeclarationError(
                f"Peer {self.name!r}: a secret would go over http:// in the clear. Write https://, or name the host in "
                "rules.allow_hosts."
            )
        for number, (header, secret) in enumerate(self.secret_headers.items(), start=1):
            check_text(self.name, f"header {number}", secret)
            if not HEADER.match(header) or FRAMING.match(header):
                raise DeclarationError(
                    f"Peer {self.name!r}: header {number} is no name of a header, or one that the transport writes itself."
                )


Peer: TypeAlias = StdioPeer | HttpPeer
"""Somebody else's MCP server, by how it is reached."""


def check_name(name: object) -> None:
    if not (isinstance(name, str) and NAME.match(name)):
        raise DeclarationError("A peer's name is not usable. Write a letter, then up to 23 letters, digits and '-'.")
    if name.lower() == "mcp":
        raise DeclarationError("A peer's name is 'mcp', which our own tools begin with. Give it another one.")


def check_text(peer: str, what: str, text: object) -> None:
    try:
        if isinstance(text, str) and b"\0" not in text.encode("utf-8"):
            return
    except UnicodeEncodeError:
        pass
    raise DeclarationError(f"Peer {peer!r}: {what} is not text without a NUL character. Write plain text.")


def check_variable(peer: str, name: object) -> None:
    if not (isinstance(name, str) and VARIABLE.match(name)):
        raise DeclarationError(f"Peer {peer!r}: a variable's name is not usable. Write letters, digits and '_'.")
    if LOADING.match(name):
        raise DeclarationError(
            f"Peer {peer!r}: variable {name!r} decides what a program loads, and is not handed over. Start the peer by a "
            "script of your own that sets it."
        )
