"""The small form of a module that everything after the parser works on: plain tuples that `marshal` can keep.

It must never hold a libcst node, so that a warm run needs no libcst.

Expressions are tuples whose first item is a tag:
    ("k", constant)                       a literal (str, int, float, bytes, bool, None, Ellipsis as "...")
    ("n", name)                           a name
    ("a", value, attr, site)              attribute
    ("x", site, func, ((star, keyword, value), ...))   call; star is 0, 1 (`*`) or 2 (`**`)
    ("s", value, index)                   subscript; index may be ("sl", ...)
    ("sl", parts)                         slice
    ("f", parts)                          f-string; parts are expressions, text is ("k", str)
    ("nf", value)                         in an f-string, a value under a format that only a number has
    ("b", op, left, right)                binary operation
    ("o", op, left, right)                `and` / `or`
    ("cmp", values, operators)            comparison
    ("!", value) / ("u", value)           `not` / other unary
    ("t"|"l"|"S", items)                  tuple, list, set; an item may be ("*", value)
    ("d", ((key | None, value), ...))     dict; key None is `**value`
    ("?", body, test, orelse)             conditional expression
    ("F", index)                          lambda: an index into the module's defs
    ("C", kind, elt, key | None, ((target, iter, ifs), ...))   comprehension; kind is l, s, d or g
    (":=", name, value)                   walrus
    ("w"|"y"|"Y"|"*", value)              await, yield, yield from, star

Statements are tuples whose first two items are an ordinal and a tag:
    e expr | = targets value | aug target op value | ann target annotation value | r value | raise exc cause
    if test body orelse | for target iter body orelse | while test body orelse | with ((item, target), ...) body
    try body ((type, name, body), ...) orelse final | match subject ((pattern, guard, body), ...)
    def index | class index | import ((module, asname), ...) | from level module ((name, asname), ...), "*" is all
    global names | nonlocal names | del targets | assert test message | type name value

An ordinal is the rank of a statement in the file, and a site is `ordinal << 10 | n` for the n-th call of the statement's
own expressions: positions are looked up from these for what is reported, never computed for the rest (`_positions.py`).
"""

from __future__ import annotations

import contextlib
import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeGuard, final

Node = tuple[Any, ...]

SITE_BITS: Final = 10
SITE_MASK: Final = (1 << SITE_BITS) - 1

OF_NAMES: Final = frozenset({"global", "nonlocal", "import", "from"})

ASYNC: Final = 1
GENERATOR: Final = 2
LAMBDA: Final = 4


class Param(NamedTuple):
    """One parameter of a function."""

    name: str
    kind: str  # "p" positional or keyword, "k" keyword only, "*" or "**"
    annotation: Node | None
    default: Node | None


@final
class Def:
    """One function, method or lambda.

    Its statements are most of a project's memory, and most functions are never followed: they stay bytes until somebody
    asks for `body`; `Run.body` keeps those of the functions that are being followed.
    """

    __slots__ = (
        "_body", "decorators", "flags", "heard", "name", "ordinal", "owner", "params", "parent", "qualname", "returns",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        qualname: str,
        params: tuple[Param, ...],
        decorators: tuple[Node, ...],
        returns: Node | None,
        body: Node | bytes,
        flags: int,
        ordinal: int,
        owner: int,
        parent: int,
    ) -> None:
        self.name = name
        self.qualname = qualname
        self.params = params
        self.decorators = decorators
        self.returns = returns
        self._body = body
        self.flags = flags
        self.ordinal = ordinal
        self.owner = owner  # index of the class it is written in, or -1
        self.heard: bool | None = None  # whether a generator does something with what it is sent, once that was asked
        self.parent = parent  # index of the function it is written in, or -1

    @property
    def body(self) -> tuple[Node, ...]:
        """The statements."""
        body = self._body
        return body if isinstance(body, tuple) else marshal.loads(body)  # noqa: S302

    def packed(self) -> Node:
        """The definition as plain data; statements that are nested deeper than `marshal` follows stay as they are."""
        body = self._body
        if isinstance(body, tuple):
            with contextlib.suppress(ValueError):
                body = marshal.dumps(body)
        params = tuple(tuple(p) for p in self.params)
        return (self.name, self.qualname, params, self.decorators, self.returns, body,
                self.flags, self.ordinal, self.owner, self.parent)  # fmt: skip


class ClassDef(NamedTuple):
    """One class."""

    name: str
    qualname: str
    bases: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...]
    decorators: tuple[Node, ...]
    body: tuple[Node, ...]
    ordinal: int
    parent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleIR:
    """A lowered module."""

    body: tuple[Node, ...]
    defs: tuple[Def, ...]
    classes: tuple[ClassDef, ...]


def pack(module: ModuleIR) -> Node:
    """The module as plain tuples, for `marshal`."""
    return (module.body, tuple(d.packed() for d in module.defs), tuple(tuple(c) for c in module.classes))


def unpack(raw: Node) -> ModuleIR:
    """The inverse of `pack`."""
    body, defs, classes = raw
    return ModuleIR(
        body=body,
        defs=tuple(Def(d[0], d[1], tuple([Param(*p) for p in d[2]]), *d[3:]) for d in defs),
        classes=tuple(ClassDef(*c) for c in classes),
    )


def is_node(value: object) -> TypeGuard[Node]:
    """Whether a part of a node is one itself, or a row of them."""
    return isinstance(value, tuple)


def walk(node: object) -> Iterator[Node]:
    """Every tagged tuple below a node, itself first; works on expressions, statements and lists of them."""
    stack: list[Node] = [node] if is_node(node) else []
    while stack:
        item = stack.pop()
        if item and isinstance(item[0], str):
            yield item
        elif len(item) > 1 and isinstance(item[1], str):
            yield item
            if item[1] in OF_NAMES and isinstance(item[0], int):
                continue  # `is_of_names`, with what is known here already
        stack.extend([part for part in reversed(item) if part.__class__ is tuple])


def is_of_names(statement: Node) -> bool:
    """Whether a statement holds bare names, which must not be taken for tags: `global x` is no call."""
    return len(statement) > 1 and isinstance(statement[0], int) and statement[1] in OF_NAMES


def dotted(node: Node | None) -> str | None:
    """`a.b.c` for a chain of names and attributes, else None."""
    parts: list[str] = []
    while node is not None and node[0] == "a":
        parts.append(node[2])
        node = node[1]
    if node is None or node[0] != "n":
        return None
    parts.append(node[1])
    return ".".join(reversed(parts))
