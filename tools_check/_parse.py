"""Bytes of a file to its small form, and which files need none; a hostile file is an error, never a crash."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

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
ENDLESS: Final = (
    (
        1500,
        (b"+", b"|", b" or ", b" and "),
        re.compile(rb"(?:[\w.\"'\])]{1,200}\s*(?:\+|\||\bor\b|\band\b)\s*){1500}"),
    ),
    (
        1500,
        (b"' '", b'" "', b'"\n', b"'\n"),
        re.compile(rb"(?:(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}')\s{1,20}){1500}"),
    ),
)
MAX_BYTES: Final = 8_000_000


class Unparsable(Exception):
    """A file that is no Python, with the place where reading stopped."""


def parse(data: bytes) -> ModuleIR:
    """The small form of a file.

    Raises:
        Unparsable: when it is no Python, is nested too deeply, or is larger than 8 MB.
    """
    import libcst

    from tools_check._lower import lower

    if len(data) > MAX_BYTES:
        raise Unparsable(f"larger than {MAX_BYTES // 1_000_000} MB")
    if b"\0" in data:
        raise Unparsable("holds a null byte")
    if runs_on(data, ENDLESS):
        raise Unparsable("holds an expression of more than 1,500 parts")
    if is_steep(data):
        refuse_what_python_refuses(data)
    try:
        return lower(libcst.parse_module(data))
    except libcst.ParserSyntaxError as error:
        raise Unparsable(f"line {error.raw_line}: {error.message}") from error
    except (RecursionError, MemoryError) as error:
        raise Unparsable("nested too deeply") from error
    except Exception as error:
        raise Unparsable(f"{type(error).__name__}: {str(error)[:200]}") from error


def runs_on(data: bytes, patterns: tuple[tuple[int, tuple[bytes, ...], re.Pattern[bytes]], ...]) -> bool:
    """Whether one of the runs is there; the search is made only where its signs are frequent enough."""
    return any(sum(map(data.count, signs)) >= least and run.search(data) for least, signs, run in patterns)


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
