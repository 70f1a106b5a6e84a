"""Reads what a stranger made (HTML, a mail, a PDF) in a process of its own, which is bounded in time, memory and output.

Such readers have inputs that take hours, and some are C. Here the worst that a document does is to have its reader killed:
nothing of it is parsed in the process that holds the secrets. What the reader returns is foreign; what it says on stderr is
withheld, since it may quote the document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from connectors._process import Ran, run_process, run_process_sync
from registry import Foreign
from registry.errors import IngressRefused, ToolFailed

__all__ = ["Reader", "read_apart", "read_apart_sync"]

Reader: TypeAlias = Literal["html", "mail", "headers", "pdf"]

# What comes back is text that was cut already; this bound is for a reader that a document has taken over.
MAX_OUTPUT: Final = 64_000_000
# -I: nothing of the environment and of the working folder is imported. -S: our own path is handed over instead, which is
# right where the packages lie in a user's folder, and starts sooner.
START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from connectors._reader import main; main(sys.argv[2:])"
)
NAMES: Final[Mapping[Reader, str]] = {
    "html": "The HTML",
    "mail": "The message",
    "headers": "The messages",
    "pdf": "The PDF",
}


async def read_apart(
    reader: Reader, content: Foreign[bytes], *, timeout_s: float = 10.0, options: Mapping[str, int] | None = None
) -> Foreign[Any]:
    """Read a document apart. When this call is cancelled, the reader is killed.

    Args:
        reader: which of our readers.
        content: the document.
        timeout_s: the longest it may take; the call's own deadline holds as well.
        options: numbers for the reader.

    Returns:
        What the reader found, as plain JSON, under the document's origins.

    Raises:
        ToolFailed: the document could not be read within its bounds; nothing of it is shown.
    """
    with failures(reader):
        # The program is ours; the document goes to it by its standard input and comes back foreign.
        ran = await run_process(
            command(reader, options), stdin=content.for_program(), timeout_s=timeout_s, max_bytes=MAX_OUTPUT
        )
    return found(reader, content, ran)


def read_apart_sync(
    reader: Reader, content: Foreign[bytes], *, timeout_s: float = 10.0, options: Mapping[str, int] | None = None
) -> Foreign[Any]:
    """The same, for a thread: it blocks until the reader has ended."""
    with failures(reader):
        ran = run_process_sync(
            command(reader, options), stdin=content.for_program(), timeout_s=timeout_s, max_bytes=MAX_OUTPUT
        )
    return found(reader, content, ran)


def command(reader: Reader, options: Mapping[str, int] | None) -> list[str]:
    folders = [folder for folder in sys.path if Path(folder).is_absolute()]
    return [sys.executable, "-I", "-S", "-B", "-c", START, json.dumps(folders), reader, json.dumps(dict(options or {}))]


def found(reader: Reader, content: Foreign[bytes], ran: Ran) -> Foreign[Any]:
    if ran.exit_code != 0:
        raise unread(reader)
    return content.map(lambda _: ran.stdout.map(lambda printed: json.loads(printed.decode("utf-8", "surrogatepass"))))


@contextmanager
def failures(reader: Reader) -> Generator[None]:
    try:
        yield
    except IngressRefused:
        raise unread(reader) from None
    except ToolFailed:
        raise ToolFailed(f"{NAMES[reader]} could not be read in the time that there is for it.") from None


def unread(reader: Reader) -> ToolFailed:
    return ToolFailed(f"{NAMES[reader]} could not be read: it is damaged, or takes more than there is for it.")
