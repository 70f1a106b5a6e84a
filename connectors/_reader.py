"""What runs in the process of `connectors._apart`: it limits itself, reads one document, prints JSON, and ends.

It must open nothing, and it imports nothing of `registry`, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, cast

__all__ = ["main"]

MEMORY: Final = 1_500_000_000
READERS: Final = {
    "html": ("connectors._reader_html", "read_html"),
    "mail": ("connectors._reader_mail", "read_mail"),
    "headers": ("connectors._reader_mail", "read_headers"),
    "pdf": ("connectors._reader_pdf", "read_pdf"),
}


def main(argv: Sequence[str]) -> None:
    """Read the document on the standard input; exit 0 with JSON on the standard output, or 1."""
    name, options = argv
    module, function = READERS[name]
    read = cast("Callable[..., Any]", getattr(import_module(module), function))
    limit()
    try:
        found = read(sys.stdin.buffer.read(), **json.loads(options))
    except (Exception, RecursionError) as error:  # noqa: BLE001  # whatever a document does to a reader, it is unreadable
        # The name of the class alone, for somebody who looks into it; the text may quote the document.
        sys.stderr.write(type(error).__name__)
        os._exit(1)
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
    # Not through the end of the interpreter: freeing what a hostile document built can take as long as building it.
    os._exit(0)


def limit() -> None:
    """Take away what a reader does not need. Where a system refuses a limit, the deadline holds all the same."""
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
