"""A tool's declaration is computed, so that no reader of the line knows the answer.

`untrusted_output` says who chose the bytes; it is read by people in review, by this checker and by the dispatcher.
A value that comes out of a call, a setting or a condition can be `False` on the day that matters.

Write `False`, a string, a constant, or a function of the input that gives the origin.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools_check._analysis import Judged
from tools_check._facts import Facts, tool_name
from tools_check._finding import Case, Finding
from tools_check._ir import Node, dotted, walk
from tools_check._values import Cls, Func, Method, Obj, Partial, Value
from tools_check.rules._cases import LINES, tool

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Tools whose declaration is neither a constant nor a function of the input."""
    for judged in facts.analysis.tools:
        if judged.tool.style != "registry" or (judged.tool.entry and not judged.handler_name):
            continue
        value = judged.tool.fields.get("untrusted_output")
        if value is None:
            if not judged.tool.opaque or judged.tool.entry:
                continue
            value = Value()
        written = declaration(judged)
        if is_computed(value):
            if written is not None and is_text(written):
                continue
        elif written is None or written[0] != "x" or (dotted(written[2]) or "").endswith("cast") or not is_false(value):
            continue  # what a call gives may be False today alone
        name = tool_name(judged)
        yield facts.finding(
            "computed-declaration",
            "error",
            judged.tool.path,
            judged.tool.site,
            f"Tool {name!r}: untrusted_output is computed, so nobody can read from the source who chose the bytes.",
            "untrusted_output=False, a string, or a function of the input that gives the origin",
            tool=name,
            identity=name,
        )


def is_computed(value: Value) -> bool:
    """Whether a declaration is anything but one constant, strings, or something to call."""
    if any(
        isinstance(r, Func | Partial | Cls | Method) or (isinstance(r, Obj) and r.kind == "inst") for r in value.refs
    ):
        return False
    if not value.exact:
        return True
    return len(value.consts) > 1 and ("bool", False) in value.consts


def is_false(value: Value) -> bool:
    return (
        value.exact
        and value.consts == frozenset({("bool", False)})
        and not any(isinstance(r, Func | Partial) for r in value.refs)
    )


def declaration(judged: Judged) -> Node | None:
    """The declaration as it is written, or the one assignment of the variable that it names."""
    module = judged.module
    if module is None:
        return None
    blocks = [module.ir.body, *(d.body for d in module.ir.defs), *(c.body for c in module.ir.classes)]
    for body in blocks:
        for call in walk(body):
            if call[0] == "x" and len(call) == 4 and call[1] == judged.tool.site:
                given = next((value for _, keyword, value in call[3] if keyword == "untrusted_output"), None)
                return looked_up(given, body) if given is not None else None
    return None


def looked_up(node: Node, body: tuple[Node, ...]) -> Node:
    """What a name is given in the same block, when it is given there once; else the node itself."""
    if node[0] != "n":
        return node
    given: list[Node] = []
    for part in walk(body):
        if not isinstance(part[0], str):
            if part[1] == "=" and any(n == node for n in walk(part[2])):
                given.append(part[3] if part[2] == (node,) else node)
            elif part[1] in ("ann", "for", "with", "aug", "global", "nonlocal") and node in tuple(walk(part[2:3])):
                given.append((part[4] or node) if part[1] == "ann" else node)
        elif part[0] == ":=" and part[1] == node[1]:
            given.append(node)
    return given[0] if len(given) == 1 else node


def is_text(node: Node) -> bool:
    """Whether an expression is a string with a letter or digit of its own, whatever is put into it."""
    match node[0]:
        case "k":
            return isinstance(node[1], str) and any(map(str.isalnum, node[1]))
        case "f":
            return any(is_text(part) for part in node[1] if part[0] == "k")
        case "b":
            return node[1] == "Add" and (is_text(node[2]) or is_text(node[3]))
        case "?":
            return is_text(node[1]) and is_text(node[3])
        case _:
            return False


REPORTED = (
    Case(
        "a variable that is given twice",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n\ndef tools(name: str):\n    origin = f'repository {name}' \n    origin = name\n    return ToolDef(name='a', description='d', input=Page, handler=page, untrusted_output=origin)\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
    Case(
        "a text without a word of its own",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n\ndef tools(name: str):\n    origin = f'{name}'\n    return ToolDef(name='a', description='d', input=Page, handler=page, untrusted_output=origin)\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
    Case(
        "a call",
        tool(
            "import os\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output=os.environ.get("ORIGIN")',
        ),
        LINES + 6,
    ),
    Case(
        "a call that gives False today",
        tool(
            "def decide() -> bool:\n    return False\n\ndef page(request: Page) -> str:\n    return 'own'\n",
            "untrusted_output=decide()",
        ),
    ),
    Case(
        "a condition",
        tool(
            "import sys\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            'untrusted_output=False if sys.flags.debug else "web"',
        ),
    ),
    Case(
        "keywords from elsewhere",
        tool(
            "import json\n\nREST = json.load(open('tool.json'))\n\ndef page(request: Page) -> str:\n    return 'own'\n",
            "**REST",
        ),
    ),
)
SILENT = (
    Case(
        "a text with words in it, given to a variable",
        tool(
            "def page(request: Page) -> str:\n    return httpx.get(request.url).text\n\ndef tools(name: str):\n    origin = f'repository {name}' if name else 'repository'\n    return ToolDef(name='a', description='d', input=Page, handler=page, untrusted_output=origin)\n",  # noqa: E501
            "untrusted_output='web'",
        ),
    ),
    Case(
        "a constant",
        tool(
            "ORIGIN = 'web page'\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output=ORIGIN",
        ),
    ),
    Case(
        "a function",
        tool(
            "def origin(request: Page) -> str:\n    return request.url\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",  # noqa: E501
            "untrusted_output=origin",
        ),
    ),
    Case(
        "a constant joined to another",
        tool(
            "SITE = 'example'\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output='page of ' + SITE",
        ),
    ),
    Case(
        "one of two origins",
        tool(
            "import sys\n\ndef page(request: Page) -> str:\n    return httpx.get(request.url).text\n",
            "untrusted_output='a' if sys.flags.debug else 'b'",
        ),
    ),
)
