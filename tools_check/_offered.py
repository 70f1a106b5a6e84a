"""Tools by the place where a project offers them to a model: a list or map that is called `tools`, a schema with a function's
name, a registry's decorator, a class that describes itself, a method that lists what a kit can do.

Nothing here is a framework's name. One sign alone that other code has too (a decorator called `command`, a class called a
plugin, a list of functions) makes no tool: there must be a word for tools beside it, or what a model needs to call one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from tools_check import _call, _classes, _eval, _fields, _frameworks, _invoke, _kept, _names, _spelled
from tools_check._ir import GENERATOR, Def, Node, walk
from tools_check._link import Module, last_name
from tools_check._run import Frame, Run, definition_of
from tools_check._values import (
    Cls,
    Ext,
    Func,
    Method,
    Obj,
    Partial,
    Value,
    Wrapped,
    of,
    sorted_refs,
)

WORDS: Final = "tool|skill|capabilit|abilit"
# A variable, attribute, parameter or keyword that holds tools, by its name.
HOLDERS: Final = re.compile(
    r"_*(?:\w+_)?(?:tools|skills|abilities|capabilities)(?:_?(?:list|map|mapping|dict|by_name|registry|functions|funcs|table))?"
    r"|_*(?:\w+_)?(?:tool|skill)_?(?:list|map|mapping|dict|functions|funcs|fns|registry|handlers|executors|table|impls|"
    r"implementations|dispatch|callables)",
    re.IGNORECASE,
)
FUNCTION_TAKERS: Final = r"|function_?(?:registry|manager|map|call|executor|hub|set|store|table)"
TAKERS: Final = re.compile(WORDS + FUNCTION_TAKERS, re.IGNORECASE)
MORE_TAKERS: Final = re.compile(WORDS + FUNCTION_TAKERS + r"|agent|llm|assistant|chat|model|kernel", re.IGNORECASE)
WORD: Final = re.compile(WORDS, re.IGNORECASE)
# The last name of a class or function that stands for one tool, or makes it: `ToolSpec`, `FunctionTool`, `StructuredTool`.
RECORDS: Final = re.compile(
    r"_?(?:[A-Z]\w*)?(?:Tool|Skill)(?:Spec|Definition|Def|Info|Entry|Descriptor|Config|Function)?"
)
AGENTS: Final = re.compile(r"Agent|Assistant|Swarm|Tool|Skill|Chat|Bot|LLM")
KITS: Final = re.compile(r"\w*(?:Tools|Toolkit|ToolKit|Toolset|ToolSet|Toolbox|ToolBox|Skills)")
FUNCTION_LISTS: Final = frozenset({"functions", "funcs", "function_list"})

# What a file mentions in which tools may be offered.
TEXT: Final = (
    rb"(?:\b|_)(?:tools|TOOLS|Tools|skills|SKILLS|capabilities|abilities)\b|(?:\b|_)(?:tool|TOOL|skill)_\w|_tool\b"
    rb"|\bTool[A-Z]\w|\w(?:Skill|Toolbox|ToolBox)\b"
    rb"|\b(?:input_schema|inputSchema|args_schema|get_parameters|param_model|register_functions?|register_from_class)\b"
    rb"|[\"']parameters[\"']|\bfunctions ?= ?\["
    rb"|@[\w.]*\b(?:register|action|skill|ability|capability|command|function|expose|export|plugin)\b"
)
REGISTERING: Final = frozenset(
    {"register", "action", "skill", "ability", "capability", "command", "function", "expose", "export", "add", "plugin",
     "register_function", "register_action", "register_skill", "register_command", "register_capability",
     "register_ability"}
)  # fmt: skip
GIVERS: Final = frozenset(
    {"register", "add", "register_function", "register_functions", "add_function", "add_functions", "register_from_class",
     "register_class", "register_instance", "register_object", "register_method", "from_function", "register_skill",
     "add_skill", "register_action", "add_action", "register_capability", "register_ability"}
)  # fmt: skip
SURE: Final = frozenset({"add_tool", "add_tools", "register_tool", "register_tools", "add_function_tool", "bind_tools"})
HOOKS: Final = frozenset({"register_tools", "register_functions", "register_skills"})
LISTERS: Final = frozenset(
    {"get_tools", "as_tools", "to_tools", "to_tool_list", "get_tool_list", "get_all_tools", "all_tools", "create_tools",
     "make_tools", "build_tools", "load_tools", "list_tools", "get_tool_functions", "tool_functions", "tools",
     "available_tools", "get_available_tools", "default_tools", "get_default_tools", "get_skills"}
)  # fmt: skip

METHODS: Final[tuple[str, ...]] = (
    "run", "arun", "run_async", "execute", "aexecute", "execute_async", "invoke", "ainvoke", "call", "acall", "run_tool",
    "call_tool", "execute_tool", "handle", "forward", "handle_call",
)  # fmt: skip
INNER: Final[tuple[str, ...]] = ("_run", "_arun", "_execute", "_call", "__call__")
METHOD_NAMES: Final = frozenset((*METHODS, *INNER))
SAYS: Final = frozenset({"description", "desc", "get_description"})
TAKES: Final = _spelled.SCHEMAS | frozenset(
    {"get_parameters", "get_schema", "get_input_schema", "get_args_schema", "get_tool_description", "get_tool_definition",
     "tool_definition", "to_openai", "to_openai_tool", "to_openai_function", "function_schema", "get_parameters_schema",
     "get_function_schema", "tool_schema", "get_tool_schema", "input_type", "args_type"}
)  # fmt: skip
SCHEMA_WORDS: Final = frozenset({"parameters", "input_schema", "inputSchema", "parametersJsonSchema", "args_schema"})
BEFORE: Final = (
    "", "_", "tool_", "_tool_", "do_", "_do_", "handle_", "_handle_", "execute_", "_execute_", "run_", "_run_", "call_",
    "_call_", "on_", "exec_", "_exec_", "cmd_", "impl_", "_impl_",
)  # fmt: skip
AFTER: Final = ("", "_tool", "_handler", "_impl")
ROUTES: Final = frozenset({"post", "get", "put", "route", "api_route"})
OFFERED_PATH: Final = re.compile(r"(?:^|/)(?:tools?|functions?|skills?)(?:/|$)")
MARKS: Final = re.compile(r"_*(?:is_|as_|llm_|ai_|agent_|function_)?(?:tool|skill|capability)(?:_\w+)?_*")


# -- by the name of what holds them


@lru_cache(maxsize=4096)
def holds(name: str) -> bool:
    """Whether a name is one of a collection of tools."""
    return HOLDERS.fullmatch(name) is not None


def held(run: Run, name: str, value: Value) -> None:
    """Something that is called `tools` holds these."""
    if run.frameworks is not None and value.refs and holds(name):
        note_all(run, value)


def looped(run: Run, frame: Frame, node: Node) -> None:
    """`tools=[schema_of(f) for f in functions]`: the functions that such a list is made of."""
    for _, iterated, _ in node[4]:
        item = _eval.iterate(run, frame, _eval.evaluate(run, frame, iterated))
        parts = [item, *(child for obj in item.objects() if obj.kind == "tuple" for child in obj.children())]
        for part in parts:
            note_items(run, Value(refs=frozenset(functions_of(part))))


def note_all(run: Run, value: Value, depth: int = 0) -> None:
    """The tools in a collection of them."""
    for obj in value.objects():
        if obj.kind in ("list", "tuple", "set", "dict") and depth < 3:
            for key, child in [*obj.fields.items(), (None, obj.elem)]:
                if depth and obj.kind == "dict" and key not in _spelled.FUNCTIONS:
                    continue  # a tool's own record
                note_items(run, child)
                note_all(run, child, depth + 1)


def note_items(run: Run, value: Value) -> None:
    """One item of a collection of tools: a function, a thing that runs, or its class."""
    if any(isinstance(r, Func) and (d := definition_of(run, r)) is not None and d.name in LISTERS for r in value.refs):
        return  # a thing that looks at itself: `listed_by`
    for item in _frameworks.functions_in(Value(refs=frozenset(r for r in value.refs if not isinstance(r, Obj)))):
        _spelled.note(run, item)
    for ref in sorted_refs(value):
        if isinstance(ref, Obj) and ref.kind == "inst":
            note_class(run, ref.cls)
        elif isinstance(ref, Cls):
            note_class(run, ref)


def note_class(run: Run, cls: Any, *, whole: bool = False) -> None:
    """A class whose instances are given away as tools."""
    if not isinstance(cls, Cls) or cls not in run.class_env or is_known(run, cls):
        return
    module = run.project.module(cls.module)
    name = module.ir.classes[cls.at].name if module is not None else ""
    own = run.class_env[cls]
    chosen = [m for m in METHODS if m in own] or [m for m in INNER if m in own]
    if whole or (not chosen and KITS.fullmatch(name)):
        chosen = public_methods(run, cls)
    for method in chosen:
        note_method(run, cls, method)


def is_known(run: Run, cls: Cls) -> bool:
    """Whether a framework's table says what of a class is a tool."""
    ours, outside = _classes.mro(run, cls)
    names = (run.frameworks.bases, run.frameworks.toolkits)
    if any(c in run.base_classes or c in run.toolkit_classes for c in ours):
        return True
    return any(
        base in known or _spelled.absent(run, base, known) is not None for base in outside for known in names
    ) or _classes.is_enum(run, cls)


