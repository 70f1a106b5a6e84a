"""A comment silences a finding that is not there.

It was right once, or never; left in place it will silence the next finding on that line, which nobody has looked at.

Delete the comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "warning"


def check(facts: Facts) -> Iterator[Finding]:
    """Suppression comments that silence nothing; runs after all other rules."""
    for path, found in sorted(facts.suppressions.items()):
        for item in found:
            if not item.fault and not item.used:
                yield Finding(
                    rule="unused-suppression",
                    severity="warning",
                    file=path,
                    line=item.line,
                    column=item.column,
                    message=f"This comment silences {', '.join(item.rules)}, but there is no such finding on line {item.covers}.",  # noqa: E501
                    repair="delete the comment",
                    last_line=item.line,
                )


REPORTED = (Case("nothing to silence", "X = 1  # tools-check: ignore[false-declaration] -- it was here once\n", 1),)
SILENT = (
    Case(
        "something to silence",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output=False",
        ).replace(
            "untrusted_output=False)",
            "untrusted_output=False)  # tools-check: ignore[false-declaration] -- the page is our own",
        ),
    ),
)
