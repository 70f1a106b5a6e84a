"""A tool does not say who chose the bytes that it returns.

`untrusted_output` has no default, so that nobody can forget the question.
Such a tool does not type-check and does not construct; this rule finds it without running anything.

Write `untrusted_output=False` if the handler returns only this program's own words, else name the origin.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, tool_name
from tools_check._finding import Case, Finding
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools without a declaration."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or judged.tool.opaque or "untrusted_output" in judged.tool.fields:
            continue
        name = tool_name(judged)
        label = judged.first("foreign")
        origin = f'untrusted_output="{label.origin}",' if label else "untrusted_output=False,"
        yield facts.finding(
            "missing-declaration",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r} does not say who chose the bytes that it returns: untrusted_output is missing.",
            origin if judged.verdict != "undecided" else 'untrusted_output=False, or untrusted_output="the origin",',
            tool=name,
            trace=facts.trace(label),
            identity=name,
        )


REPORTED = (
    Case("no declaration", tool("def page(request: Page) -> str:\n    return 'own'\n", ""), LINES + 4),
    Case(
        "no declaration in a table either",
        tool("REST = {'scope': 'read'}\n\ndef page(request: Page) -> str:\n    return 'own'\n", "**REST"),
    ),
)
SILENT = (
    Case("False", tool("def page(request: Page) -> str:\n    return 'own'\n")),
    Case(
        "from a table",
        tool(
            "REST = {'untrusted_output': 'web page'}\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",  # noqa: E501
            "**REST",
        ),
    ),
    Case(
        "a class of another library with the same name",
        "from zz_agents import ToolDef\n\nTOOL = ToolDef(name='x')\n",
    ),
    Case(
        "kept from the tool that is copied",
        tool("import dataclasses\n\ndef page(request: Page) -> str:\n    return 'own'\n")
        + "OTHER = dataclasses.replace(TOOL, name='other')\n",
    ),
)
