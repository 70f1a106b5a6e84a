"""The small form, its positions and its limits, over Python's own standard library and over what is rare in it."""

from __future__ import annotations

import ast
import json.decoder
import marshal
import sys
import textwrap
import warnings
from pathlib import Path

import libcst
import pytest

from tools_check import _lower_ast, _lower_cst
from tools_check._ir import SITE_BITS, SITE_MASK, Def, ModuleIR, Node, pack, unpack, walk
from tools_check._parse import Unparsable, parse, read_here, read_newer
from tools_check._positions import positions

LIBRARY = Path(json.decoder.__file__).parent.parent
FILES = sorted(
    path for folder in ("json", "asyncio", "email", "collections") for path in (LIBRARY / folder).glob("*.py")
)
# Nothing of these two is common in a standard library: each line is a shape that the two parsers write down differently.
RARE = textwrap.dedent(
    """
    call(a, key=1, *rest, **more)
    call(*rest, key=2, **more)
    class Odd(Base, *bases, metaclass=Meta, **options): pass
    x[a], x[a,], x[a, b], x[(a, b)], x[1:], x[::2], x[1:2, 3], x[()]
    a + b * c - d // e % f @ g ** h << i >> j & k | l ^ m
    a and b and c or d and (e and f) or not g
    a < b <= c != d == e > f >= g is h is not i in j not in k
    -1, -1.5, -1j, +1, ~1, -x, -True, 0x7fffffffffffffff, 123456789012345678901, 1_000, 0b1, 1e999, ...
    "a" 'b' "c", b"a" b"b", "a" f"{x}" "b" 'c', f"a" "b", f"", f"", "", r"\\n", rf"\\n{x}", Rb"\\x00"
    f"{x!r:>{width}} {y = } {z!s} {{literal}} \\n\\t\\x41\\u00e9\\N{EM DASH}\\q", f"{x:%H:%M}", f"{ x }", f"{x=}", f"{x = !r}"
    '''two
    lines \\
    joined''', f'''{x} and
    {y}'''
    (yield), (yield x), (yield from y), lambda: (yield)
    lambda a, /, b=1, *c, d, e=2, **f: (a, b, c, d, e, f)
    def odd(a, b=call(1), /, c: T = 1, *d: U, e: V, f: W = call(2), **g: X) -> call(3)(4): yield
    async def odder(*, a): return [x async for x in y if await z], {a: b for c, (d, *e) in f if g if h for i in j}
    @decorate(call(1), call(2))
    @other
    class K(call(3), key=call(4)): field: int = call(5); name: str; a.b: int
    del a; del a, b; del (a, b); del x[1], y.z
    a = b = c, *d = call(); a += b; a **= b; a //= b; a @= b; a >>= b; [p, q] = r
    (walrus := call()), [w := 1, w], {*a, *b}, {**a, 'b': 1, **c}, (*a, b)
    import a.b.c as d, e, f.g
    from . import a
    from ...b.c import (d as e, f,)
    from g import *
    global h, i
    assert a, call(b)
    raise
    raise a from b
    if a: pass
    elif b: call(1)
    else: call(2)
    while a:
        if b: break
        else: continue
    else: call(3)
    for a, b in c: pass
    else: call(4)
    with call(1) as a, call(2) as (b, c), call(3): call(4)
    with (call(1) as a, call(2)): pass
    async def waits():
        async with a as b: pass
        async for c in d: await e
        return await f
    try: call(1)
    except (A, call(2)) as e: call(3)
    except B: pass
    except: pass
    else: call(4)
    finally: call(5)
    try: pass
    except* call(1) as group: pass
    match call(1):
        case 1 | -2 | "a" | None | True | a.b: pass
        case [x, *rest, _] | (x, *_, rest) if call(2): pass
        case {"k": v, call.d: w, **others}: pass
        case Point(0, y=1, z=Point()) as p: pass
        case {} | [] | (): pass
        case _: pass
    def outer():
        x = 1
        def inner():
            nonlocal x
            x = 2
        return [lambda: inner for _ in x]
    a if b else c if d else e
    print(x for x in y); print((x for x in y), 1)
    "\\ud800", "\\N{BULLET}", b"\\xff", u"text", "\\
    "
    """
)


