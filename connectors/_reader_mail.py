"""A message as headers, text and a list of attachments. It runs in `connectors._apart`, and never in the agent's process.

Nothing is loaded that a message points to, and no name in it becomes a path. What is wrong with a message (a charset that
does not exist, 8-bit headers, bad base64) costs the part that is wrong and no more.
"""

from __future__ import annotations

import email
import email.header
import email.policy
import json
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.message import Message
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, final

from connectors._decoding import CHARSETS, charset_of, decode_text
from connectors._reader_html import plain

__all__ = ["read_headers", "read_mail"]

Part: TypeAlias = "Message[str, str]"

if TYPE_CHECKING:
    Base = Message[str, str]
else:
    Base = Message  # generic for the type checkers alone

MAX_PARTS: Final = 1000
MAX_DEPTH: Final = 50
MAX_SAME: Final = 5
MAX_HEADER: Final = 8000
SHOWN: Final = ("from", "sender", "reply-to", "to", "cc", "date", "subject")
LISTED: Final = ("date", "from", "subject")
# Encoded words with blanks between them, which are no part of the text. The library gets nothing else: it would read what
# looks like an escape in the text around them.
WORD: Final = r"=\?[^?\s]{1,40}\?[qQbB]\?[^?]*\?="
RUN: Final = re.compile(rf"{WORD}(?:\s*{WORD})*")
FOLD: Final = re.compile(r"\r?\n[ \t]*|\r")
# What the library raises at a parameter that is cut into parts which do not fit, or names a codec that is none of texts.
UNREADABLE: Final = (TypeError, ValueError, LookupError)
PLAIN_BOUNDARY: Final = re.compile(
    r"""[;\s]boundary\s{0,8}=\s{0,8}(?:"([^"\r\n]{1,200})"|([^\s";]{1,200}))""", re.IGNORECASE
)


@final
class Tolerant(Base):
    """A message in which a parameter that cannot be read is as if it were not there.

    The parser asks for boundaries while it reads, so it is given this class too: otherwise one crooked parameter, of a part
    that nobody wants to see, would hide the whole message.
    """

    # The library's own signature, flag and all.
    def get_param(
        self,
        param: str,
        failobj: Any = None,
        header: str = "content-type",
        unquote: bool = True,
    ) -> Any:
        try:
            return super().get_param(param, failobj, header, unquote)
        except UNREADABLE:
            return failobj

    def get_boundary(self, failobj: Any = None) -> Any:
        try:
            super().get_param("boundary")  # raises where they do not fit; the one below asks the method above
            return super().get_boundary(failobj)
        except UNREADABLE:
            # Where the others do not fit, this one may be plain; without it the parts are no parts.
            found = PLAIN_BOUNDARY.search(str(self.get("content-type", "")))
            return failobj if found is None else found[1] or found[2]

    def get_filename(self, failobj: Any = None) -> Any:
        try:
            return super().get_filename(failobj)
        except UNREADABLE:
            return failobj

    def get_content_charset(self, failobj: Any = None) -> Any:
        try:
            return super().get_content_charset(failobj)
        except UNREADABLE:
            return failobj


def message_of(content: bytes) -> Part:
    return email.message_from_bytes(content, Tolerant, policy=email.policy.compat32)


def read_mail(content: bytes, *, max_chars: int) -> dict[str, Any]:
    """Read a message: `headers`, `plain` and `html` text, `attachments`, `hidden` parts, and whether it is `complete`."""
    message = message_of(content)
    found = Found(max_chars)
    for part in leaves(message, found):
        found.take(part)
    return {
        "headers": list(headers_of(message, SHOWN)),
        "plain": "\n\n".join(found.plain)[:max_chars],
        "html": "\n\n".join(found.html)[:max_chars],
        "attachments": found.attachments,
        "hidden": found.hidden,
        "complete": found.complete,
    }


