"""Content codings and character sets of an answer, with a bound that holds at every stage.

A decoder must never hold more than the bound plus one piece, whatever the coding claims: it asks zlib for at most one
piece at a time, so a bomb is seen while it unfolds and not afterwards.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, final

__all__ = ["BadCoding", "Decoder", "TooLarge", "charset_of", "codings_of", "decode_text", "sniff_image"]

PIECE: Final = 64 * 1024
MAX_CODINGS: Final = 2
MAX_MEMBERS: Final = 100


class TooLarge(Exception):  # private signal; the fetch words the refusal
    """More came out of a stage than the bound allows."""


class BadCoding(Exception):  # private signal; the fetch words the failure
    """The bytes are not what the coding says, or the coding is unknown."""


class Inflater(Protocol):
    """What this module uses of a zlib decompressor, whose class has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


@final
class Stage:
    """One coding, undone piece by piece."""

    def __init__(self, coding: str, max_bytes: int) -> None:
        self.coding = coding
        self.left = max_bytes
        self.inflater: Inflater | None = None
        self.members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self.inflater is None:
                if self.members and not (self.coding == "gzip" and data.startswith(b"\x1f\x8b")):
                    return  # what follows the last member is padding, which readers ignore
                self.inflater = self.begin(data)
            try:
                piece = self.inflater.decompress(data, PIECE)
            except zlib.error:
                raise BadCoding from None
            self.left -= len(piece)
            if self.left < 0:
                raise TooLarge
            if piece:
                yield piece
            data = self.inflater.unconsumed_tail
            if self.inflater.eof:
                data = self.inflater.unused_data
                self.inflater = None

    def begin(self, data: bytes) -> Inflater:
        self.members += 1
        if self.members > MAX_MEMBERS:
            raise BadCoding
        if self.coding == "gzip":
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        # 'deflate' means a zlib stream, and some servers send a bare one; the first byte tells them apart.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)

    def finish(self) -> None:
        if self.inflater is not None:
            raise BadCoding


@final
class Decoder:
    """Undoes the codings of an answer, the last one first.

    Raises:
        BadCoding: a coding is unknown, or there are more than two of them.
    """

    def __init__(self, codings: Sequence[str], max_bytes: int) -> None:
        if len(codings) > MAX_CODINGS or any(coding not in ("gzip", "deflate") for coding in codings):
            raise BadCoding
        self.stages = [Stage(coding, max_bytes) for coding in reversed(codings)]
        self.left = max_bytes

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what one chunk decodes to.

        Raises:
            TooLarge: a stage has given more than the bound.
            BadCoding: the bytes are damaged.
        """
        pieces: Iterable[bytes] = (data,)
        for stage in self.stages:
            pieces = through(stage, pieces)
        for piece in pieces:
            self.left -= len(piece)
            if self.left < 0:
                raise TooLarge
            yield piece

    def finish(self) -> None:
        """Raises `BadCoding` when the stream ended in the middle."""
        for stage in self.stages:
            stage.finish()


def through(stage: Stage, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from stage.feed(piece)


def codings_of(values: Iterable[str]) -> list[str]:
    """The codings that Content-Encoding headers name, in order, by one name each."""
    names = (name.strip().lower() for value in values for name in value.split(","))
    return [{"x-gzip": "gzip"}.get(name, name) for name in names if name not in ("", "identity")]


# What a label on the web means, for the labels that are met. An unknown label is not looked up: Python would import a
# module by that name, and some of its codecs (idna, unicode_escape, utf-7) are not character sets of pages.
CHARSETS: Final = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "ascii", "us-ascii", "windows-1252"), "cp1252"),
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "iso-8859-9": "cp1254",
    **{f"windows-125{n}": f"cp125{n}" for n in (0, 1, 3, 4, 5, 6, 7, 8)},
    "windows-874": "cp874", "koi8-r": "koi8-r", "koi8-u": "koi8-u", "ibm866": "cp866", "macintosh": "mac-roman",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "euc-jp": "euc-jp", "iso-2022-jp": "iso2022-jp",
    "gbk": "gb18030", "gb2312": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "euc-kr": "cp949",
    "utf-16": "utf-16-le", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip
MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# Every repetition has a bound: two that could share one run of blanks would try each way to share it, and a header of blanks
# alone would keep this process busy for minutes.
CHARSET: Final = re.compile(r"charset\s{0,8}=[\s\"']{0,8}([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


def charset_of(content_type: str, body: bytes) -> str:
    """Name the Python codec for a body: by its byte order mark, the header, the first kilobyte of the page, or UTF-8."""
    for mark, codec in MARKS:
        if body.startswith(mark):
            return codec
    said = CHARSET.search(content_type)
    if said is not None:
        return CHARSETS.get(said.group(1).lower(), "utf-8")
    said = CHARSET.search(body[:1024].decode("ascii", "replace"))
    codec = CHARSETS.get(said.group(1).lower(), "utf-8") if said else "utf-8"
    # A page that says in ASCII that it is UTF-16 is not; browsers read it as UTF-8.
    return "utf-8" if codec.startswith("utf-16") else codec


def decode_text(body: bytes, codec: str) -> str:
    """Decode; every byte that UTF-8 cannot say stays as a lone surrogate, others become U+FFFD."""
    for mark, marked in MARKS:
        if codec == marked and body.startswith(mark):
            body = body[len(mark) :]
    return body.decode(codec, "surrogateescape" if codec == "utf-8" else "replace")


IMAGES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)


def sniff_image(body: bytes) -> str | None:
    """Name an image by its own first bytes, in a word of ours; what the other side calls it is only a claim."""
    return next((mime for pattern, mime in IMAGES if pattern.match(body)), None)
