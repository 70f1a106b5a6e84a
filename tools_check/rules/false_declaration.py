"""A tool says that it returns only this program's own words, but text of somebody else reaches its answer.

`untrusted_output=False` means: every byte that this handler returns was chosen by this program or its owner.
The dispatcher believes it and shows the answer to the model without a fence.
When the handler returns a page, a row, a file, the output of a process or the words of another model, whoever wrote
that text can write instructions, and the model reads them as if you had written them.

The finding shows the way of the text, from the call that brought it in to the answer.
Name the origin instead of `False`: a string, or a function of the input that gives one.
When only a number or one of your own words is wanted, take that: `len(text)`, `"up" if ok else "down"`,
`Foreign.measure`, `Foreign.one_of`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts, declares_false, tool_name
from tools_check._finding import Case, Finding
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools that declare False and whose handler returns foreign bytes."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or not declares_false(judged.tool.fields.get("untrusted_output")):
            continue
        label = judged.first("foreign")
        if label is None:
            continue
        name = tool_name(judged)
        handler = judged.handler_name or "its handler"
        yield facts.finding(
            "false-declaration",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r} says that it returns only this program's own words (untrusted_output=False), but "
            f"{handler} returns bytes that somebody else chose: they come in through {label.root.name}.",
            f'untrusted_output="{label.origin or "where it comes from"}",',
            tool=name,
            trace=facts.trace(label, last=facts.declaration(judged)),
            identity=f"{handler}|{label.root.name}",
        )


REPORTED = (
    Case(
        "a response body under False",
        tool("def page(request: Page) -> str:\n    return httpx.get(request.url).text\n"),
        LINES + 4,
    ),
    Case(
        "through a helper",
        tool(
            "def load(url):\n    return httpx.get(url).text.strip()\n\ndef page(request: Page) -> str:\n    return f'got: {load(request.url)}'\n"  # noqa: E501
        ),
    ),
    Case(
        "the text of the error that the other side wrote",
        tool(
            "def page(request: Page) -> str:\n    try:\n        httpx.get(request.url)\n    except Exception as error:\n        return str(error)\n    return 'done'\n"  # noqa: E501
        ),
    ),
    Case(
        "a header",
        tool("def page(request: Page) -> str:\n    return httpx.get(request.url).headers['x-title']\n"),
    ),
    Case(
        "a value carried out of a Foreign by a side effect",
        tool(
            "def page(request: Page) -> str:\n    seen = []\n    Foreign(httpx.get(request.url).text).map(seen.append)\n    return seen[0]\n"  # noqa: E501
        ),
    ),
    Case(
        "a Foreign under False",
        tool("def page(request: Page):\n    return reply('page', Foreign(httpx.get(request.url).text))\n"),
    ),
    Case(
        "False from a table of settings",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n\nOWN = {'untrusted_output': False}\n",
            "**OWN",
        ),
    ),
)
SILENT = (
    Case(
        "an origin is named",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output="web page"',
        ),
    ),
    Case(
        "a status number",
        tool("def page(request: Page) -> str:\n    return f'status {httpx.get(request.url).status_code}'\n"),
    ),
    Case(
        "a length",
        tool("def page(request: Page) -> str:\n    return f'{len(httpx.get(request.url).text)} characters'\n"),
    ),
    Case(
        "a word of our own table, found by a foreign key",
        tool(
            "WORDS = {'a': 'first', 'b': 'second'}\n\ndef page(request: Page) -> str:\n    return WORDS.get(httpx.get(request.url).text, 'none')\n"  # noqa: E501
        ),
    ),
    Case(
        "a comparison with our own word",
        tool(
            "def page(request: Page) -> str:\n    text = httpx.get(request.url).text\n    if text == 'ready':\n        return text\n    return 'waiting'\n"  # noqa: E501
        ),
    ),
    Case(
        "a measure of a Foreign",
        tool(
            "def page(request: Page):\n    return reply(f'{Foreign(httpx.get(request.url).text).measure(len)} characters')\n"
        ),
    ),
    Case(
        "the handler's own argument",
        tool("def page(request: Page) -> str:\n    return f'you asked for {request.url}'\n"),
    ),
    Case(
        "a method that is only called get",
        tool(
            "class Cache:\n    def get(self, key: str) -> str:\n        return 'own ' + key\n\ncache = Cache()\n\ndef page(request: Page) -> str:\n    return cache.get(request.url)\n"  # noqa: E501
        ),
    ),
)
