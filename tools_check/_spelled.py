"""Tools of frameworks that nobody described: a decorator that is called `tool`, or a record that holds a function beside a
name, a description and a schema of its parameters.

Everything else is known by its resolved name. Here nothing is resolved (a server that comes in without a type, a registry of
the project's own), and a tool that is missing from the list is worse than one that stands in it under a doubtful style.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tools_check import _call, _classes, _fields, _frameworks, _invoke
from tools_check._catalog import KEPT_CLIENTS
from tools_check._ir import Node, walk
from tools_check._run import Run, definition_of
from tools_check._values import EMPTY, Cls, Data, Ext, Func, Method, Partial, Value, Wrapped, join, of, sorted_refs

STYLE: Final = "by-name"
DECORATORS: Final = frozenset(
    {"tool", "tool_plain", "function_tool", "kernel_function", "ai_function", "mcp_tool", "agent_tool", "llm_tool",
     "register_tool", "tool_api", "tool_method", "as_tool", "define_tool", "tool_function"}
)  # fmt: skip
GIVERS: Final = frozenset({"add_tool", "register_tool", "add_function_tool"})

DESCRIPTIONS: Final = frozenset({"description", "desc", "purpose"})
SCHEMAS: Final = frozenset(
    {"parameters", "params", "param_model", "params_model", "parameters_schema", "params_json_schema", "input_schema",
     "inputSchema", "input_model", "args_schema", "args_model", "schema", "json_schema"}
)  # fmt: skip
FUNCTIONS: Final = frozenset(
    {"function", "func", "fn", "handler", "callable", "callback", "coroutine", "entrypoint", "execute", "executor",
     "implementation", "method", "run", "invoke", "call"}
)  # fmt: skip


def decorated(run: Run, named: Node, target: Value, value: Value, func: Func) -> None:
    """A definition under a decorator that is called `tool`, unless it is known as a tool already."""
    if run.frameworks is None or (func.module, func.at) in listed(run):
        return
    if last_name(named) in DECORATORS or any(spelled(run, ref) in DECORATORS for ref in sorted_refs(target)):
        here = (func.module, func.at)
        stands = [
            item
            for item in _frameworks.functions_in(value)
            if any((place.module, place.at) == here for ref in item.refs for place in _frameworks.targets_of(run, ref))
        ]
        # Where a decorator makes a record of a function, the function is the tool and not what the record calls.
        _frameworks.record(run, STYLE, join(*stands) if stands else of(func), original=func)


def called(run: Run, node: Node, values: Iterable[Value]) -> Value | None:
    """What `server.add_tool(f)` or `server.tool(...)`, on a thing of which nothing is known, gives where it makes a tool."""
    if run.frameworks is None or node[0] != "a":
        return None
    if node[2] in GIVERS:
        for value in values:
            for item in _frameworks.functions_in(value):
                note(run, item)
    if node[2] not in DECORATORS:
        return None
    for value in values:
        functions = _frameworks.functions_in(value)
        for item in functions:
            note(run, item)
        if functions:
            return value
    return of(Method("registrar", STYLE, Value()))


def described(run: Run, fields: Mapping[str, Value]) -> None:
    """A record of a function, its name, what it does and what it takes."""
    if run.frameworks is None or "name" not in fields:
        return
    if DESCRIPTIONS.isdisjoint(fields) or SCHEMAS.isdisjoint(fields):
        return
    for key in sorted(FUNCTIONS & fields.keys()):
        for item in _frameworks.functions_in(fields[key]):
            note(run, item)


# What is called so and is nowhere made is a client, by its class or by the name that is short for it.
SHORT: Final = {"conn": "Connection", "db": "Database"}
MODELS: Final = frozenset(
    {"model_validate", "model_validate_json", "model_dump", "model_dump_json", "model_copy", "model_construct",
     "model_json_schema", "parse_obj", "parse_raw"}
)  # fmt: skip


def member(run: Run, node: Node, name: str, base: Value) -> Value:
    """A member of a thing of which nothing is known but what its variable is called."""
    if name in MODELS:
        return of(Method("ext", f"pydantic.BaseModel.{name}", base))
    called = last_name(node).strip("_").rpartition("_")[2]
    cls = SHORT.get(called) or next((c for c in run.catalog.clients if c.lower() == called), None)
    return of(Method("ext", f"{cls}.{name}", base)) if cls is not None else EMPTY


def named_member(run: Run, node: Node, found: Value) -> Value:
    """A member of a thing of a library without a table: one that is kept as a client is one, whatever its class is called."""
    called = last_name(node).lstrip("_")
    if called not in KEPT_CLIENTS or found.labels:
        return found
    refs = frozenset(named(run, called, ref) for ref in found.refs)
    return found if refs == found.refs else Value(found.labels, refs, found.consts, exact=found.exact)


def named(run: Run, called: str, ref: object) -> object:
    if not isinstance(ref, Method) or ref.kind != "ext" or run.catalog.call(ref.name).kind != "unknown":
        return ref
    owner, _, name = ref.name.rpartition(".")
    return Method("ext", f"{owner}.{called}.{name}", ref.receiver)


# What somebody is given who is to talk to a service: a key to it, or where it is.
ACCESS: Final = re.compile(
    r"(?:\w*_)?(?:api_?key|api_?token|access_?token|auth_?token|bearer_?token|access_?key|api_?secret|client_?secret|password"
    r"|credentials?|base_?url|api_?url|server_?url|api_?base|dsn|connection_string)|token|auth|host|hostname|ip|port|endpoint",
    re.IGNORECASE,
)


def signed_in(run: Run, func: Value, nodes: tuple[Node, ...], args: _call.Args, made: Value) -> None:
    """A thing of a library without a table that is made with a key or an address is a client, whatever its class is."""
    names = {ref.qname for ref in func.refs if isinstance(ref, Ext)}
    fresh = [obj for obj in made.objects() if obj.kind == "ext" and obj.cls in names]
    if not fresh or not (
        any(ACCESS.fullmatch(name) for name, _ in args.keywords)
        or any(is_access(keyword, node) for _, keyword, node in nodes)
    ):
        return
    for obj in fresh:
        if run.catalog.library(str(obj.cls)) is None:
            obj.cls = f"{obj.cls}.client"


def is_access(keyword: str | None, node: Node) -> bool:
    """Whether an argument is called as a key or an address is: by keyword, by variable, or by the setting it comes from."""
    words = [keyword or last_name(node), *(str(n[1]) for n in walk(node) if n[0] == "k" and isinstance(n[1], str))]
    return any(ACCESS.fullmatch(word) for word in words)


BASES: Final = frozenset({"Tool", "BaseTool", "AbstractTool", "ToolBase", "ToolInterface"})
BASE: Final = re.compile(r"_?(?:Base|Abstract|I)?\w*(?:Tool|Skill)(?:Base|Handler|Interface|Protocol|Plugin|Executor)?")
FAMILY: Final = re.compile(r"[._]")  # what the packages of a family have in common stands before it
METHODS: Final = (
    "run", "_run", "arun", "_arun", "run_async", "execute", "_execute", "aexecute", "invoke", "ainvoke", "call", "acall",
    "__call__", "forward", "handle", "run_tool", "call_tool", "execute_tool", "handle_call",
)  # fmt: skip


def is_base(name: str) -> bool:
    """Whether a class is called as a base of tools is: `Tool`, `ToolHandler`, `BaseSearchTool`."""
    return BASE.fullmatch(name) is not None


def inherited(run: Run, cls: Cls, ours: list[Cls], outside: list[str]) -> None:
    """A class under a framework's base that is not among the files, or under a base of the project's own that is called a
    tool and leaves open what running it does.
    """
    own = run.class_env[cls]
    for name in outside:
        framework = absent(run, name, run.frameworks.bases, own) or kin(run, name, own)
        if framework is not None:
            for method in framework.methods:
                if method in own:
                    _frameworks.record_method(run, framework.style, cls, method)
            return
    for base in ours:
        module = run.project.module(base.module)
        if module is None or not is_base(module.ir.classes[base.at].name):
            continue
        for method in METHODS:
            left = _classes.find_method(run, base, method) if method in own else None
            if left is not None and (written := definition_of(run, left)) is not None and _invoke.is_stub(written):
                _frameworks.record_method(run, STYLE, cls, method)


def absent(
    run: Run, name: str, known: Mapping[str, _frameworks.Framework], own: Mapping[str, Value] | None = None
) -> _frameworks.Framework | None:
    """The framework of a base class that is neither among the files nor known by its full name, but by its last one.

    A library that has a table in the catalogue is another library: its `Tool` is not the framework's.
    """
    if name in known or run.catalog.library(name) is not None:
        return None
    short = name.rpartition(".")[2]
    for full, framework in known.items():
        if full.rpartition(".")[2] == short and (own is None or not own.keys().isdisjoint(framework.methods)):
            return framework
    return None


def kin(run: Run, name: str, own: Mapping[str, Value]) -> _frameworks.Framework | None:
    """The framework of a tool's class that another package of its family has: `langchain_files.tools.FileTool`."""
    if not name.endswith("Tool"):
        return None
    family = FAMILY.split(name, maxsplit=1)[0]
    known: Mapping[str, _frameworks.Framework] = run.frameworks.bases
    for full, framework in known.items():
        if FAMILY.split(full, maxsplit=1)[0] == family and not own.keys().isdisjoint(framework.methods):
            return framework
    return None


