"""What the two lowerings share: the counters of statements and calls, and the one form of a literal.

Two parsers read Python here: its own (`_lower_ast.py`), and libcst (`_lower_cst.py`) for what this Python cannot read yet.
They must give the same small form for the same file, to the last number; a test compares them over real code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from tools_check._ir import LAMBDA, SITE_BITS, SITE_MASK, ClassDef, Def, ModuleIR, Node, Param

LOST: Final[Node] = ("lost",)
LARGEST: Final = 10**18  # a literal of a million digits is legal; only short ones are worth a value


class Lowerer:
    """The state of one pass: the counters, and the tables of functions and classes."""

    def __init__(self) -> None:
        self.ordinal: int = -1
        self.calls = 0
        self.defs: list[Def | None] = []
        self.classes: list[ClassDef | None] = []
        self.names: list[str] = []
        self.owner = -1
        self.parent = -1
        self.yields: bool = False

    def module(self, body: tuple[Node, ...]) -> ModuleIR:
        """What was lowered, once the outermost block is."""
        return ModuleIR(body=body, defs=tuple(d for d in self.defs if d), classes=tuple(c for c in self.classes if c))

    def site(self) -> int:
        """The number of the next call of this statement; after the 1,022nd they are not told apart."""
        n = self.calls
        if n < SITE_MASK:
            self.calls = n + 1
        return self.ordinal << SITE_BITS | n

    def inside(self, name: str, index: int, lowered: Callable[[], tuple[Node, ...]]) -> tuple[tuple[Node, ...], bool]:
        """The body of a function, and whether it yields."""
        saved = (self.owner, self.parent, self.yields)
        self.names += [name, "<locals>"]
        self.owner, self.parent, self.yields = -1, index, False
        body = lowered()
        yields = self.yields
        del self.names[-2:]
        self.owner, self.parent, self.yields = saved
        return body, yields

    def inside_class(self, name: str, index: int, lowered: Callable[[], tuple[Node, ...]]) -> tuple[Node, ...]:
        """The body of a class."""
        saved = self.owner
        self.names.append(name)
        self.owner = index
        body = lowered()
        self.names.pop()
        self.owner = saved
        return body

    def anonymous(self, params: Callable[[], tuple[Param, ...]], answer: Callable[[], Node]) -> Node:
        """A lambda: a function of one `return`."""
        index = len(self.defs)
        self.defs.append(None)
        given = params()
        ordinal = self.ordinal
        body, _ = self.inside("<lambda>", index, lambda: ((ordinal, "r", answer()),))
        name = self.qualname("<lambda>")
        self.defs[index] = Def("<lambda>", name, given, (), None, body, LAMBDA, ordinal, -1, self.parent)
        return ("F", index)

    def qualname(self, name: str) -> str:
        return ".".join([*self.names, name])


def constant(value: Any) -> Node:
    """A literal: text and bytes as they are, short whole numbers, any other number as one that is not whole."""
    if value is ...:
        return ("k", "...")
    if isinstance(value, int) and not isinstance(value, bool):
        return ("k", value if value < LARGEST else 0)
    return ("k", 0.5) if isinstance(value, float | complex) else ("k", value)


def negative(value: Node) -> Node | None:
    """`-1` is a number, not an operation on one."""
    if value[0] == "k" and isinstance(value[1], int | float):
        return ("k", -value[1])
    return None


# How Python writes a number: a text that is given such a format is refused. `c` shows a letter, and a date has other words.
NUMBER_SPEC: Final = re.compile(r"(?:.?[<>=^])?[+\- ]?z?#?0?\d*[,_]?(?:\.\d+)?[bdeEfFgGnoxX%]", re.DOTALL)


def placed(value: Node, spec: Iterable[Node], *, converted: bool) -> Node:
    """A value in an f-string, under the format that stands behind it."""
    text = "".join(str(part[1]) if part[0] == "k" else "1" for part in spec)
    return ("nf", value) if not converted and NUMBER_SPEC.fullmatch(text) else value


def formatted(parts: Iterable[Node]) -> Node:
    """An f-string: texts that stand side by side are one, an empty one is none."""
    out: list[Node] = []
    for part in parts:
        if part[0] == "k" and part[1] == "":
            continue
        if part[0] == "k" and out and out[-1][0] == "k" and isinstance(part[1], str) and isinstance(out[-1][1], str):
            out[-1] = ("k", out[-1][1] + part[1])
        else:
            out.append(part)
    return ("f", tuple(out))
