"""Documents of a stranger as text: HTML and PDF, each read in a process of its own.

What is handed in is `Foreign` and so is what comes out; nothing in a document is followed, loaded or run. It needs the extra
`documents`; without it the import says so.
"""

from __future__ import annotations

from connectors._documents import PdfText, is_html, is_pdf, pdf_text, pdf_text_sync
from connectors._html import HtmlText, html_to_text, html_to_text_sync

__all__ = [
    "HtmlText",
    "PdfText",
    "html_to_text",
    "html_to_text_sync",
    "is_html",
    "is_pdf",
    "pdf_text",
    "pdf_text_sync",
]