def note_method(run: Run, cls: Cls, name: str) -> None:
    method = _classes.find_method(run, cls, name)
    written = definition_of(run, method) if method is not None else None
    if method is None or written is None or _invoke.is_stub(written) or _classes.kind_of(written) == "property":
        return
    if (method.module, method.at) not in _spelled.listed(run):
        me = of(cls) if _classes.kind_of(written) == "class" else _classes.typed_instance(run, cls)
        _frameworks.record(run, _spelled.STYLE, of(_classes.bind(method, me)))


def public_methods(run: Run, cls: Cls) -> list[str]:
    """The methods that a class itself offers to anybody."""
    module = run.project.module(cls.module)
    if module is None:
        return []
    found = [module.ir.defs[i] for i in module.methods(cls.at)]
    return [d.name for d in found if d.name[:1] != "_" and d.name not in LISTERS and is_plain(d)]


def is_plain(written: Def) -> bool:
    return _classes.kind_of(written) in ("method", "static", "class")


# -- by what they are given to


def given(run: Run, frame: Frame, node: Node, func: Value, args: _call.Args) -> None:
    """A call whose arguments are tools: `Agent(tools=[...])`, `registry.register(f)`, `ToolSpec(execute=f)`."""
    if any(isinstance(ref, Ext) and ref.qname.startswith("registry.") for ref in func.refs):
        return  # ours: they have their own style
    for name, value in args.keywords:
        held(run, name, value)
    for _, keyword, value in node[3]:
        if keyword and value[0] == "C" and holds(keyword):
            looped(run, frame, value)
    callee = node[2]
    short = last_name(callee)
    if short in SURE or (short in GIVERS and callee[0] == "a" and is_taker(short, spelled(run, callee, func))):
        for value in args.values():
            note_all(run, of_list(value))
            given_classes(run, short, value)
    elif callee[0] == "a" and short in ("append", "extend", "add", "update", "insert", "setdefault"):
        if holds(last_name(callee[1])):
            for value in args.values():
                note_all(run, of_list(value))
    elif callee[0] == "n" and is_hook(frame, short):
        for value in args.positional:
            note_items(run, value)
    elif RECORDS.fullmatch(record := short if short[:1].isupper() else record_name(callee)) or AGENTS.search(record):
        for name, value in args.keywords:
            if name in FUNCTION_LISTS:
                note_all(run, value)
        if RECORDS.fullmatch(record):
            functions = functions_given(run, func, args)
            for value in functions:
                for item in _frameworks.functions_in(Value(refs=frozenset(functions_of(value)))):
                    _spelled.note(run, item)


