"""A broad part of Python's own standard library through parser and lowering: nothing is refused, nothing differs."""

from __future__ import annotations

import json.decoder
import marshal
import multiprocessing
from pathlib import Path

from tools_check._ir import Def, Node, pack
from tools_check._parse import parse

LIBRARY = Path(json.decoder.__file__).parent.parent
SMALL = 8_000  # bytes: what is larger takes the test's time and shows the same
COUNT = 150


def chosen() -> list[Path]:
    """The first small modules by name, of the library's top and of its packages."""
    found = [path for pattern in ("*.py", "*/*.py") for path in LIBRARY.glob(pattern)]
    ours = [path for path in found if path.parent.name not in ("site-packages", "test", "__pycache__")]
    return sorted(path for path in ours if 0 < path.stat().st_size < SMALL)[:COUNT]


def small_forms() -> bytes:
    """All small forms as one."""
    modules = [parse(path.read_bytes()) for path in chosen()]
    # `marshal` itself writes what is shared in a way that hangs on reference counts; its second version does not.
    return marshal.dumps([(pack(module)[::2], [plain(d) for d in module.defs]) for module in modules], 2)


def plain(definition: Def) -> Node:
    """A definition with its statements as they are followed."""
    packed = definition.packed()
    return (*packed[:5], definition.body, *packed[6:])


def test_the_standard_library_is_lowered_to_the_same_bytes_by_another_process() -> None:
    """Another process hashes strings by another seed, so that an order that hangs on a set would differ."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        other = pool.apply_async(small_forms)
        here = small_forms()
        assert len(chosen()) == COUNT
        assert other.get(60) == here
