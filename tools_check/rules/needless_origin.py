"""A tool names an origin, but nothing that the checker knows of brings bytes of somebody else into its answer.

This is a remark and not a fault: a fence too many costs a line, a fence too few costs the day.
It is worth a look when the tool only writes, measures or repeats its own argument: an answer in this program's own
words reads better outside a fence.

Write `untrusted_output=False` if the handler returns only this program's own words.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, declares_false, tool_name
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "info"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools with an origin and an answer of their own words."""
    for judged in facts.analysis.tools:
        value = judged.tool.fields.get("untrusted_output")
        if judged.tool.style != "registry" or value is None or declares_false(value) or not judged.handler_name:
            continue
        if judged.verdict != "own" or not (value.refs or value.strings()) or judged.tool.entry:
            continue
        name = tool_name(judged)
        yield facts.finding(
            "needless-origin",
            "info",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r} names an origin, but {judged.handler_name} returns only this program's own words as far as "
            "the checker can see.",
            "untrusted_output=False, if that is so",
            tool=name,
            identity=name,
        )


REPORTED = (
    Case(
        "own words under an origin",
        tool(
            "def page(request: Page) -> str:\n    httpx.post(request.url)\n    return 'sent'\n",
            'untrusted_output="web page"',
        ),
    ),
)
SILENT = (
    Case(
        "foreign words under an origin",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "undecided under an origin",
        tool(
            "import zz_unheard_of\n\ndef page(request: Page) -> str:\n    return zz_unheard_of.render(request.url)\n",
            'untrusted_output="renderer"',
        ),
    ),
)