def functions_given(run: Run, func: Value, args: _call.Args) -> list[Value]:
    """What a record of a tool is made with in the places of its function."""
    out = [v for name, v in args.keywords if name in _spelled.FUNCTIONS]
    known = [ref for ref in sorted_refs(func) if isinstance(ref, Cls)]
    for cls in known:
        fields = _spelled.given(run, cls, args.positional, args.keywords)
        out += [v for name, v in fields.items() if name in _spelled.FUNCTIONS]
    return out if known else out + list(args.positional[:3])


def is_taker(method: str, receiver: str) -> bool:
    """Whether what is registered there is a tool, by what it is registered with."""
    return (TAKERS if method in ("register", "add") else MORE_TAKERS).search(receiver) is not None


def functions_of(value: Value) -> Iterator[Any]:
    return (ref for ref in value.refs if isinstance(ref, Func | Partial | Wrapped))


def of_list(value: Value) -> Value:
    """A collection with the value as its one item, unless it is a collection itself."""
    if any(o.kind in ("list", "tuple", "set", "dict") for o in value.objects()):
        return value
    obj = Obj("list")
    obj.elem = value
    return of(obj)


def looks_at_itself(run: Run, items: Iterable[Value]) -> bool:
    """Whether functions were found by looking through a thing of which one runs right now: the rest is no tool either."""
    running = {(f.module.name, f.definition.ordinal) for f in run.stack if f.definition is not None}
    refs = [ref for item in items for ref in item.refs if isinstance(ref, Func)]
    return any((r.module, d.ordinal) in running for r in refs if (d := definition_of(run, r)) is not None)


