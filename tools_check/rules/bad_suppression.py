"""A comment that is to silence a finding lacks its rule or its reason.

The form is `# tools-check: ignore[rule-name] -- reason`.
The rule is named so that nothing else is silenced with it; the reason is there for the person who reviews the line.
A comment that lacks either silences nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Suppression comments that are not complete."""
    for path, found in sorted(facts.suppressions.items()):
        for item in found:
            if item.fault:
                yield Finding(
                    rule="bad-suppression",
                    severity="error",
                    file=path,
                    line=item.line,
                    column=item.column,
                    message=f"This comment silences nothing: {item.fault}.",
                    repair="# tools-check: ignore[rule-name] -- why it is right here",
                    last_line=item.line,
                )


REPORTED = (
    Case("no rule", "X = 1  # tools-check: ignore -- it is fine here\n", 1),
    Case("no reason", "X = 1  # tools-check: ignore[false-declaration]\n", 1),
    Case("a reason that says nothing", "X = 1  # tools-check: ignore[false-declaration] -- because\n", 1),
    Case(
        "a rule that does not exist",
        "X = 1  # tools-check: ignore[false-decleration] -- it is fine here\n",
        1,
    ),
    Case("an empty list", "X = 1  # tools-check: ignore[] -- it is fine here\n", 1),
)
SILENT = (
    Case("in a string", "X = '# tools-check: ignore'\n"),
    Case("another tool's comment", "X = 1  # noqa: tools-checked\n"),
)
