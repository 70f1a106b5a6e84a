"""A comment silences a finding that is not there.

It was right once, or never; left in place it will silence the next finding on that line, which nobody has looked at.

A comment is judged by what the run can see.
Where a stranger's text could still arrive from a caller or a module that is not among the files, or where the code was not
followed, nothing is said: a file checked alone must not lose a comment that the whole project needs.

Delete the comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import HEAD, LINES, tool

SEVERITY = "warning"


def check(facts: Facts) -> Iterator[Finding]:
    """Suppression comments that silence nothing; runs after all other rules."""
    for path, found in sorted(facts.suppressions.items()):
        for item in found:
            if not item.fault and not item.used and not item.doubted:
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


REPORTED = (
    Case("nothing to silence", "X = 1  # tools-check: ignore[false-declaration] -- it was here once\n", 1),
    Case(
        "our own sentence, in a function that nobody calls here",
        HEAD
        + "def give_up() -> None:\n    raise ToolFailed('no such page')  # tools-check: ignore[foreign-error] -- it is ours\n",  # noqa: E501
        LINES + 2,
    ),
    Case(
        "a function whose callers are all here, and give it our own words",
        tool(
            "def give_up(what: str) -> None:\n    raise ToolFailed(f'no {what}')  # tools-check: ignore[foreign-error] -- it is ours\n\ndef page(request: Page):\n    give_up('page')\n",  # noqa: E501
        ),
        LINES + 2,
    ),
    Case(
        "a tool that says what a model told it",
        tool("def page(request: Page) -> str:\n    return f'got {request.url}'\n").replace(
            "untrusted_output=False)",
            "untrusted_output=False)  # tools-check: ignore[false-declaration] -- it is ours",
        ),
    ),
    Case(
        "a number, whatever it counts",
        HEAD
        + "def count(found: list[str]) -> object:\n    return reply(f'{len(found)} found')  # tools-check: ignore[foreign-framing] -- a number\n",  # noqa: E501
        LINES + 2,
    ),
    Case(
        "a rule over texts, in a function that nobody calls here",
        "def show(text: str) -> str:\n    return f'<{text}>'  # tools-check: ignore[hand-rolled-fence] -- it is no fence\n",
        2,
    ),
)
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
    Case(
        "a parameter, in a function that is called from elsewhere",
        HEAD
        + "def give_up(what: str) -> None:\n    raise ToolFailed(f'no {what}')  # tools-check: ignore[foreign-error] -- checked\n",  # noqa: E501
    ),
    Case(
        "a field of what a caller elsewhere makes",
        HEAD
        + "from dataclasses import dataclass\n\n@dataclass\nclass Wish:\n    name: str\n\n    def refuse(self) -> object:\n        return refuse('gone', f'no {self.name}')  # tools-check: ignore[foreign-framing] -- checked\n",  # noqa: E501
    ),
    Case(
        "what a function given from elsewhere returns",
        HEAD
        + "from collections.abc import Callable\n\ndef tool_of(give: Callable[[], str]) -> ToolDef:\n    def page(request: Page) -> str:\n        return give()\n\n    return ToolDef(  # tools-check: ignore[false-declaration] -- they give our own words\n        name='page', description='Reads.', input=Page, handler=page, untrusted_output=False\n    )\n",  # noqa: E501
    ),
    Case(
        "a function inside another, which is called from elsewhere if at all",
        HEAD
        + "def maker() -> object:\n    def give_up(what: str) -> None:\n        raise ToolFailed(f'no {what}')  # tools-check: ignore[foreign-error] -- checked\n\n    return give_up\n",  # noqa: E501
    ),
)
