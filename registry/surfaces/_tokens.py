"""Who may come in: bearer tokens, each for some instances and some grants. A digest is kept of one, and never the token."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast, final

from registry._deployment import Caller, Deployment
from registry._foreign import shown
from registry.errors import DeclarationError

__all__ = ["Token", "Tokens", "digest_of", "new_token"]

DIGEST = re.compile(r"[0-9a-f]{64}\Z")
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
# As in RFC 6750. Anything else is no token, and is not worth a digest.
SHAPE = re.compile(rb"[A-Za-z0-9._~+/-]{1,512}=*\Z")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One bearer token, without the token.

    Raises:
        DeclarationError: a field is not what it must be; the message does not show the digest.
    """

    id: str
    """Who holds it, for the audit and the log; the id of the caller."""
    sha256: str
    """The SHA-256 of the token, in hexadecimal. Enough for a random token of 32 bytes, which is what `new_token` makes; it
    would not be for a password, which can be guessed."""
    instances: frozenset[str]
    """Which instances it opens."""
    grants: frozenset[str] | None
    """Which grants it has there at most; None is all that the deployment permits."""

    def __post_init__(self) -> None:
        if not NAME.match(self.id):
            raise DeclarationError(
                f"Token {shown(self.id)}: write an id of 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'."
            )
        if not DIGEST.match(self.sha256):
            raise DeclarationError(
                f"Token {self.id!r}: sha256 is not 64 hexadecimal digits in lower case. Write what `hedgerow token` prints."
            )
        for field in ("instances", "grants"):
            names = cast("object", getattr(self, field))
            if names is not None and not isinstance(names, frozenset):
                raise DeclarationError(f"Token {self.id!r}: {field} is {shown(names)}. Write a frozenset of names.")

    def caller(self, deployment: Deployment) -> Caller:
        """Return the caller that its holder is, in a deployment."""
        grants = frozenset(tool.grant for tool in deployment.tools.values()) if self.grants is None else self.grants
        return Caller(self.id, grants)


@final
class Tokens:
    """The tokens of a process.

    Raises:
        DeclarationError: there is none, or two have the same id or the same digest.
    """

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens = tuple((bytes.fromhex(token.sha256), token) for token in tokens)
        for found in ({token.id for _, token in self._tokens}, {digest for digest, _ in self._tokens}):
            if len(found) != len(self._tokens):
                raise DeclarationError("Tokens: two share an id or a digest. Give each holder a token of its own.")
        if not self._tokens:
            raise DeclarationError("Tokens: there is none, so nobody could come in. Make one with `hedgerow token`.")

    def holder(self, presented: bytes) -> Token | None:
        """Return the token that this is, in a time that depends neither on the token nor on which one it is."""
        if not SHAPE.match(presented):
            return None
        digest = hashlib.sha256(presented).digest()
        found = None
        for known, token in self._tokens:
            # No early end, or the time would tell how far down the list a token stands.
            if hmac.compare_digest(known, digest):
                found = token
        return found

    def of_header(self, values: Sequence[bytes]) -> Token | None:
        """Return the token of the `Authorization` headers of a request: there must be one, of the scheme Bearer."""
        if len(values) != 1:
            return None
        scheme, _, presented = values[0].partition(b" ")
        return self.holder(presented.strip(b" ")) if scheme.lower() == b"bearer" else None

    def __iter__(self) -> Iterator[Token]:
        return (token for _, token in self._tokens)

    def __repr__(self) -> str:
        return f"Tokens({', '.join(token.id for _, token in self._tokens)})"


def new_token() -> str:
    """Make a token of 32 random bytes. Its prefix lets a scanner for leaked secrets find it."""
    return f"hedgerow_{secrets.token_urlsafe(32)}"


def digest_of(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()