def read_headers(content: bytes) -> list[list[tuple[str, str]]]:
    """Read the heads of several messages; the first line says how long each is."""
    lengths, _, rest = content.partition(b"\n")
    heads: list[list[tuple[str, str]]] = []
    for length in json.loads(lengths):
        head, rest = rest[:length], rest[length:]
        message = message_of(head)
        heads.append(list(headers_of(message, LISTED)))
    return heads


class Found:
    """What was found in the parts of one message."""

    def __init__(self, max_chars: int) -> None:
        self.max_chars = max_chars
        self.plain: list[str] = []
        self.html: list[str] = []
        self.attachments: list[dict[str, str | int]] = []
        self.hidden = 0
        self.complete = True

    def take(self, part: Part) -> None:
        kind = part.get_content_type()
        name = name_of(part)
        is_text = kind in ("text/plain", "text/html") and not name and part.get_content_disposition() != "attachment"
        content = payload_of(part)
        if not is_text:
            self.attachments.append({"name": name, "type": kind, "size": len(content)})
        elif kind == "text/plain":
            self.plain.append(decode_text(content, codec_of(part, content)).replace("\r\n", "\n"))
        else:
            markup = decode_text(content, codec_of(part, content)).encode("utf-8", "replace")
            page = plain(markup, max_chars=self.max_chars)
            self.html.append(page.text)
            self.hidden += page.hidden
            self.complete = self.complete and page.complete


def leaves(message: Part, found: Found) -> Iterator[Part]:
    """Yield the parts that hold no others, in order, without recursion. A message inside of a message is one of them."""
    todo: list[tuple[Part, int]] = [(message, 0)]
    count = 0
    while todo:
        part, depth = todo.pop()
        if part.get_content_maintype() == "multipart" and part.is_multipart():
            if depth == MAX_DEPTH:
                found.complete = False
                continue
            inner = cast("list[Part]", part.get_payload())
            todo += [(child, depth + 1) for child in reversed(inner)]
            continue
        count += 1
        if count > MAX_PARTS:
            found.complete = False
            return
        yield part


def payload_of(part: Part) -> bytes:
    if part.is_multipart():  # message/rfc822: it is counted and listed, and not read as part of this one
        return b"".join(inner.as_bytes() for inner in cast("list[Part]", part.get_payload()))
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def name_of(part: Part) -> str:
    return decoded(part.get_filename() or "")[:MAX_HEADER]


def codec_of(part: Part, content: bytes) -> str:
    """The charset that is declared, if it is one of ours; a name that is not is never looked up."""
    declared = part.get_content_charset() or ""
    if declared in CHARSETS:
        return CHARSETS[declared]
    return charset_of("", content) if part.get_content_type() == "text/html" else "utf-8"


# -- headers -------------------------------------------------------------------------------------------------------


def headers_of(message: Part, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the headers that are shown, each as often as it is there: a second From is a trick worth seeing."""
    seen = dict.fromkeys(names, 0)
    for raw_name, value in message.raw_items():
        name = raw_name.lower()
        if name in seen and seen[name] < MAX_SAME:
            seen[name] += 1
            yield name.title(), decoded(str(value))


def decoded(value: str) -> str:
    """A header as one text: unfolded, its encoded words decoded, bytes that are not UTF-8 as lone surrogates."""
    # The parser keeps 8-bit bytes as lone surrogates; these say again which bytes they were.
    raw = FOLD.sub(" ", value[:MAX_HEADER]).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return RUN.sub(words_of, raw)


def words_of(run: re.Match[str]) -> str:
    """What a run of encoded words says; a run that cannot be decoded stays as it is."""
    try:
        words = email.header.decode_header(run[0])
    except (HeaderParseError, ValueError):
        return run[0]
    return "".join(
        word if isinstance(word, str) else decode_text(word, CHARSETS.get((charset or "").lower(), "utf-8"))
        for word, charset in words
    )