def given_classes(run: Run, short: str, value: Value) -> None:
    """`register_from_class(Files)`: every public method of it."""
    if "class" not in short and "instance" not in short and "object" not in short:
        return
    for ref in sorted_refs(value):
        cls = ref.cls if isinstance(ref, Obj) and ref.kind == "inst" else ref
        note_class(run, cls, whole=True)


def record_name(callee: Node) -> str:
    """`Tool.from_function`: the class."""
    return last_name(callee[1]) if callee[0] == "a" and last_name(callee).startswith(("from_", "create")) else ""


def spelled(run: Run, callee: Node, func: Value) -> str:
    """How the thing is called whose method is called, and what its class is."""
    out = [last_name(callee[1][2] if callee[1][0] == "x" else callee[1])]
    for ref in sorted_refs(func):
        if isinstance(ref, Func):
            written = definition_of(run, ref)
            out.append(written.qualname if written is not None else "")
        elif name := _frameworks.name_of(run, ref):
            out.append(".".join(name.split(".")[-2:]))
        if isinstance(ref, Func) and ref.self_value is not None:
            classes = (o.cls for o in ref.self_value.objects() if isinstance(o.cls, Cls))
            out.extend(n.rpartition(".")[2] for c in classes if (n := _frameworks.name_of(run, c)))
    return " ".join(out)


def is_hook(frame: Frame, name: str) -> bool:
    """Whether a function that registers tools calls what it was given for that."""
    written = frame.definition
    return written is not None and written.name in HOOKS and any(p.name == name for p in written.params)


# -- by what they stand under


def decorated(run: Run, named: Node, target: Value, args: _call.Args | None, value: Value, func: Func) -> None:
    """A definition under a decorator of the project's own, or of a registry of tools."""
    if run.frameworks is None or (func.module, func.at) in _spelled.listed(run):
        return
    if is_marking(run, target) or is_registering(run, named, target) or is_route(target, args):
        _frameworks.record(run, _spelled.STYLE, value if _frameworks.functions_in(value) else of(func), original=func)


def is_marking(run: Run, target: Value) -> bool:
    """Whether a decorator of the project leaves a mark of a tool on what it decorates."""
    for ref in sorted_refs(target):
        module = run.project.module(ref.module) if isinstance(ref, Func) else None
        for index in inside(module, ref.at) if module is not None else ():
            assert module is not None
            params = set[str]().union(*({p.name for p in module.ir.defs[i].params} for i in inside(module, ref.at)))
            if any(marks(node, params) for node in walk(module.ir.defs[index].body)):
                return True
    return False


