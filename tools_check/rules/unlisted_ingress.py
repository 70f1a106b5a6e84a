"""A way in for foreign bytes is not in the committed list.

The list (`ingresses = "docs/ingresses.md"` in `[tool.tools_check]`) is what a reviewer reads: every tool, every call of the
fence, every stranger's part of a prompt. One that is not in it was never reviewed.
Without that setting the rule says nothing.

Write the list anew with `tools-check inventory --write FILE`, and read what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check._row import key
from tools_check._ways import rows_of
from tools_check.rules._cases import tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Ways in that the committed list does not hold."""
    if facts.listed is None:
        return
    for row in rows_of(facts, facts.analysis.tools):
        file, name, style = key(row)
        if (facts.from_list(file), name, style) in facts.listed:
            continue
        yield Finding(
            rule="unlisted-ingress",
            severity="error",
            file=row.file,
            line=row.line,
            column=1,
            message=f"{row.qualname} is a way in ({row.style}) that {facts.list_name} does not list.",
            repair=f"tools-check inventory --write {facts.list_name} PATHS, then read what it adds",
            tool=row.name if row.style == "registry" else None,
            trace=row.trace,
            last_line=row.line,
            identity=f"{row.style} {row.qualname}",
        )


OWN = tool("def page(request: Page) -> str:\n    return 'own'\n")
REPORTED = (
    Case("a tool that is new", OWN, listed=()),
    Case(
        "a call of the fence that is new",
        OWN
        + "\nfrom registry import fence_untrusted\n\ndef show(text: str) -> str:\n    return fence_untrusted(text, origin='web')\n",  # noqa: E501
        listed=(("page", "registry"),),
    ),
)
SILENT = (
    Case("a tool that is listed", OWN, listed=(("page", "registry"),)),
    Case("a project without a list", OWN),
)
