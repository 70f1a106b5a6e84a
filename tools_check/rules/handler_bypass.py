"""A tool's handler is called past the dispatcher.

`run_registry_tool` is the only way to a handler: it checks the caller, validates the arguments, bounds the time, and
fences the answer from the declaration.
`tool.handler(...)` does none of that, and the bytes it returns are not marked.

Call `run_registry_tool(deployment, name, arguments)`, or `call_tool(name, arguments)` inside another handler.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._facts import Facts
from tools_check._finding import Case, Finding
from tools_check.rules._cases import tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Calls of a tool's handler."""
    for noted in facts.noted("handler-bypass"):
        yield facts.finding(
            "handler-bypass",
            "error",
            noted.path,
            noted.site,
            "A tool's handler is called past the dispatcher: no permission, no deadline, no fence.",
            "await run_registry_tool(deployment, name, arguments), or call_tool(name, arguments) inside a handler",
            identity=noted.text,
        )


REPORTED = (
    Case(
        "the handler of a known tool",
        tool("def page(request: Page) -> str:\n    return 'own'\n")
        + "\ndef shortcut(request: Page) -> object:\n    return TOOL.handler(request)\n",
    ),
    Case(
        "the handler of a parameter",
        "from registry import ToolDef, ToolInput\n\ndef run(tool: ToolDef, request: ToolInput) -> object:\n    return tool.handler(request)\n",  # noqa: E501
        4,
    ),
)
SILENT = (
    Case(
        "the dispatcher",
        "from registry import Deployment, run_registry_tool\n\nasync def run(deployment: Deployment) -> object:\n    return await run_registry_tool(deployment, 'page', {})\n",  # noqa: E501
    ),
    Case(
        "another thing with a handler",
        "class Route:\n    def handler(self) -> str:\n        return 'own'\n\ndef run(route: Route) -> str:\n    return route.handler()\n",  # noqa: E501
    ),
    Case(
        "the handler is passed on, not called",
        tool("def page(request: Page) -> str:\n    return 'own'\n") + "\nHANDLERS = [TOOL.handler]\n",
    ),
)