def marks(node: Node, params: set[str]) -> bool:
    """`func._is_tool = True`, `setattr(func, "__tool__", ...)`."""
    if isinstance(node[0], int) and node[1] == "=":
        targets = [t for t in node[2] if t[0] == "a" and t[1][0] == "n"]
        return any(MARKS.fullmatch(t[2]) and (t[1][1] in params or t[1][1].startswith("wrap")) for t in targets)
    if node[0] == "x" and len(node) == 4 and node[2] == ("n", "setattr") and len(node[3]) > 1:
        key = node[3][1][2]
        return key[0] == "k" and isinstance(key[1], str) and MARKS.fullmatch(key[1]) is not None
    return False


def inside(module: Module, at: int) -> list[int]:
    """A function and those that are written in it."""
    out = [at]
    for index, d in enumerate(module.ir.defs):
        if d.parent in out:
            out.append(index)
    return out


def is_registering(run: Run, named: Node, target: Value) -> bool:
    """`@registry.register`, `@action`, `@command(...)` where something beside it says that a model calls the function."""
    short = last_name(named)
    if short not in REGISTERING:
        return False
    owner = last_name(named[1][2] if named[1][0] == "x" else named[1]) if named[0] == "a" else short
    if WORD.search(owner) or (named[0] == "a" and WORD.search(spelled(run, named, target))):
        return True
    return any(isinstance(ref, Func) and takes_schema(run, ref) for ref in sorted_refs(target))


def takes_schema(run: Run, func: Func) -> bool:
    """Whether a decorator of the project is told, or finds out, what a function does and what it takes."""
    module = run.project.module(func.module)
    if module is None:
        return False
    names: set[str] = set()
    for index in inside(module, func.at):
        names |= {p.name for p in module.ir.defs[index].params} | module.spoken()[index].mentioned
        names |= {c.rstrip("=") for c in module.spoken()[index].called}
    return not SAYS.isdisjoint(names) and not (TAKES | {"signature", "get_type_hints"}).isdisjoint(names)


def is_route(target: Value, args: _call.Args | None) -> bool:
    """`@app.post("/tools/search")`."""
    if args is None or not any(OFFERED_PATH.search(p) for v in args.positional[:1] for p in v.strings()):
        return False
    return any(
        isinstance(ref, Method) and ref.kind == "ext" and ref.name.rpartition(".")[2] in ROUTES
        for ref in sorted_refs(target)
    )


# -- by a schema that has their name


def schema(run: Run, frame: Frame, fields: Mapping[Any, Value]) -> None:
    """A name, what it does and what it takes: the description of a function for a model."""
    if run.frameworks is None or "name" not in fields:
        return
    if _spelled.DESCRIPTIONS.isdisjoint(fields) or _spelled.SCHEMAS.isdisjoint(fields):
        return
    if not fields["name"].labels:
        for name in fields["name"].strings():
            run.described.setdefault(name, set()).add(frame.module.name)


def mapped(run: Run, frame: Frame, fields: Mapping[Any, Value]) -> None:
    """A dict of functions by name, which may be the functions of schemas."""
    if any(isinstance(r, Func | Partial) for v in fields.values() for r in v.refs):
        run.maps[frame.module.name, frame.ordinal] = dict(fields)


# -- by a class that describes itself, or lists its tools


def self_described(run: Run, cls: Cls) -> None:
    """A class with a name, a description and a schema, and a method that runs it."""
    own = run.class_env[cls]
    chosen = [m for m in METHODS if m in own] or [m for m in INNER if m in own]
    if not chosen or is_known(run, cls):
        return
    ours = _classes.mro(run, cls)[0]
    names = {n for c in ours for n in run.class_env.get(c, {})} | {f[0] for f in _fields.fields(run, cls)}
    names |= {n for c in ours for n in set_by_init(run, c)}
    if names.isdisjoint({"name", "tool_name", "get_name"}) or SAYS.isdisjoint(names) or TAKES.isdisjoint(names):
        return
    for method in chosen:
        note_method(run, cls, method)


def below_a_kit(run: Run, cls: Cls, outside: list[str]) -> None:
    """A class below what a library calls a toolbox or a set of tools offers its public methods, unless it lists or marks
    some of them.
    """
    own = run.class_env[cls]
    if not any(KITS.fullmatch(base.rpartition(".")[2]) for base in outside) or is_known(run, cls):
        return
    module = run.project.module(cls.module)
    known = _spelled.listed(run)
    if module is None or any((cls.module, i) in known for i in module.methods(cls.at)) or not LISTERS.isdisjoint(own):
        return
    for name in public_methods(run, cls):
        note_method(run, cls, name)


