"""Text of somebody else stands in a part of the answer that is shown as this program's own words.

`reply(...)` keeps two kinds of parts apart: strings are ours and stay outside the fence, `Foreign` values are fenced.
A foreign text in a string part stands outside the fence, where the model reads it as ours.
A sentence given to `refuse(...)` is ours too.

Give the text as it is (`Foreign`), and say about it only what cannot carry words: `measure` for a number, `one_of` for
one of your own words.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Own parts that hold foreign text."""
    for noted in facts.noted("foreign-framing"):
        label = min(
            (la for r, la in noted.labels.items() if r.kind == "foreign"),
            key=lambda la: (la.depth, la.root),
            default=None,
        )
        where = (
            f"a sentence given to {noted.text}()"
            if noted.text in ("refuse", "IngressRefused")
            else "a part of reply() that is shown as this program's own words"
        )
        yield facts.finding(
            "foreign-framing",
            "error",
            noted.path,
            noted.site,
            f"Text that somebody else chose stands in {where}, outside the fence.",
            "pass the text as a Foreign part of its own, or only a number or a word of ours about it (measure, one_of)",
            trace=facts.trace(label),
            identity=noted.text,
        )


REPORTED = (
    Case(
        "the sentence of a refusal that is raised",
        tool(
            "from registry.errors import IngressRefused\n\ndef page(request: Page):\n    text = httpx.get(request.url).text\n    raise IngressRefused('no', f'It says {text}')\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
    Case(
        "a title in the head of the answer",
        tool(
            "def page(request: Page):\n    text = httpx.get(request.url).text\n    return reply('about ' + text[:20], Foreign(text))\n",  # noqa: E501
            'untrusted_output="web page"',
        ),
        LINES + 3,
    ),
    Case(
        "a foreign word in a refusal",
        tool(
            "def page(request: Page):\n    return refuse('gone', httpx.get(request.url).reason_phrase)\n",
            'untrusted_output="web page"',
        ),
    ),
)
SILENT = (
    Case(
        "the code and the sentence of a refusal that is caught",
        tool(
            "from connectors.ingress import IngressRefused, fetch\n\nasync def page(request: Page):\n    try:\n        answer = await fetch(request.url)\n    except IngressRefused as refused:\n        return refuse(refused.code, refused.sentence)\n    return reply('it says', answer.text())\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
    Case(
        "a number in the head",
        tool(
            "def page(request: Page):\n    text = Foreign(httpx.get(request.url).text)\n    return reply(f'{text.measure(len)} characters', text)\n",  # noqa: E501
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "an own refusal",
        tool(
            "def page(request: Page):\n    if httpx.get(request.url).status_code == 404:\n        return refuse('gone', 'It is not there.')\n    return reply('there')\n"  # noqa: E501
        ),
    ),
)
