"""Text of somebody else stands in the own words of a failure.

The first argument of `ToolFailed(...)` is shown to the model as this program's own words.
What the other side wrote - an error body, a database's message, the output of a process - belongs into `detail`, which
is fenced.

Write `ToolFailed("own words", detail=Foreign(their_text))`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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


RECORD: Final = """\
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

class Kind(Enum):
    PLAIN = "plain"

@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    status: int
    took_s: float | None
    kind: Annotated[Kind, "of body"]
    reason: str
    body: Foreign[str]

class Moved:
    def __init__(self, to: str) -> None:
        self.to = to

async def ask(url: str) -> Fetched | Moved:
    async with httpx.AsyncClient() as client:
        got = await client.get(url)
        if got.is_redirect:
            return Moved(str(httpx.URL(url).join(got.headers["location"])))
        found = got.json()
        return Fetched(status=found["status"], took_s=found["took"], kind=found["kind"], reason=got.reason_phrase, body=Foreign(got.text))

async def page(request: Page):
    answer = await ask(request.url)
    if isinstance(answer, Moved):
        return refuse("moved", "It has moved.")
    raise ToolFailed(f"FIELDS", detail=answer.body)
"""  # noqa: E501
REPORTED = (
    Case(
        "a field of a record that is text",
        tool(RECORD.replace("FIELDS", "says {answer.reason}"), "untrusted_output='web'"),
    ),
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
        "fields of a record that are numbers and words of ours by their type",
        tool(
            RECORD.replace("FIELDS", "status {answer.status} after {answer.took_s}, {answer.kind}"),
            "untrusted_output='web'",
        ),
    ),
    Case(
        "the own words of a failure that was caught",
        tool(
            "def ask(url: str) -> str:\n    answer = httpx.get(url)\n    if answer.is_error:\n        raise ToolFailed('It does not answer.', detail=Foreign(answer.text))\n    return answer.text\n\ndef page(request: Page):\n    try:\n        return reply('It says:', Foreign(ask(request.url)))\n    except ToolFailed as failed:\n        raise ToolFailed(failed.words + ' Ask later.', detail=failed.detail)\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
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
