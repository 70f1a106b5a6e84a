"""From a site to a line and a column, for what is reported only; reads with `ast`, which costs an eighth
of libcst.

Must count statements and calls in the order of `_lower_ast.py`; a test compares the two over real modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from tools_check._collector import no_collections
from tools_check._ir import SITE_BITS, SITE_MASK


class Position(NamedTuple):
    """A place in a file: line from 1, column from 1."""

    line: int
    column: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """The places of one file's statements."""

    lines: tuple[str, ...]
    statements: tuple[ast.stmt, ...]

    def of(self, site: int) -> Position:
        """Where a call, or the statement around it, stands."""
        ordinal, n = site >> SITE_BITS, site & SITE_MASK
        if not 0 <= ordinal < len(self.statements):
            return Position(1, 1)
        statement = self.statements[ordinal]
        if n != SITE_MASK:
            calls = own_calls(statement)
            if n < len(calls):
                call = calls[n]
                # `a.b(\n).c(...)`: what a reader looks for is the name that is called, at the end of the
                # callee.
                line = call.func.end_lineno or call.lineno
                return Position(line, (call.col_offset if line == call.lineno else 0) + 1)
        return Position(statement.lineno, statement.col_offset + 1)

    def call(self, site: int) -> ast.Call | None:
        """The call itself."""
        ordinal, n = site >> SITE_BITS, site & SITE_MASK
        if not 0 <= ordinal < len(self.statements) or n == SITE_MASK:
            return None
        calls = own_calls(self.statements[ordinal])
        return calls[n] if n < len(calls) else None

    def keyword(self, site: int, name: str) -> Position:
        """Where a call gives an argument by name; the call when it does not."""
        call = self.call(site)
        for keyword in call.keywords if call is not None else ():
            if keyword.arg == name:
                return Position(keyword.lineno, keyword.col_offset + 1)
        return self.of(site)

    def last_line(self, site: int) -> int:
        """The last line of the call, or of the first line of its statement."""
        call = self.call(site)
        if call is not None:
            return call.end_lineno or call.lineno
        return self.of(site).line

    def definition(self, ordinal: int) -> Position:
        """Where a function or class is defined: its `def`, not its first decorator."""
        return self.of(ordinal << SITE_BITS | SITE_MASK)

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""


def positions(source: str) -> Positions:
    """The positions of a file; of one that this Python cannot parse, only its first line."""
    lines = tuple(source.splitlines())
    try:
        with no_collections():
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Positions(lines=lines, statements=())
    return Positions(lines=lines, statements=tuple(in_order(tree.body)))


def in_order(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, outer before inner, in the order of the text."""
    for statement in body:
        yield statement
        for block in blocks(statement):
            yield from in_order(block)


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement in the order of the text."""
    match statement:
        case ast.Try() | ast.TryStar():
            yield statement.body
            for handler in statement.handlers:
                yield handler.body
            yield statement.orelse
            yield statement.finalbody
        case ast.Match():
            for case in statement.cases:
                yield case.body
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
            yield statement.body
            yield statement.orelse
        case ast.With() | ast.AsyncWith() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.body
        case _:
            return


def own_calls(statement: ast.stmt) -> list[ast.Call]:
    """The calls in a statement's own expressions, in the order of their opening brackets."""
    found: list[ast.Call] = []
    stack: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement)
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
    ]  # fmt: skip
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            found.append(node)
        stack.extend(ast.iter_child_nodes(node))
    return sorted(found, key=lambda call: (call.func.end_lineno or 0, call.func.end_col_offset or 0))