def both(source: bytes) -> tuple[ModuleIR, ModuleIR]:
    """A file by Python's own parser, and by libcst."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _lower_ast.lower(ast.parse(source)), _lower_cst.lower(libcst.parse_module(source))


def plain(module: ModuleIR) -> Node:
    """All of a small form, for a comparison."""
    defs = [tuple(getattr(d, name) for name in ("body", *Def.__slots__) if name != "_body") for d in module.defs]
    return (module.body, tuple(defs), module.classes)


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_both_parsers_give_the_same_small_form_of_the_standard_library(path: Path) -> None:
    ours, theirs = both(path.read_bytes())
    assert plain(ours) == plain(theirs)


def statements(source: str) -> list[str]:
    """The outermost statements of a text, each as it is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    starts = [min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", []))]) for s in tree.body]
    return ["".join(lines[a - 1 : s.end_lineno]) for a, s in zip(starts, tree.body, strict=True)]


@pytest.mark.parametrize("source", statements(RARE))
def test_both_parsers_give_the_same_small_form_of_what_is_rare(source: str) -> None:
    ours, theirs = both(source.encode())
    assert plain(ours) == plain(theirs)


def test_both_parsers_give_the_same_small_form_of_a_whole_file_of_what_is_rare() -> None:
    ours, theirs = both(RARE.encode())
    assert plain(ours) == plain(theirs)
    calls = [node for node in walk((ours.body, *(d.body for d in ours.defs))) if node[0] == "x" and len(node) == 4]
    assert len(calls) > 20


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_a_text_over_several_lines_is_the_same_whatever_ends_a_line(ending: bytes) -> None:
    source = b"x = '''one\ntwo'''\ny = f'''{x}\nmore'''\n".replace(b"\n", ending)
    ours, theirs = both(source)
    assert plain(ours) == plain(theirs)
    assert ("k", "one\ntwo") in list(walk(ours.body))


@pytest.mark.parametrize("source", [b"# coding: latin-1\nx = '\xe9'\n", b"\xef\xbb\xbfx = 1\n", b"\x0cx = 1\n", b""])
def test_a_file_is_read_in_its_own_encoding_by_both(source: bytes) -> None:
    ours, theirs = both(source)
    assert plain(ours) == plain(theirs)


def test_a_file_in_a_newer_python_is_read_all_the_same() -> None:
    source = b"type Pair[T] = tuple[T, T]\n\ndef first[T](pair: Pair[T]) -> T:\n    return get(f'{pair['a']}')\n"
    assert (read_here(source) is None) == (sys.version_info < (3, 12))
    assert parse(source).defs[0].name == "first"
    assert plain(parse(source)) == plain(read_newer(source))


def test_a_name_is_read_in_its_normal_form_as_python_does() -> None:
    assert ("n", "fine") in list(walk(parse("\ufb01ne = 1\n".encode()).body))


def test_what_python_reads_is_read_where_libcst_does_not() -> None:
    source = b"class K:\n    (x): int = call()\n"
    with pytest.raises(Unparsable):
        read_newer(source)
    assert parse(source).classes[0].name == "K"


def test_what_neither_parser_reads_is_refused_with_its_line() -> None:
    with pytest.raises(Unparsable, match="line 2"):
        parse(b"x = 1\ndef (:\n")


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_calls_are_counted_alike_by_the_small_form_and_by_positions(path: Path) -> None:
    """A position is looked up by counting: the n-th call of a statement must be the same call for both."""
    module = parse(path.read_bytes())
    places = positions(path.read_text(encoding="utf-8"))
    bodies = [(d.body, d.params, d.decorators) for d in module.defs]
    for node in walk((module.body, bodies, module.classes)):
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
    module = parse(FILES[0].read_bytes())
    packed = pack(module)
    assert plain(unpack(marshal.loads(marshal.dumps(packed)))) == plain(module)


def test_a_site_is_a_statement_and_a_call() -> None:
    module = parse(b"x = 1\ny = f(g(2))(h())\n")
    sites = [node[1] for node in walk(module.body) if node[0] == "x"]
    assert sorted(s & SITE_MASK for s in sites) == [0, 1, 2, 3]
    assert {s >> SITE_BITS for s in sites} == {1}
