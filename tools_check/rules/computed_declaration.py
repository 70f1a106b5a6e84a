"""A tool's declaration is computed, so that no reader of the line knows the answer.

`untrusted_output` says who chose the bytes; it is read by people in review, by this checker and by the dispatcher.
A value that comes out of a call, a setting or a condition can be `False` on the day that matters.

Write `False`, a string, a constant, or a function of the input that gives the origin.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, tool_name
from tools_check._finding import Case, Finding
from tools_check._values import Cls, Func, Method, Obj, Partial, Value
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools whose declaration is neither a constant nor a function of the input."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or (judged.tool.entry and not judged.handler_name):
            continue
        value = judged.tool.fields.get("untrusted_output")
        if value is None:
            if not judged.tool.opaque or judged.tool.entry:
                continue
            value = Value()
        if not is_computed(value):
            continue
        name = tool_name(judged)
        yield facts.finding(
            "computed-declaration",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r}: untrusted_output is computed, so nobody can read from the source who chose the bytes.",
            "untrusted_output=False, a string, or a function of the input that gives the origin",
            tool=name,
            identity=name,
        )


def is_computed(value: Value) -> bool:
    """Whether a declaration is anything but one constant, strings, or something to call."""
    if any(
        isinstance(r, Func | Partial | Cls | Method) or (isinstance(r, Obj) and r.kind == "inst") for r in value.refs
    ):
        return False
    if not value.exact:
        return True
    return len(value.consts) > 1 and ("bool", False) in value.consts


REPORTED = (
    Case(
        "a call",
        tool(
            "import os\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output=os.environ.get("ORIGIN")',
        ),
        LINES + 6,
    ),
    Case(
        "a condition",
        tool(
            "import sys\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output=False if sys.flags.debug else "web"',
        ),
    ),
    Case(
        "keywords from elsewhere",
        tool(
            "import json\n\nREST = json.load(open('tool.json'))\n\ndef page(request: Page) -> str:\n    return 'own'\n",
            "**REST",
        ),
    ),
)
SILENT = (
    Case(
        "a constant",
        tool(
            "ORIGIN = 'web page'\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output=ORIGIN",
        ),
    ),
    Case(
        "a function",
        tool(
            "def origin(request: Page) -> str:\n    return request.url\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",  # noqa: E501
            "untrusted_output=origin",
        ),
    ),
    Case(
        "a constant joined to another",
        tool(
            "SITE = 'example'\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output='page of ' + SITE",
        ),
    ),
    Case(
        "one of two origins",
        tool(
            "import sys\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output='a' if sys.flags.debug else 'b'",
        ),
    ),
)