def given(
    run: Run, cls: Cls, positional: tuple[Value, ...], keywords: tuple[tuple[str, Value], ...]
) -> dict[str, Value]:
    """What a constructor is given, by the names of its parameters or fields."""
    if not positional:
        return dict(keywords)
    init = _classes.find_method(run, cls, "__init__")
    module = run.project.module(init.module) if init is not None else None
    if init is not None and module is not None:
        names = [p.name for p in module.ir.defs[init.at].params[1:] if p.kind == "p"]
    else:
        names = [name for name, _, _ in _fields.fields(run, cls)]
    return dict(zip(names, positional, strict=False)) | dict(keywords)


def note(run: Run, value: Value) -> None:
    known = listed(run)
    for ref in sorted_refs(value):
        places = _frameworks.targets_of(run, ref) if isinstance(ref, Func | Partial | Wrapped) else []
        if any((place.module, place.at) not in known for place in places):
            _frameworks.record(run, STYLE, of(ref))


def listed(run: Run) -> set[tuple[str, int]]:
    """The definitions that are tools already, under any style."""
    found = (tool.definition for tool in run.tools.values())
    return {(place.module, place.at) for place in found if place is not None}


def is_unknown(value: Value) -> bool:
    """Whether nothing is known of what is called, but perhaps what an unknown call gave."""
    return all(isinstance(r, Data) or (isinstance(r, Method) and r.kind == "data") for r in value.refs)


def spelled(run: Run, ref: object) -> str:
    if isinstance(ref, Func):
        return (_frameworks.name_of(run, ref) or "").rpartition(".")[2]
    return ref.qname.rpartition(".")[2] if isinstance(ref, Ext) else ""


def last_name(node: Node) -> str:
    return str(node[2]) if node[0] == "a" else str(node[1]) if node[0] == "n" else ""
