"""A `Foreign` value is put into a string by hand.

`Foreign` has no string form, so that text of somebody else cannot slip into a sentence of ours: an f-string, `str()`,
`%` or `.format()` over one raises at run time.
This rule finds it without running anything.

Give the `Foreign` to `reply(...)` as a part of its own, or use `map` to keep it foreign while changing it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Foreign values in strings."""
    for noted in facts.noted("foreign-format"):
        label = min(noted.labels.values(), key=lambda la: (la.depth, la.root), default=None)
        yield facts.finding(
            "foreign-format",
            "error",
            noted.path,
            noted.site,
            f"A Foreign value is made into text by {noted.text}; it has no string form, and this raises when it runs.",
            "reply('own words', value), or value.map(lambda text: ...)",
            trace=facts.trace(label),
            identity=noted.text,
        )


REPORTED = (
    Case(
        "an f-string",
        tool(
            "def page(request: Page):\n    text = Foreign(httpx.get(request.url).text)\n    return reply(f'got {text}')\n",
            'untrusted_output="web page"',
        ),
        LINES + 3,
    ),
    Case(
        "str()",
        tool(
            "def page(request: Page):\n    return str(Foreign(httpx.get(request.url).text))\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "in a function that is no handler",
        "from registry import Foreign\n\ndef show(text: Foreign[str]) -> str:\n    return 'got %s' % text\n",
        4,
    ),
    Case(
        "joined to other text",
        tool(
            "def page(request: Page):\n    return 'page: ' + Foreign(httpx.get(request.url).text)\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "an item of what is joined",
        tool(
            "def page(request: Page):\n    return ', '.join([Foreign(httpx.get(request.url).text)])\n",
            'untrusted_output="web page"',
        ),
    ),
)
SILENT = (
    Case(
        "its `repr`, which shows its class alone",
        "from registry import Foreign\n\ndef show(text: Foreign[str]) -> str:\n    return repr(text)\n",
    ),
    Case(
        "after it was told apart",
        "from registry import Foreign\n\ndef show(text: str | Foreign[str]) -> str:\n    if isinstance(text, Foreign):\n        return 'theirs'\n    return str(text)\n",  # noqa: E501
    ),
    Case(
        "what is plain by its class",
        "from registry import Foreign\n\ndef show(text: str | Foreign[str]) -> str:\n    if isinstance(text, int | str):\n        return str(text)\n    return 'theirs'\n",  # noqa: E501
    ),
    Case(
        "kept apart",
        tool(
            "def page(request: Page):\n    text = Foreign(httpx.get(request.url).text)\n    return reply('got', text)\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "changed inside",
        tool(
            "def page(request: Page):\n    return Foreign(httpx.get(request.url).text).map(lambda text: f'<{text}>')\n",
            'untrusted_output="web page"',
        ),
    ),
)
