"""A JSON API that is asked with a secret: where it is, how it is asked, and how long it has asked to be left alone.

It must never send a secret to another server, make a value of a call into more than one step of a path, or let a word of an
answer into a sentence of ours.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final, NoReturn, TypeAlias, cast, final
from urllib.parse import quote, unquote, urlencode

from connectors._bounds import seconds
from connectors._fetch import VALUE, checked_url, port_of
from connectors._paging import as_text
from connectors._secrets import Secrets
from connectors.ingress import Fetched, Method, NetworkRules, fetch
from registry import Foreign, ToolFailed
from registry.errors import DeclarationError, ForeignError, IngressRefused

__all__ = ["Answer", "Credential", "Query", "Service", "seconds_asked", "word"]

Query: TypeAlias = Mapping[str, str | int | None]

MAX_DETAIL: Final = 4000
# A service that asks for more, or whose clock is wrong, must not silence a tool for days.
MAX_WAIT_S: Final = 3600
# A number from here on is a time since 1970; below it, seconds from now.
EPOCH_S: Final = 1_000_000_000
NUMBERS: Final = re.compile(r"[0-9]{1,12}(?:\s*,\s*[0-9]{1,12}){0,9}\Z")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A secret and the header that carries it."""

    give: Callable[[str], str]
    """Gives a secret by its name, when a call needs it."""
    name: str
    """The secret's name."""
    header: str
    """The header."""
    scheme: str = ""
    """What stands before the secret, such as `Bearer`."""


