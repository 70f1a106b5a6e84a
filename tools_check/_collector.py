"""When Python looks for circles among its objects: seldom while values are followed, and never while a tree is read."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def rare_collections() -> Generator[None]:
    """Trees and values are many, live long and hold few circles: looking for those after every few hundred new ones costs a
    tenth of a run.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def no_collections() -> Generator[None]:
    """A syntax tree holds no circles and is gone as soon as it has been read: its nodes are no reason to look."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
