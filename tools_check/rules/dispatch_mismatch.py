"""A tool calls other tools than `dispatches` names.

A handler may call another tool by `call_tool(name, arguments)`. What comes back was chosen by whoever that tool declares, so
a reviewer and a deployment have to know the set: `dispatches` says it, and the checker derives the same set from the code.
A tool that is called and not named is a way in that nobody reviewed; one that is named and never called is a grant that
nobody needs.

Write the names that the handler calls into `dispatches=frozenset({...})`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._analysis import Judged
from tools_check._facts import Facts, tool_name
from tools_check._finding import Case, Finding
from tools_check._ours import COMPUTED
from tools_check._values import DATA, EMPTY, Value
from tools_check.rules._cases import tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools whose handler calls another set of tools than they name."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or judged.tool.opaque:
            continue
        named = names(judged.tool.fields.get("dispatches", EMPTY))
        if named is None:
            continue
        told = problem(judged, named)
        if told is None:
            continue
        name = tool_name(judged)
        called = sorted(judged.called - {COMPUTED})
        listed = ", ".join(f'"{called_name}"' for called_name in called)
        yield facts.finding(
            "dispatch-mismatch",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r}: {told}",
            f"dispatches=frozenset({{{listed}}})"
            if called
            else "name the tools in dispatches=frozenset({...})"
            if COMPUTED in judged.called
            else "leave dispatches out",
            tool=name,
            identity=name,
        )


def problem(judged: Judged, named: frozenset[str]) -> str | None:
    """What is wrong between the names and the calls, in words."""
    called = judged.called - {COMPUTED}
    handler = judged.handler_name or "its handler"
    missing = sorted(called - named)
    if missing:
        return f"{handler} calls {', '.join(map(repr, missing))}, and dispatches does not name it."
    if COMPUTED in judged.called and not named:
        return f"{handler} calls a tool whose name is computed, and dispatches names none."
    spare = sorted(named - called)
    if spare and COMPUTED not in judged.called and judged.whole:
        return f"dispatches names {', '.join(map(repr, spare))}, and {handler} never calls it."
    return None


def names(value: Value) -> frozenset[str] | None:
    """The names that a set, tuple or list of constants holds; None when they are not all constants."""
    out: set[str] = set()
    for obj in value.objects():
        for item in (obj.elem, *obj.fields.values()):
            if item.labels or item.refs - {DATA} or not all(kind == "str" for kind, _ in item.consts):
                return None
            out |= set(item.strings())
        if not obj.exact and not out:
            return None
    return frozenset(out)


REPORTED = (
    Case(
        "a call that is not named",
        tool(
            "from registry import call_tool\n\nasync def page(request: Page):\n    await call_tool('fetch_url', {'url': request.url})\n    return reply('done')\n"  # noqa: E501
        ),
    ),
    Case(
        "one of two is not named",
        tool(
            "from registry import call_tool_sync\n\ndef page(request: Page):\n    call_tool_sync('fetch_url', {})\n    call_tool_sync('delete_file', {})\n    return reply('done')\n",  # noqa: E501
            "untrusted_output=False, dispatches=frozenset({'fetch_url'})",
        ),
    ),
    Case(
        "a call in a helper",
        tool(
            "from registry import call_tool\n\nasync def nested(name: str):\n    return await call_tool(name, {})\n\nasync def page(request: Page):\n    await nested('fetch_url')\n    return reply('done')\n"  # noqa: E501
        ),
    ),
    Case(
        "a name that nobody calls",
        tool(
            "def page(request: Page):\n    return reply('done')\n",
            "untrusted_output=False, dispatches=frozenset({'fetch_url'})",
        ),
    ),
    Case(
        "a computed name under no names",
        tool(
            "from registry import call_tool\n\nasync def page(request: Page):\n    await call_tool(request.url, {})\n    return reply('done')\n"  # noqa: E501
        ),
    ),
)
SILENT = (
    Case(
        "named",
        tool(
            "from registry import call_tool\n\nasync def page(request: Page):\n    await call_tool('fetch_url', {})\n    return reply('done')\n",  # noqa: E501
            "untrusted_output=False, dispatches=frozenset({'fetch_url'})",
        ),
    ),
    Case(
        "a helper that two tools use calls what each of them names",
        tool(
            "from registry import call_tool\n\nasync def nested(name: str):\n    return await call_tool(name, {})\n\nasync def other(request: Page):\n    await nested('delete_file')\n    return reply('done')\n\nOTHER = ToolDef(name='other', description='Does.', input=Page, handler=other, untrusted_output=False, dispatches=frozenset(['delete_file']))\n\nasync def page(request: Page):\n    await nested('fetch_url')\n    return reply('done')\n",  # noqa: E501
            "untrusted_output=False, dispatches=frozenset({'fetch_url'})",
        ),
    ),
    Case(
        "a computed name under some names",
        tool(
            "from registry import call_tool\n\nasync def page(request: Page):\n    await call_tool(request.url, {})\n    return reply('done')\n",  # noqa: E501
            "untrusted_output=False, dispatches=frozenset({'fetch_url'})",
        ),
    ),
    Case("no calls and no names", tool("def page(request: Page):\n    return reply('done')\n")),
)
