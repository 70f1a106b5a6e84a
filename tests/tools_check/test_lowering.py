"""The small form, its positions and its limits, over Python's own standard library."""

from __future__ import annotations

import ast
import json.decoder
import marshal
from pathlib import Path

import libcst
import pytest

from tools_check._ir import SITE_BITS, SITE_MASK, pack, unpack, walk
from tools_check._lower import lower
from tools_check._positions import positions

LIBRARY = Path(json.decoder.__file__).parent.parent
FILES = sorted(
    path for folder in ("json", "asyncio", "email", "collections") for path in (LIBRARY / folder).glob("*.py")
)


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_calls_are_counted_alike_by_both_parsers(path: Path) -> None:
    """A position is looked up by counting: the n-th call of a statement must be the same call for both."""
    source = path.read_text(encoding="utf-8")
    module = lower(libcst.parse_module(source))
    places = positions(source)
    for node in walk((module.body, module.defs, module.classes)):
        if node[0] != "x" or len(node) != 4 or node[1] & SITE_MASK == SITE_MASK:
            continue
        call = places.call(node[1])
        assert call is not None
        assert last_name(call.func) == written_name(node[2])
        assert places.of(node[1]).line == call.func.end_lineno


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def written_name(node: tuple[object, ...]) -> object:
    return node[2] if node[0] == "a" else node[1] if node[0] == "n" else ""


def test_the_small_form_survives_the_cache() -> None:
    source = FILES[0].read_text(encoding="utf-8")
    module = lower(libcst.parse_module(source))
    assert unpack(marshal.loads(marshal.dumps(pack(module)))) == module


def test_a_site_is_a_statement_and_a_call() -> None:
    module = lower(libcst.parse_module("x = 1\ny = f(g(2))(h())\n"))
    sites = [node[1] for node in walk(module.body) if node[0] == "x"]
    assert sorted(s & SITE_MASK for s in sites) == [0, 1, 2, 3]
    assert {s >> SITE_BITS for s in sites} == {1}
