"""A tool names an origin in which there is no word.

An origin is shown to the reader at the head of the block: "web page", "issue 7 in owner/repo".
A blank string, or one of punctuation alone, tells nobody where the text came from, and `True` or `None` are no origin.

Write where the bytes come from, in a few words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools_check._analysis import Judged
from tools_check._facts import Facts, tool_name
from tools_check._finding import Case, Finding
from tools_check._ir import Node, walk
from tools_check._values import Func, Value
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools whose origin says nothing."""
    for judged in facts.analysis.tools:
        value = judged.tool.fields.get("untrusted_output")
        if judged.tool.style != "registry" or value is None:
            continue
        empty = [c for c in value.consts if value.exact and says_nothing(*c)] or blank_answers(judged, value)
        if not empty:
            continue
        name = tool_name(judged)
        yield facts.finding(
            "empty-origin",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r}: untrusted_output is {min(repr(c[1]) for c in empty)}, which names no origin.",
            'untrusted_output="where the bytes come from", or False if the handler returns only this program\'s own words',
            tool=name,
            identity=name,
        )


def blank_answers(judged: Judged, value: Value) -> list[tuple[str, Any]]:
    """What a function of the input gives, where that is never anything but one blank text."""
    module = judged.module
    for ref in value.refs:
        if not isinstance(ref, Func) or module is None or ref.module != module.name:
            continue
        statements = [node for node in walk(module.ir.defs[ref.at].body) if isinstance(node[0], int) and node[1] == "r"]
        answers: list[Node] = [statement[2] or ("k", None) for statement in statements]
        if answers and all(a[0] == "k" and isinstance(a[1], str) and says_nothing("str", a[1]) for a in answers):
            return [("str", answers[0][1])]
    return []


def says_nothing(kind: str, value: Any) -> bool:
    """Whether a constant is neither False nor a text with a letter or digit in it."""
    if kind == "bool":
        return value is True
    if kind == "str":
        return not any(c.isalnum() for c in value)
    return True


REPORTED = (
    Case(
        "an empty string",
        tool("def page(request: Page) -> str:\n    return 'own'\n", 'untrusted_output=""'),
        LINES + 4,
    ),
    Case("blanks", tool("def page(request: Page) -> str:\n    return 'own'\n", 'untrusted_output="  "')),
    Case("True", tool("def page(request: Page) -> str:\n    return 'own'\n", "untrusted_output=True")),
    Case(
        "a function that gives nothing",
        tool("def page(request: Page) -> str:\n    return 'own'\n", "untrusted_output=lambda request: ''"),
    ),
    Case("None", tool("def page(request: Page) -> str:\n    return 'own'\n", "untrusted_output=None")),
    Case(
        "a constant that is blank",
        tool("ORIGIN = '-'\n\ndef page(request: Page) -> str:\n    return 'own'\n", "untrusted_output=ORIGIN"),
    ),
)
SILENT = (
    Case(
        "a word",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output="web page"',
        ),
    ),
    Case("False", tool("def page(request: Page) -> str:\n    return 'own'\n")),
    Case(
        "a function of the input",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output=lambda request: request.url",
        ),
    ),
)