def set_by_init(run: Run, cls: Cls) -> set[str]:
    """The attributes that a constructor gives an instance."""
    module = run.project.module(cls.module)
    own = [module.ir.defs[i] for i in module.methods(cls.at)] if module is not None else []
    init = next((d for d in own if d.name == "__init__"), None)
    if init is None or not init.params:
        return set()
    me = ("n", init.params[0].name)
    return {
        t[2]
        for node in walk(init.body)
        if isinstance(node[0], int) and node[1] in ("=", "ann")
        for t in (node[2] if node[1] == "=" else (node[2],))
        if t[0] == "a" and t[1] == me
    }


def module_offers(run: Run, module: Module) -> None:
    """What a module, and each of its classes, holds under a name of tools, and what its listers give."""
    for name, value in list(module.env.items()):
        held(run, name, value)
    for index in range(len(module.ir.classes)):
        for name, value in list(run.class_env.get(Cls(module.name, index), {}).items()):
            held(run, name, value)
    named_in_strings(run, module)
    listers(run, module)


def named_in_strings(run: Run, module: Module) -> None:
    """A module's collection of tools may name classes and functions by where they are: `"pkg.search.Search"`."""
    for statement in module.ir.body:
        targets = statement[2] if statement[1] == "=" else (statement[2],) if statement[1] == "ann" else ()
        value = statement[3] if statement[1] == "=" else statement[4] if statement[1] == "ann" else None
        if value is None or not any(t[0] == "n" and holds(t[1]) for t in targets):
            continue
        for node in walk(value):
            if node[0] == "k" and isinstance(node[1], str):
                note_path(run, module, node[1])
            elif node[0] in ("t", "l") and len(node[1]) == 2 and all(i[0] == "k" for i in node[1]):
                note_path(run, module, ".".join(str(i[1]) for i in node[1]))


PATH: Final = re.compile(r"\.*\w+(?:\.\w+)*[.:]\w+")


def note_path(run: Run, module: Module, text: str) -> None:
    """What a path names, where it is among the files: a class with all that it offers, or a function."""
    if not PATH.fullmatch(text):
        return
    place, name = re.split(r"[.:](?=\w+$)", text)
    level = len(place) - len(place.lstrip("."))
    place = run.project.absolute(module, level, place[level:])
    if run.project.module(place) is None:
        return
    value = _names.member(run, place, name)
    note_items(run, Value(refs=frozenset(functions_of(value))))
    for ref in sorted_refs(value):
        if isinstance(ref, Cls):
            note_class(run, ref, whole=METHOD_NAMES.isdisjoint(run.class_env.get(ref, ())))


def listers(run: Run, module: Module) -> None:
    """Functions and methods that give the list of a kit's tools."""
    for index, written in enumerate(module.ir.defs):
        if written.name not in LISTERS or written.flags & GENERATOR or written.parent >= 0:
            continue
        if "ToolDef" in module.spoken()[index].mentioned:
            continue  # ours: they have their own style
        if written.owner < 0:
            value = _invoke.call_with_types(run, Frame(module, None, None), Func(module.name, index, None, None, None))
            note_all(run, value)
            continue
        cls = Cls(module.name, written.owner)
        if cls not in run.class_env or is_known(run, cls):
            continue
        for one in [cls, *below(run, cls)]:
            listed_by(run, module, one, written)


def listed_by(run: Run, module: Module, cls: Cls, written: Def) -> None:
    """What one class lists; what it finds by looking at itself is all that it has, and the rest is not asked for."""
    method = _classes.find_method(run, cls, written.name)
    if method is None or is_known(run, cls) or _classes.kind_of(written) == "static":
        return
    me = of(cls) if _classes.kind_of(written) == "class" else _classes.typed_instance(run, cls)
    value = _invoke.call_with_types(run, Frame(module, None, None), _classes.bind(method, me))
    functions = [r for v in functions_below(value) for r in sorted_refs(v) if isinstance(r, Func)]
    if not any((r.module, r.at) == (method.module, method.at) for r in functions):
        note_all(run, value)
        return
    known = _spelled.listed(run)
    found = run.project.module(cls.module)
    mine = [(cls.module, i) for i in found.methods(cls.at)] if found is not None else []
    if not any(place in known for place in mine) and (cls != method.owner or not below(run, cls)):
        for name in public_methods(run, cls):
            note_method(run, cls, name)


