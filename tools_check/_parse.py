"""Bytes of a file to its small form, and which files need none; a hostile file is an error, never a crash."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

from tools_check._collector import no_collections
from tools_check._ir import ModuleIR

NO_BRACKETS: Final = bytes(set(range(256)) - set(b"()[]{}"))
# Runs that take a native parser's whole stack, or minutes: (how often a sign must occur at all, the signs, the run).
STEEP: Final = (
    (150, (b"not ",), re.compile(rb"(?:\bnot\s+){150}")),
    (150, (b"lambda",), re.compile(rb"(?:\blambda\b[^:\n]{0,20}:\s*){150}")),
    (150, (b"await ",), re.compile(rb"(?:\bawait\s+){150}")),
    (150, (b"**",), re.compile(rb"(?:\*\*\s*\w\s*){150}")),
    (150, (b" else ",), re.compile(rb"(?:\belse\s+\w+\s+if\s+\w+\s+){150}")),
    (150, (b"--", b"- -", b"~~"), re.compile(rb"(?:[-+~][ \t]*){150}")),
)
# A native parser takes minutes for a few thousand operands in a row, whatever the operator: many signs, a closer look.
MAX_PARTS: Final = 1_500
MAX_STRINGS: Final = 4_000  # in a row; generated tables of text hold thousands, and they cost little
OPERATORS: Final = (b"+", b" - ", b"*", b"/", b"%", b"|", b"&", b"^", b"@", b"<<", b">>", b" or ", b" and ")
CLOSE_OPERATORS: Final = re.compile(rb"(?<=[\w)\]}'\"])\s*+-")
STRING: Final = rb"[a-zA-Z]{0,2}+(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')"
STRING_SIGNS: Final = (b"' ", b'" ', b'"\n', b"'\n", b"'\r", b'"\r', b"'\\", b'"\\', b"''", b'""')
# Possessive, with a floor of twenty: what is no such run costs twenty times its length, never its square.
STRINGS: Final = re.compile(rb"(?:" + STRING + rb"(?:[\s\\]|#[^\n]*+\n)*+){20,}+")
ONE_STRING: Final = re.compile(STRING)
LINK_SIGNS: Final = (b".", b"(", b"[")
LINKS: Final = re.compile(
    rb"(?:\s*+(?:\.\s*+\w++|\((?:[^()]|\([^()]{0,90}+\)){0,90}+\)|\[(?:[^\[\]]|\[[^\[\]]{0,90}+\]){0,90}+\])){100,}+"
)
CHAINED: Final = (ast.BinOp, ast.BoolOp, ast.Attribute, ast.Call, ast.Subscript)
MAX_BYTES: Final = 8_000_000


class Unparsable(Exception):
    """A file that is no Python, with the place where reading stopped."""


def parse(data: bytes) -> ModuleIR:
    """The small form of a file.

    Raises:
        Unparsable: when it is no Python, is nested too deeply, or is larger than 8 MB.
    """
    if len(data) > MAX_BYTES:
        raise Unparsable(f"larger than {MAX_BYTES // 1_000_000} MB")
    if b"\0" in data:
        raise Unparsable("holds a null byte")
    if is_endless(data):
        raise Unparsable(f"holds an expression of more than {MAX_PARTS:,} parts")
    if is_steep(data):
        refuse_what_python_refuses(data)
    return read_here(data) or read_newer(data)


def read_here(data: bytes) -> ModuleIR | None:
    """The small form by Python's own parser; None when it cannot say."""
    from tools_check._lower_ast import lower

    try:
        with no_collections(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lower(ast.parse(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # newer syntax than this Python's, or no Python: the other parser decides


def read_newer(data: bytes) -> ModuleIR:
    """The small form by libcst, which reads what newer Pythons do."""
    import libcst

    from tools_check._lower_cst import lower

    try:
        return lower(libcst.parse_module(data))
    except libcst.ParserSyntaxError as error:
        raise Unparsable(no_python(data, error.raw_line)) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unparsable(
            f"line {line}: byte 0x{data[error.start]:02x} is not {error.encoding.upper()}; save the file as UTF-8, or name "
            "its encoding in the first line: # -*- coding: latin-1 -*-"
        ) from error
    except (RecursionError, MemoryError) as error:
        raise Unparsable("nested too deeply") from error
    except Exception as error:
        raise Unparsable(f"{type(error).__name__}: {str(error)[:200]}") from error


def no_python(data: bytes, stopped: int) -> str:
    """Where and why Python's own parser stops, which says it in its users' words; `stopped` is the other one's line.

    A file with newer syntax than this Python's stops it too early, so both lines are told where they lie apart.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except SyntaxError as error:
        apart = abs(stopped - (error.lineno or 1)) > 1
        return f"line {error.lineno}: {error.msg}" + (f" (read as newer Python: line {stopped})" if apart else "")
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)[:200]
    return f"line {stopped}: invalid syntax"


def runs_on(data: bytes, patterns: tuple[tuple[int, tuple[bytes, ...], re.Pattern[bytes]], ...]) -> bool:
    """Whether one of the runs is there; the search is made only where its signs are frequent enough."""
    return any(sum(map(data.count, signs)) >= least and run.search(data) for least, signs, run in patterns)


def is_endless(data: bytes) -> bool:
    """Whether an expression has so many operands, or strings in a row, that the parser would not end in time."""
    if sum(map(data.count, STRING_SIGNS)) > MAX_STRINGS and any(
        len(ONE_STRING.findall(run[0])) > MAX_STRINGS for run in STRINGS.finditer(data)
    ):
        return True
    if not may_be_endless(data):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return longest_chain(ast.parse(data)) > MAX_PARTS
    except (RecursionError, MemoryError):
        return True
    except (SyntaxError, ValueError):
        return False  # newer syntax than this Python's: the other parser decides


def may_be_endless(data: bytes) -> bool:
    """Whether there are enough signs for a chain that is too long; costs little, and may say yes too often."""
    signs = sum(map(data.count, OPERATORS))
    if signs + data.count(b"-") >= MAX_PARTS and signs + len(CLOSE_OPERATORS.findall(data)) >= MAX_PARTS:
        return True
    return sum(map(data.count, LINK_SIGNS)) >= MAX_PARTS and LINKS.search(data) is not None


def longest_chain(tree: ast.AST) -> int:
    """The most operands that one expression joins without a bracket around them."""
    longest = 0
    todo = [(tree, 1)]
    while todo:
        node, parts = todo.pop()
        if isinstance(node, ast.BoolOp):
            parts += len(node.values)
        longest = max(longest, parts)
        todo += [(child, parts + 1 if isinstance(child, CHAINED) else 1) for child in ast.iter_child_nodes(node)]
    return longest


def is_steep(data: bytes) -> bool:
    """Whether nesting may be so deep that a native parser runs out of stack; may say yes too often."""
    brackets = data.translate(None, NO_BRACKETS)
    for _ in range(60):  # each round takes the innermost pairs away
        before = len(brackets)
        brackets = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) == before:
            break
    depth = 0
    for sign in brackets:
        depth = depth + 1 if sign in b"([{" else max(0, depth - 1)
        if depth > 90:
            return True
    return runs_on(data, STEEP)


def refuse_what_python_refuses(data: bytes) -> None:
    """Python's own parser guards its stack (200 brackets), so what it takes is safe for a native one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unparsable(f"nested too deeply, or no Python: {str(error)[:200]}") from error
