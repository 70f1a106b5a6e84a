"""Where an exception was raised, without the frames of ours that led there: for whoever runs the program, never for a model.

What an exception says may be a stranger's. So nothing here enters the text of an error or of an outcome.
"""

from __future__ import annotations

import importlib
import os
import traceback
from pathlib import Path
from types import TracebackType

from registry._foreign import class_name

__all__ = ["in_words", "is_of_ours", "place_of", "told_frames", "trace_below", "visible"]

# The way to somebody's code leads through these: the command line, the dispatcher, Python's import.
PACKAGE = Path(__file__).parent
LEADING = (
    f"{PACKAGE}{os.sep}",
    f"{PACKAGE.parent / 'connectors' / '_cli'}",
    str(importlib.__file__),
    "<frozen importlib",
)
OURS = (f"{PACKAGE}{os.sep}", f"{PACKAGE.parent / 'connectors'}{os.sep}")
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}


def trace_below(error: BaseException) -> TracebackType | None:
    """The frames from the first one that is not of the way there; None when there is no other."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(LEADING):
        trace = trace.tb_next
    return trace


def place_of(error: BaseException) -> str:
    """File and line where it came out of somebody's code, as `my_tools.py:31`; empty where that is not known."""
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        return f"{near(error.filename)}:{error.lineno}"
    trace = trace_below(error)
    return "" if trace is None else f"{near(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def near(file: str) -> str:
    """A path as it is read in a terminal: from the current folder where it lies below that."""
    try:
        here = f"{Path.cwd()}{os.sep}"
    except OSError:  # the folder is gone; the dispatcher, which asks too, must not fail for that
        return file
    return file.removeprefix(here)


def is_of_ours(error: BaseException) -> bool:
    """Whether a module of ours raised it, so that what it says are our words: an extra that is missing, for one."""
    last = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        last = frame.f_code.co_filename
    return last is not None and last.startswith(OURS)


def told_frames(error: BaseException) -> str:
    """What Python prints of it, from somebody's file on."""
    lines = traceback.format_exception(type(error), error, trace_below(error))
    return visible("".join(lines).rstrip())


def visible(text: str) -> str:
    """The text without characters that a terminal obeys, but for tabs and ends of lines."""
    return text.translate(CONTROLS)


def in_words(error: BaseException) -> str:
    """The class and the place of an exception, which say nothing that somebody else chose."""
    place = place_of(error)
    return f"{class_name(error)} at {place}" if place else class_name(error)