def functions_below(value: Value, depth: int = 0) -> Iterator[Value]:
    yield value
    for obj in value.objects():
        if depth < 3 and obj.kind in ("list", "tuple", "set", "dict"):
            for child in (*obj.fields.values(), obj.elem):
                yield from functions_below(child, depth + 1)


def below(run: Run, cls: Cls) -> list[Cls]:
    """The classes that inherit from one, at most thirty."""
    out: list[Cls] = []
    todo = list(run.children.get(cls, ()))
    while todo and len(out) < 30:
        child = todo.pop(0)
        if child not in out:
            out.append(child)
            todo.extend(run.children.get(child, ()))
    return out


def unfold(run: Run) -> None:
    """A tool by its decorator alone that only makes a function and gives it stands for that one."""
    for key, tool in list(run.tools.items()):
        place = tool.definition
        module = run.project.module(place.module) if place is not None and tool.style == _spelled.STYLE else None
        if place is None or module is None or not gives_a_function(module, place.at):
            continue
        made = _invoke.call_with_types(run, Frame(module, None, None), place)
        inner = [r for r in sorted_refs(made) if isinstance(r, Func) and r.env is not None]
        if inner:
            del run.tools[key]
            _frameworks.record(run, tool.style, of(*inner))


def gives_a_function(module: Module, at: int) -> bool:
    """Whether all that a function returns are functions which are written in it."""
    names = {d.name for d in module.ir.defs if d.parent == at and d.owner < 0}
    given = [n[2] for n in walk(module.ir.defs[at].body) if isinstance(n[0], int) and n[1] == "r"]
    return bool(names and given) and all(g is not None and g[0] == "n" and g[1] in names for g in given)


# -- which functions must be followed to see all that


def offering(module: Module) -> set[int]:
    """The functions of a module in which tools are offered."""
    out: set[int] = set()
    for index, spoken in enumerate(module.spoken()):
        written = module.ir.defs[index]
        if (
            written.name in HOOKS
            or is_schema_text(spoken.mentioned)
            or any(c in SURE or c in GIVERS or (c[:1].isupper() and RECORDS.fullmatch(c)) for c in spoken.called)
            or (
                (any(c[-1:] == "=" and holds(c[:-1]) for c in spoken.called) or any(map(holds, spoken.mentioned)))
                and any(displays(node) for node in walk(written.body))
            )
            or (
                not _kept.STATES.isdisjoint(spoken.mentioned)
                and any(_kept.is_kept(node) for node in walk(written.body))
            )
        ):
            out.add(index)
    return out


def is_schema_text(mentioned: Iterable[str]) -> bool:
    names = frozenset(mentioned)
    return {"name", "description"} <= names and not SCHEMA_WORDS.isdisjoint(names)


DISPLAYS: Final = ("l", "d", "t", "C", "b", "S")


def displays(node: Node) -> bool:
    """Whether tools are put together here: a list or dict under such a name, as a variable or as an argument."""
    tag = node[0]
    if isinstance(tag, int):
        if node[1] not in ("=", "ann"):
            return False
        targets = node[2] if node[1] == "=" else (node[2],)
        value: Node | None = node[3] if node[1] == "=" else node[4]
        if value is None or value[0] not in DISPLAYS:
            return False
        return any(t[0] in ("n", "a") and holds(last_name(t)) for t in targets)
    if tag != "x" or len(node) != 4:
        return False
    if node[2][0] == "a" and node[2][2] in ("append", "extend", "update") and holds(last_name(node[2][1])):
        return True
    return any(kw and (holds(kw) or kw in FUNCTION_LISTS) and v[0] in DISPLAYS for _, kw, v in node[3])
