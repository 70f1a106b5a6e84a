"""The text of a PDF, by pypdf. It runs in `connectors._apart`, and never in the agent's process.

Nothing in a PDF is run, opened or followed; pictures, forms and attached files are not read.
"""

from __future__ import annotations

import logging
import time
from io import BytesIO
from typing import Any, Final

from pypdf import PdfReader
from pypdf.errors import PyPdfError

__all__ = ["read_pdf"]

MAX_PAGES: Final = 2000


def read_pdf(content: bytes, *, max_chars: int, seconds: int) -> dict[str, Any]:
    """Read the `text` of a PDF, how many `pages` it has, how many of them were `unreadable`, and whether it is `encrypted`.

    After so many seconds the rest is left out, and `complete` says so; one page that takes longer is ended from outside.
    """
    logging.disable()  # the library words what is wrong with a file, and quotes it
    until = time.monotonic() + seconds
    reader = PdfReader(BytesIO(content), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"text": "", "pages": 0, "unreadable": 0, "encrypted": True, "complete": False}
    pages = len(reader.pages)
    texts: list[str] = []
    size = unreadable = 0
    complete = pages <= MAX_PAGES
    for number in range(min(pages, MAX_PAGES)):
        if number and (size > max_chars or time.monotonic() > until):
            complete = False
            break
        try:
            text = reader.pages[number].extract_text().strip("\n")
        except (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            unreadable += 1  # a page that is damaged costs that page
            continue
        texts.append(f"[page {number + 1}]\n{text}")
        size += len(text)
    whole = "\n\n".join(texts)
    return {
        "text": whole[:max_chars],
        "pages": pages,
        "unreadable": unreadable,
        "encrypted": False,
        "complete": complete and len(whole) <= max_chars,
    }
