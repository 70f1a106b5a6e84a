"""How a page of the web and a PDF are shown as text, for the tools that may meet them: our sentence and their text.

Both are read apart (`connectors._apart`), and both need the extra `documents`; without it they are shown as they are, or not
at all, and the sentence says what to install.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, final

from connectors._apart import read_apart, read_apart_sync
from registry import Foreign
from registry.errors import IngressRefused

__all__ = ["PdfText", "is_html", "is_pdf", "pdf_text", "pdf_text_sync"]

MAX_CHARS: Final = 2_000_000
PDF_S: Final = 20.0
# Left for the start of the reader and its answer.
PAGES_S: Final = 14
MARKUP: Final = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PdfText:
    """A PDF as text."""

    text: Foreign[str]
    """The text of its pages, each behind a line with its number."""
    words: str
    """What was read and what was not, in words of ours."""


def is_pdf(content: Foreign[bytes]) -> bool:
    """By its own first bytes: what the other side calls it is only a claim."""
    return bool(content.measure(lambda body: b"%PDF-" in body[:1024]))


def is_html(text: Foreign[str], kind: Foreign[str]) -> bool:
    """By what its sender calls it, or by how it begins. Either is a claim, and shows text as text of the same stranger."""
    named = kind.measure(lambda said: said.split(";")[0].strip().lower() in ("text/html", "application/xhtml+xml"))
    return bool(named or text.measure(lambda whole: bool(MARKUP.match(whole[:2000]))))


async def pdf_text(content: Foreign[bytes]) -> PdfText:
    """Read a PDF. When this call is cancelled, the reader is killed.

    Raises:
        IngressRefused: codes `extra_missing`, `encrypted`.
        ToolFailed: it could not be read within its bounds.
    """
    check_installed()
    return shown(await read_apart("pdf", content, timeout_s=PDF_S, options=OPTIONS))


def pdf_text_sync(content: Foreign[bytes]) -> PdfText:
    """The same, for a thread: it blocks until the PDF is read."""
    check_installed()
    return shown(read_apart_sync("pdf", content, timeout_s=PDF_S, options=OPTIONS))


OPTIONS: Final = {"max_chars": MAX_CHARS, "seconds": PAGES_S}


def check_installed() -> None:
    if find_spec("pypdf") is None:
        raise IngressRefused(
            "extra_missing",
            "Reading a PDF needs pypdf, which is not installed. Write: pip install 'hedgerow[documents]'",
        )


def shown(found: Foreign[Any]) -> PdfText:
    if found.measure(lambda pdf: bool(pdf["encrypted"])):
        raise IngressRefused("encrypted", "The PDF is encrypted with a password, so its text cannot be read.")
    words = f"A PDF of {found.measure(lambda pdf: int(pdf['pages']))} pages"
    unreadable = found.measure(lambda pdf: int(pdf["unreadable"]))
    if unreadable:
        words += f", {unreadable} of them damaged and left out"
    if not found.measure(lambda pdf: bool(pdf["complete"])):
        words += ", longer than what is read, so the end is missing"
    return PdfText(text=found.map(lambda pdf: str(pdf["text"])), words=words)
