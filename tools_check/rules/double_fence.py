"""A handler fences its text by hand and declares an origin, so that the text would be fenced twice.

The dispatcher fences what a tool returns, from the tool's declaration, for every surface at once.
A block inside a block tells the reader nothing more, and the dispatcher refuses such an answer (`double_fence`).

Return the bare text, or a `Foreign`, and keep the declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, declares_false, tool_name
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools whose answer is a block already."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or not judged.fenced:
            continue
        value = judged.tool.fields.get("untrusted_output")
        if value is None or declares_false(value):
            continue
        name = tool_name(judged)
        yield facts.finding(
            "double-fence",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r} declares an origin, so the dispatcher fences its answer, but {judged.handler_name} has "
            "fenced it by hand already.",
            "return the text without fence_untrusted(...)",
            tool=name,
            trace=facts.trace(judged.first("foreign")),
            identity=name,
        )


REPORTED = (
    Case(
        "fenced by hand under an origin",
        tool(
            "from registry import fence_untrusted\n\ndef page(request: Page) -> str:\n    return fence_untrusted(httpx.get(request.url).text, origin='web', key=KEY)\n",  # noqa: E501
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "a block in a longer text",
        tool(
            "from registry import fence_untrusted\n\ndef marked(text: str) -> str:\n    return fence_untrusted(text, origin='web', key=KEY)\n\ndef page(request: Page) -> str:\n    return 'page: ' + marked(httpx.get(request.url).text)\n",  # noqa: E501
            'untrusted_output="web page"',
        ),
    ),
)
SILENT = (
    Case(
        "the dispatcher fences",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "a seam that is no tool",
        "from registry import fence_untrusted\n\ndef seam(text: str, key: object) -> str:\n    return fence_untrusted(text, origin='web', key=key)\n",  # noqa: E501
    ),
)
