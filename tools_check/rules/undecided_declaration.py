"""A tool says that it returns only its own words, and the checker cannot see whether that is true.

Something that the checker cannot follow reaches the answer: a function of a library that its catalogue does not know,
a callable that is computed at run time.
What cannot be followed is never taken to be clean.

Name an origin when the bytes come from outside.
When they do not, say so to the checker: list the function under `own` in a `[tool.tools_check.sources]` table of
pyproject.toml, or give the value a type that the checker can follow.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, declares_false, tool_name
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "warning"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools that declare False and whose answer cannot be decided."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or not declares_false(judged.tool.fields.get("untrusted_output")):
            continue
        label = judged.first("unknown")
        if judged.verdict != "undecided" or label is None:
            continue
        name = tool_name(judged)
        yield facts.finding(
            "undecided-declaration",
            "warning",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r} says that it returns only this program's own words (untrusted_output=False), but what "
            f"{label.root.name} gives cannot be followed, and it reaches the answer.",
            f"name an origin, or list {label.root.name.removesuffix('()')} as `own` in [tool.tools_check.sources]",
            tool=name,
            trace=facts.trace(label, last=facts.declaration(judged)),
            identity=f"{judged.handler_name}|{label.root.name}",
        )


REPORTED = (
    Case(
        "a function of a library that nobody described",
        tool("import zz_unheard_of\n\ndef page(request: Page) -> str:\n    return zz_unheard_of.render(request.url)\n"),
    ),
    Case(
        "a callable found by a computed name",
        tool(
            "import zz_plugins\n\ndef page(request: Page) -> str:\n    return getattr(zz_plugins.load(), request.url)()\n"
        ),
    ),
)
SILENT = (
    Case(
        "the result is dropped",
        tool(
            "import zz_unheard_of\n\ndef page(request: Page) -> str:\n    zz_unheard_of.render(request.url)\n    return 'done'\n"  # noqa: E501
        ),
    ),
    Case(
        "only its length is told",
        tool(
            "import zz_unheard_of\n\ndef page(request: Page) -> str:\n    return str(len(zz_unheard_of.render(request.url)))\n"  # noqa: E501
        ),
    ),
    Case(
        "an origin is named",
        tool(
            "import zz_unheard_of\n\ndef page(request: Page) -> str:\n    return zz_unheard_of.render(request.url)\n",
            'untrusted_output="renderer"',
        ),
    ),
)