@final
class Service:
    """One API, and until when it has asked to be left alone.

    Args:
        connector: the module that is being set up, for errors of the setting.
        name: what our sentences call it.
        server: its address, without a query.
        rules: how far requests may reach.
        credential: what it is asked with; None is nothing.
        headers: sent with each request.
        clock: seconds, never running backwards.

    Raises:
        DeclarationError: the address or the rules cannot be used.
    """

    def __init__(
        self,
        *,
        connector: str,
        name: str,
        server: str,
        rules: NetworkRules,
        credential: Credential | None = None,
        headers: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.rules = checked_rules(connector, rules)
        self.server = checked_server(connector, server, rules, has_secret=credential is not None)
        self.credential = credential
        self.headers = {"Accept": "application/json", **(headers or {})}
        self.clock = clock
        self.not_before: dict[str, float] = {}

    @property
    def host(self) -> str:
        """The host, and the port if it is not the usual one: what an origin says of the service."""
        return self.server.split("/")[2]

    async def ask(
        self,
        *steps: str,
        origin: str,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        json_body: object = None,
        lane: str = "",
    ) -> Answer:
        """Ask for one resource, and hand back whatever the service answers; a body makes it a POST.

        Args:
            steps: the path, each whole.
            origin: who chose the bytes of the answer.
            query: parameters; those that are None are left out.
            headers: beside those of the service.
            json_body: what is sent.
            lane: which of the service's limits the request counts towards.

        Raises:
            IngressRefused: codes of `fetch`, `argument_refused` for a step that is more than one, and `rate_limited`.
            ToolFailed: the network or the server failed, or the secret is not to be had.
        """
        self.refuse_before(lane)
        secrets = Secrets(no_secret if self.credential is None else self.credential.give)
        body = None if json_body is None else json.dumps(json_body).encode()
        method: Method = "GET" if body is None else "POST"
        url = f"{self.server}{path_of(steps)}{query_of(query or {})}"
        sent = {**self.headers, **(headers or {}), **self.signature(secrets)}
        sent |= {} if body is None else {"Content-Type": "application/json"}
        try:
            fetched = await fetch(
                url, rules=self.rules, origin=origin, method=method, headers=sent, body=body, same_origin=True
            )
        except ToolFailed as failed:
            failure = ToolFailed(failed.words, None if failed.detail is None else failed.detail.map(secrets.hide))
        else:
            self.note(fetched, lane)
            return Answer(service=self.name, fetched=fetched, secrets=secrets)
        raise failure

    def signature(self, secrets: Secrets) -> dict[str, str]:
        if self.credential is None:
            return {}
        secret = secrets.get(self.credential.name)
        if not VALUE.match(secret):
            # A secret that was read from a file often ends in a line end; the way in would blame a header by its number.
            raise ToolFailed(
                "The secret of this service ends in a blank or a line end, or holds a character that no header can hold."
            )
        scheme = self.credential.scheme
        return {self.credential.header: f"{scheme} {secret}" if scheme else secret}

    def refuse_before(self, lane: str) -> None:
        """Whoever goes on asking while a limit holds is shut out by some services, so nothing is sent until it ends."""
        left = self.not_before.get(lane, 0.0) - self.clock()
        if left > 0:
            raise limited(self.name, left)

    def note(self, fetched: Fetched, lane: str) -> None:
        wait = seconds_asked(fetched)
        if wait is not None:
            self.not_before[lane] = self.clock() + wait
        if fetched.status == 429 or (fetched.status in (403, 503, 529) and wait is not None):
            raise limited(self.name, wait)


def limited(name: str, wait_s: float | None) -> IngressRefused:
    when = "later" if not wait_s else f"in {seconds(wait_s)}"
    return IngressRefused("rate_limited", f"{name} takes no more requests for now. Ask again {when}.")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What a service answered. No secret of the call is in anything that it hands on."""

    service: str
    """What our sentences call it."""
    fetched: Fetched
    """The answer as it came."""
    secrets: Secrets
    """What the call has asked for."""

    @property
    def status(self) -> int:
        """The status code."""
        return self.fetched.status

    def text(self) -> Foreign[str]:
        """The body as UTF-8, which is what JSON is; a character set that the body names itself is not looked at."""
        return as_text(self.fetched.body).map(self.secrets.hide)

    def json(self) -> Foreign[Any]:
        """The body as JSON.

        Raises:
            ToolFailed: it is none.
        """
        try:
            return as_text(self.fetched.body).map(parsed).map(self.without_secrets)
        except ForeignError:
            failure = self.failure(f"The answer of {self.service} is not JSON that can be read.")
        raise failure

    def without_secrets(self, value: object) -> object:
        """Hide the secrets after parsing, since JSON can spell every letter in another way."""
        if not self.secrets.asked:
            return value
        if isinstance(value, str):
            return self.secrets.hide(value)
        if isinstance(value, list):
            return [self.without_secrets(item) for item in cast("list[object]", value)]
        if isinstance(value, dict):
            items = cast("dict[str, object]", value).items()
            return {self.secrets.hide(key): self.without_secrets(item) for key, item in items}
        return value

    def failure(self, sentence: str) -> ToolFailed:
        """A failure in our words, with the body as its detail."""
        return ToolFailed(sentence, self.text().map(lambda whole: whole[:MAX_DETAIL]))

    def unexpected(self) -> ToolFailed:
        """The failure for a status that means nothing else."""
        if self.status in (401, 403):
            return self.failure(f"{self.service} does not let this deployment in (status {self.status}).")
        return self.failure(f"{self.service} answered with status {self.status}.")


def word(value: object, key: str) -> str:
    """A text of a JSON object, or the empty one. For use inside of `Foreign.map`."""
    found = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def parsed(text: str) -> object:
    return json.loads(text, parse_constant=no_constant)


def no_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


def no_secret(name: str) -> NoReturn:
    raise KeyError(name)


# -- addresses -----------------------------------------------------------------------------------------------------


def path_of(steps: Iterable[str]) -> str:
    """A path in which each step is one, whatever it holds.

    Some servers decode before they resolve, so what decodes to a step upward or to two steps is refused as well.
    """
    made = ""
    for step in steps:
        decoded = unquote(unquote(step))
        if decoded in ("", ".", "..") or re.search(r"[/\\\0]", decoded):
            raise IngressRefused(
                "argument_refused",
                "An argument is not one step of a path. Write no empty step, no '.' or '..', and no backslash or escape.",
            )
        made += f"/{quote(step, safe='', errors='surrogatepass')}"
    return made


def query_of(query: Query) -> str:
    pairs = [(name, value) for name, value in query.items() if value is not None]
    return f"?{urlencode(pairs, quote_via=quote, safe='', errors='surrogatepass')}" if pairs else ""


def checked_rules(connector: str, rules: NetworkRules) -> NetworkRules:
    if not isinstance(cast("object", rules), NetworkRules):
        raise DeclarationError(f"{connector}: rules is not a NetworkRules. Write NetworkRules(...), or leave it out.")
    return rules


def checked_server(connector: str, server: str, rules: NetworkRules, *, has_secret: bool) -> str:
    written = server.rstrip("/")
    try:
        url = checked_url(written, hop=0)
    except IngressRefused as refused:
        raise DeclarationError(f"{connector}: the server's address cannot be used. {refused.sentence}") from None
    if "?" in written or "#" in written:
        raise DeclarationError(f"{connector}: the server's address holds a query. Write it without one.")
    if has_secret and url.scheme == "http" and not rules.allows(url.host, port_of(url)):
        raise DeclarationError(
            f"{connector}: the server would be sent a secret over http, which everybody on the way can read. Write "
            "https://, or name the host in NetworkRules(allow_hosts=...)."
        )
    return written


# -- limits --------------------------------------------------------------------------------------------------------


def seconds_asked(fetched: Fetched) -> int | None:
    """How long a server asks to be left alone, in seconds up to an hour, or None.

    `Retry-After` of a refusal says it in seconds or as a date. `X-RateLimit-Reset` says it where `X-RateLimit-Remaining` is
    0, in seconds or as a time since 1970; either may be a list, one number for each limit.
    """
    wait = fetched.headers.measure(lambda headers: wait_in(headers, is_refusal=fetched.status >= 400))
    return None if wait < 0 else min(wait, MAX_WAIT_S)


def wait_in(headers: tuple[tuple[str, str], ...], *, is_refusal: bool) -> int:
    given = {name.lower(): value.strip() for name, value in reversed(headers)}
    now = instant(given.get("date", "")) or int(time.time())
    waits = [-1]
    after = given.get("retry-after", "") if is_refusal else ""
    if re.fullmatch(r"[0-9]{1,12}", after):
        waits.append(int(after))
    elif instant(after):
        waits.append(max(0, instant(after) - now))
    remaining, reset = given.get("x-ratelimit-remaining", ""), given.get("x-ratelimit-reset", "")
    if NUMBERS.match(remaining) and NUMBERS.match(reset):
        for left, until in zip(remaining.split(","), reset.split(","), strict=False):
            if int(left) == 0:
                waits.append(max(0, int(until) - now) if int(until) >= EPOCH_S else int(until))
    return max(waits)


def instant(date: str) -> int:
    """A date of HTTP as seconds since 1970, by the server's own clock; 0 for anything else."""
    try:
        found = parsedate_to_datetime(date[:100])
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
