"""Text of somebody else stands in the own words of a failure.

The first argument of `ToolFailed(...)` is shown to the model as this program's own words.
What the other side wrote - an error body, a database's message, the output of a process - belongs into `detail`, which
is fenced.

Write `ToolFailed("own words", detail=Foreign(their_text))`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Failures whose own words are foreign."""
    for noted in facts.noted("foreign-error"):
        label = min(
            (la for r, la in noted.labels.items() if r.kind == "foreign"),
            key=lambda la: (la.depth, la.root),
            default=None,
        )
        yield facts.finding(
            "foreign-error",
            "error",
            noted.path,
            noted.site,
            "The own words of a ToolFailed hold text that somebody else chose; they are shown outside the fence.",
            'raise ToolFailed("own words", detail=Foreign(their_text))',
            trace=facts.trace(label),
            identity=noted.text,
        )


REPORTED = (
    Case(
        "the body of an error answer",
        tool(
            "def page(request: Page) -> str:\n    answer = httpx.get(request.url)\n    if answer.is_error:\n        raise ToolFailed(f'the server says {answer.text}')\n    return 'there'\n"  # noqa: E501
        ),
        LINES + 4,
    ),
    Case(
        "the text of an exception",
        tool(
            "def page(request: Page) -> str:\n    try:\n        httpx.get(request.url)\n    except httpx.HTTPError as error:\n        raise ToolFailed(str(error))\n    return 'there'\n"  # noqa: E501
        ),
    ),
)
SILENT = (
    Case(
        "as detail",
        tool(
            "def page(request: Page) -> str:\n    answer = httpx.get(request.url)\n    if answer.is_error:\n        raise ToolFailed('the server refused', detail=Foreign(answer.text))\n    return 'there'\n"  # noqa: E501
        ),
    ),
    Case(
        "a status number",
        tool(
            "def page(request: Page) -> str:\n    answer = httpx.get(request.url)\n    if answer.is_error:\n        raise ToolFailed(f'status {answer.status_code}')\n    return 'there'\n"  # noqa: E501
        ),
    ),
)
