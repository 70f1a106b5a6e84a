"""An answer has more than three fenced blocks.

Each foreign part of a reply becomes a block of its own, with a line before and behind it.
A model reads ten small blocks worse than one, pays for each line, and the sentences of ours between them are harder to tell
from what stands inside.

Put what belongs together into one part: `Foreign.join(parts)`, or a table that `registry.text` renders.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "info"


def check(facts: Facts) -> Iterator[Finding]:
    """Replies of many blocks."""
    for noted in facts.noted("fragmented-reply"):
        yield facts.finding(
            "fragmented-reply",
            "info",
            noted.path,
            noted.site,
            f"The answer has {noted.text} fenced blocks; more than three are hard to read.",
            "put what belongs together into one part: Foreign.join((first, second, ...))",
            identity=noted.inside,
        )


PARTS = "def page(request: Page):\n    title, author, day, body = (Foreign(t) for t in httpx.get(request.url).text.split('|'))\n"  # noqa: E501
REPORTED = (
    Case(
        "a block for each field",
        tool(PARTS + "    return reply('title', title, 'by', author, 'on', day, body)\n", "untrusted_output='web'"),
    ),
)
SILENT = (
    Case(
        "one block",
        tool(PARTS + "    return reply('page', Foreign.join((title, author, day, body)))\n", "untrusted_output='web'"),
    ),
    Case(
        "three blocks", tool(PARTS + "    return reply('title', title, 'by', author, body)\n", "untrusted_output='web'")
    ),
)
