"""Bytes of a file to its small form, and which files need none; a hostile file is an error, never a crash."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

from tools_check._ir import ModuleIR

BRACKETS: Final = re.compile(rb"[()\[\]{}]")
STEEP: Final = re.compile(
    rb"(?:\bnot\s+|\blambda\b[^:\n]{0,20}:\s*|[-+~]\s*|\bawait\s+|\*\*\s*\w\s*|\belse\s+\w+\s+if\s+\w+\s+){150}"
)
# Chains that a native parser takes minutes or its whole stack for: sums and strings of more than 1,500 parts.
ENDLESS: Final = re.compile(
    rb"(?:[\w.\"'\])]{1,200}[ \t\\\n]*(?:\+|\||\bor\b|\band\b)[ \t\\\n]*){1500}|(?:(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}')\s{1,20}){1500}"  # noqa: E501
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
    if ENDLESS.search(data):
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


def is_steep(data: bytes) -> bool:
    """Whether nesting may be so deep that a native parser runs out of stack; may say yes too often."""
    if data.count(b"(") + data.count(b"[") + data.count(b"{") > 150:
        depth = 0
        for match in BRACKETS.finditer(data):
            if match[0] in b"([{":
                depth += 1
                if depth > 150:
                    return True
            elif depth:
                depth -= 1
    return bool(STEEP.search(data))


def refuse_what_python_refuses(data: bytes) -> None:
    """Python's own parser guards its stack (200 brackets), so what it takes is safe for a native one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unparsable(f"nested too deeply, or no Python: {str(error)[:200]}") from error
