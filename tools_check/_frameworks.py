"""Tools of other frameworks, by the table `frameworks.toml`: nothing is declared there, the verdict alone is
shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any, Final, final

from tools_check import _call, _classes, _fields, _offered, _spelled
from tools_check._config import hold_to_shape
from tools_check._link import Module, collect_names, last_name
from tools_check._run import Frame, Run, ToolSeen
from tools_check._values import Cls, Data, Ext, Func, Method, Partial, Value, Wrapped, of, sorted_refs

ARGUMENTS: Final = Data("arguments")  # what a dispatcher hands on to the tool that it picks
COMPONENT: Final = "component"  # the parameter of a maker that takes a thing with a method `run`
KEYS: Final[dict[str, type]] = {
    **dict.fromkeys(("decorators", "dispatchers", "bases", "methods", "toolkits", "registrars", "factories"), list),
    **dict.fromkeys(("members", "requests", "requesters"), list),
    **dict.fromkeys(("listed", "module_spec"), str),
    "makers": dict,
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """One table."""

    style: str
    methods: tuple[str, ...] = ()
    listed: str = ""
    registrars: tuple[str, ...] = ()
    factories: tuple[str, ...] = ()
    module_spec: str = ""
    members: tuple[str, ...] = ()


@final
@dataclass(kw_only=True)
class Frameworks:
    """All tables, by the names that are looked for."""

    decorators: dict[str, str] = field(default_factory=dict[str, str])
    dispatchers: dict[str, str] = field(default_factory=dict[str, str])
    makers: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict[str, tuple[str, tuple[str, ...]]])
    bases: dict[str, Framework] = field(default_factory=dict[str, Framework])
    toolkits: dict[str, Framework] = field(default_factory=dict[str, Framework])
    all: list[Framework] = field(default_factory=list[Framework])
    requesters: dict[str, str] = field(default_factory=dict[str, str])
    requests: set[str] = field(default_factory=set[str])

    @cached_property
    def moved(self) -> dict[str, str]:
        """The decorators by where they are defined in their library, whatever that is called where it is itself read."""
        inner = {name.partition(".")[2]: style for name, style in self.decorators.items()}
        return {name: style for name, style in inner.items() if "." in name}

    def copied(self, name: str) -> str | None:
        """The style of a decorator among the files: the framework itself, or a copy of it inside another package."""
        parts = name.split(".")
        return next((s for i in range(1, len(parts) - 1) if (s := self.moved.get(".".join(parts[i:])))), None)

    @cached_property
    def maker_tails(self) -> dict[str, list[str]]:
        """The makers by their class, or by their class and method."""
        tails: dict[str, list[str]] = {}
        for name in self.makers:
            parts = name.split(".")
            tail = parts[-1] if parts[-1][:1].isupper() else ".".join(parts[-2:])
            if tail not in ("Agent", "Team", "Server"):
                tails.setdefault(tail, []).append(name)
        return tails

    @cached_property
    def base_names(self) -> frozenset[str]:
        """The last names of the classes that tools inherit from."""
        return frozenset(name.rpartition(".")[2] for name in (*self.bases, *self.toolkits)) | _spelled.BASES

    def is_named(self, name: str) -> bool:
        """Whether a name is one of a decorator or a maker, but for agents, which are made where everything else is too."""
        return name in self.decorators or (name in self.makers and "tools" not in self.makers[name][1])

    @cached_property
    def givers(self) -> frozenset[str]:
        """The last names of what makes a tool of a function that it is given."""
        makers = {name.rpartition(".")[2] for name in self.makers} - {"Agent", "Team", "Server", "Assistant", "Task"}
        return _spelled.DECORATORS | _spelled.GIVERS | makers

    @cached_property
    def short_names(self) -> frozenset[str]:
        """The last names of decorators, dispatchers and makers."""
        groups = (self.decorators, self.dispatchers, self.makers, self.requesters)
        names = {name.rpartition(".")[2] for group in groups for name in group}
        servers = {name.rpartition(".")[0].rpartition(".")[2] for name in (*self.decorators, *self.requesters)}
        return frozenset(names - {"Agent", "Team"} | {n for n in servers if n[:1].isupper()})


def load(extra: Mapping[str, Any] | None = None) -> Frameworks:
    """The frameworks that ship with the checker, and the user's own.

    Raises:
        ConfigError: when a table holds a key that is not known.
    """
    text = resources.files("tools_check").joinpath("frameworks.toml").read_text(encoding="utf-8")
    out = Frameworks()
    for style, table in {**tomllib.loads(text), **(extra or {})}.items():
        hold_to_shape(f"frameworks table {style!r}", table, KEYS)
        framework = Framework(
            style=style,
            methods=tuple(table.get("methods", ())),
            listed=table.get("listed", ""),
            registrars=tuple(table.get("registrars", ())),
            factories=tuple(table.get("factories", ())),
            module_spec=table.get("module_spec", ""),
            members=tuple(table.get("members", ())),
        )
        out.all.append(framework)
        out.decorators.update(dict.fromkeys(table.get("decorators", ()), style))
        out.dispatchers.update(dict.fromkeys(table.get("dispatchers", ()), style))
        out.bases.update(dict.fromkeys(table.get("bases", ()), framework))
        out.toolkits.update(dict.fromkeys(table.get("toolkits", ()), framework))
        out.requesters.update(dict.fromkeys(table.get("requesters", ()), style))
        out.requests.update(table.get("requests", ()))
        for name, parameters in table.get("makers", {}).items():
            out.makers[name] = (style, tuple(parameters))
    return out


def words(extra: Mapping[str, Any]) -> re.Pattern[bytes]:
    """What a file that defines such a tool mentions."""
    found = load(extra)
    names = {
        name.rpartition(".")[2]
        for group in (found.decorators, found.dispatchers, found.makers, found.bases, found.toolkits)
        for name in group
    }
    names |= {f.module_spec for f in found.all if f.module_spec} | {"tools", "ToolSpec"} | found.short_names
    names |= _spelled.BASES | _spelled.DECORATORS | _spelled.GIVERS
    # A class below a class of the project that is below a framework's is named for it as a rule: `ListIssues(GithubTool)`.
    listed = b"|".join(sorted(re.escape(n.encode()) for n in names - {"Agent", "Team"}))
    endings = rb"(?:Tool|ToolBase|BaseTool|Toolkit|ToolSpec|Toolset)\b"
    return re.compile(rb"\b(?:" + listed + rb")\b|" + endings + rb"|" + _offered.TEXT)


# -- hooks of the analysis


def name_of(run: Run, ref: Any) -> str | None:
    """The qualified name of what is called."""
    if isinstance(ref, Ext):
        return run.catalog.resolve(ref.qname)
    if isinstance(ref, Method) and ref.kind == "ext":
        return run.catalog.resolve(ref.name)
    if isinstance(ref, Func):
        module = run.project.module(ref.module)
        return f"{ref.module}.{module.ir.defs[ref.at].qualname}" if module else None
    if isinstance(ref, Cls):
        module = run.project.module(ref.module)
        return f"{ref.module}.{module.ir.classes[ref.at].qualname}" if module else None
    return None


def decorated(run: Run, target: Value, value: Value, func: Func) -> bool:
    """A definition under a decorator of a framework is a tool."""
    if run.frameworks is None:
        return False
    for ref in sorted_refs(target):
        name = name_of(run, ref)
        if name is None:
            continue
        style = run.frameworks.decorators.get(name)
        if style is None and isinstance(ref, Func):
            style = run.frameworks.copied(name)
        if style is not None:
            record(run, style, value, original=func)
            return True
        style = run.frameworks.dispatchers.get(name)
        if style is not None:
            record(run, style, value, original=func, dispatcher=True)
            return True
    return False


def made_by(run: Run, frame: Frame, name: str, args: _call.Args) -> Value | None:  # noqa: ARG001
    """A call of something that makes tools of functions, or of a decorator as a function."""
    if run.frameworks is None:
        return None
    maker = run.frameworks.makers.get(name)
    if maker is not None:
        style, parameters = maker
        for i, parameter in enumerate(parameters):
            value = args.get(-1, parameter)
            if value is None and parameter != "tools":
                value = args.get(i, parameter)
            items = functions_in(value) if parameter != COMPONENT else runs_of(run, value)
            for item in () if len(items) > 1 and _offered.looks_at_itself(run, items) else items:
                record(run, style, item, dispatcher=parameter == "on_call_tool")
        return None
    style = run.frameworks.requesters.get(name)
    if style is not None:
        requested(run, style, args.get(0, "method") or Value(), args.values())
        return None
    style = run.frameworks.decorators.get(name)
    if style is None:
        return None
    first = args.get(0, "fn")
    functions = functions_in(first)
    for item in functions:
        record(run, style, item)
    return first if functions else of(Method("registrar", style, of(Ext(name))))


def runs_of(run: Run, value: Value | None) -> list[Value]:
    """What running a component is."""
    out: list[Value] = []
    for obj in value.objects() if value is not None else ():
        if isinstance(obj.cls, Cls):
            found = (_classes.find_method(run, obj.cls, name) for name in ("run", "run_async"))
            out.extend(of(_classes.bind(method, of(obj))) for method in found if method is not None)
    return out


def requested(run: Run, style: str, request: Value, handlers: Iterable[Value]) -> None:
    """A server gets the function that answers requests of a name."""
    names = {*request.strings(), *(r.qname.rpartition(".")[2] for r in request.refs if isinstance(r, Ext))}
    if run.frameworks.requests.isdisjoint(names):
        return
    for handler in handlers:
        for item in functions_in(handler):
            record(run, style, item, dispatcher=not names.isdisjoint(("tools/call", "CallToolRequest")))


def stored(run: Run, base: Value, key: Value, value: Value) -> None:
    """`server.request_handlers[CallToolRequest] = handler`."""
    if run.frameworks is None:
        return
    for ref in sorted_refs(base):
        if isinstance(ref, Method) and ref.kind == "ext":
            style = run.frameworks.requesters.get(run.catalog.resolve(ref.name))
            if style is not None:
                requested(run, style, key, (value,))


def made_here(run: Run, frame: Frame, ref: Cls | Func, args: _call.Args) -> None:
    """A maker of tools that is itself among the files: its class has the maker's name and takes what a maker takes."""
    module = run.project.module(ref.module) if run.frameworks is not None else None
    if module is None:
        return
    assert run.frameworks is not None
    if isinstance(ref, Cls):
        short = module.ir.classes[ref.at].name
        if short not in run.frameworks.maker_tails:
            return
        init = _classes.find_method(run, ref, "__init__")
        taken = {name for name, _, _ in _fields.fields(run, ref)} if init is None else parameters_of(run, init)
    else:
        definition = module.ir.defs[ref.at]
        made = definition.name == "__init__" and definition.owner >= 0  # `super().__init__(function)`
        short = module.ir.classes[definition.owner].name if made else definition.qualname
        if short not in run.frameworks.maker_tails:
            return
        taken = parameters_of(run, ref)
    here = f"{module.name}.{short}".partition(".")[2]
    for name in sorted(run.frameworks.maker_tails[short], key=lambda name: name.partition(".")[2] != here):
        if taken.intersection(run.frameworks.makers[name][1]):
            made_by(run, frame, name, args)
            return


def parameters_of(run: Run, func: Func) -> set[str]:
    module = run.project.module(func.module)
    return {p.name for p in module.ir.defs[func.at].params} if module is not None else set()


def constructed(run: Run, frame: Frame, qname: str, args: _call.Args, _site: int) -> Value | None:
    return made_by(run, frame, qname, args)


def functions_in(value: Value | None) -> list[Value]:
    """The functions that a value is or lists."""
    if value is None:
        return []
    out: list[Value] = []
    for ref in sorted_refs(value):
        if isinstance(ref, Func | Partial | Wrapped):
            out.append(of(ref))  # noqa: PERF401 - a loop over kinds reads better here
    for obj in value.objects():
        if obj.kind in ("list", "tuple", "set"):
            for child in obj.children():
                out.extend(functions_in(child))
    return out


def record(run: Run, style: str, value: Value, *, original: Func | None = None, dispatcher: bool = False) -> None:
    """Remember a tool."""
    for ref in sorted_refs(value):
        if not isinstance(ref, Func | Partial | Wrapped):
            continue
        places = [original] if original is not None else targets_of(run, ref)
        for place in places:
            module = run.project.module(place.module)
            key = (style, place.module, place.at)
            if module is None or key in run.tools:
                continue
            definition = module.ir.defs[place.at]
            if style != _spelled.STYLE:
                run.tools.pop((_spelled.STYLE, place.module, place.at), None)  # now it is known for what it is
            run.tools[key] = ToolSeen(
                style=style,
                path=module.path,
                module=module.name,
                site=definition.ordinal << 10 | 1023,
                # What a wrapper of several gives says nothing of one of them.
                fields={"handler": of(ref if len(places) == 1 else place)},
                dispatcher=dispatcher,
                definition=place,
            )


def targets_of(run: Run, ref: Any, levels: int = 6) -> list[Func]:
    """The functions under partials and wrappers: a wrapper that is made in a loop stands for each that it was given."""
    inner: Iterable[Any] = ()
    if levels and isinstance(ref, Func):
        inner = run.originals.get((ref.module, ref.at, id(ref.env)), ())
        if not inner and not is_wrapper(run, ref):
            return [ref]
        inner = inner or handed_on(run, ref)  # none: it stands for a function that is not known here
    elif levels and isinstance(ref, Partial | Wrapped):
        inner = [r for r in sorted_refs(ref.func) if isinstance(r, Func | Partial | Wrapped)]
    return list(dict.fromkeys(place for r in inner for place in targets_of(run, r, levels - 1)))


def is_wrapper(run: Run, func: Func) -> bool:
    """Whether a function inside another one takes anything and hands it on to a function that the outer one was given."""
    module = run.project.module(func.module)
    if module is None or module.ir.defs[func.at].parent < 0:
        return False
    if not {"*", "**"} <= {p.kind for p in module.ir.defs[func.at].params}:
        return False
    return bool(handed_names(module, func))


def handed_names(module: Module, func: Func) -> set[str]:
    """The parameters of the functions around one that it calls, or says that it wraps."""
    named: set[str] = set(module.spoken()[func.at].called)
    for decorator in module.ir.defs[func.at].decorators:
        if decorator[0] == "x" and last_name(decorator[2]) == "wraps":
            collect_names(decorator[3], named, set())
    return given_outside(module, func) & named


def given_outside(module: Module, func: Func) -> set[str]:
    """The parameters of the functions around one."""
    out: set[str] = set()
    at = module.ir.defs[func.at].parent
    while at >= 0:
        out |= {p.name for p in module.ir.defs[at].params}
        at = module.ir.defs[at].parent
    return out


def handed_on(run: Run, func: Func) -> list[Func]:
    """The functions that a wrapper stands for."""
    module = run.project.module(func.module)
    if module is None:
        return []
    for name in sorted(handed_names(module, func)):
        env = func.env
        while env is not None:
            found = [r for r in sorted_refs(env.vars[name]) if isinstance(r, Func)] if name in env.vars else []
            if found:
                return found
            env = env.parent
    return []


def dispatched(run: Run, frame: Frame, func: Func, args: _call.Args) -> None:  # noqa: ARG001
    """A function that a dispatcher hands the arguments to is a tool of its own."""
    if run.dispatching is None or not any(ARGUMENTS in v.refs for v in args.values()):
        return
    module = run.project.module(func.module)
    if module is not None and not module.ir.defs[func.at].name.startswith("__"):
        record(run, run.dispatching, of(func))


def toolkit_called(run: Run, frame: Frame, func: Func, args: _call.Args) -> bool:
    """The constructor of a toolkit, or its `register`, gets the tools; whether it was the latter."""
    if run.frameworks is None or func.owner is None or func.self_value is None:
        return False
    framework = run.toolkit_classes.get(func.owner)
    if framework is None:
        return False
    module = run.project.module(func.module)
    if module is None:
        return False
    name = module.ir.defs[func.at].name
    if name == "__init__":
        listed_tools(run, frame, framework, args)
    elif name in framework.registrars:
        for item in functions_in(args.get(0, "function")):
            record(run, framework.style, item)
        return True
    return False


def listed_tools(run: Run, frame: Frame, framework: Framework, args: _call.Args) -> None:  # noqa: ARG001
    """Every keyword of a toolkit's constructor that ends in `tools`."""
    for keyword, value in args.keywords:
        if keyword.endswith("tools"):
            for item in functions_in(value):
                record(run, framework.style, item)


def outside_toolkit(run: Run, frame: Frame, me: Value, args: _call.Args, name: str) -> None:
    """`super().__init__(tools=[...])` or `self.register(f)` where the toolkit is not among the files."""
    if run.frameworks is None:
        return
    for obj in me.objects():
        if not isinstance(obj.cls, Cls):
            continue
        for base in _classes.mro(run, obj.cls)[1]:
            if name == "__init__" and run.catalog.resolve(base) in run.frameworks.makers:
                made_by(run, frame, run.catalog.resolve(base), args)
                continue
            framework = run.frameworks.toolkits.get(base) or _spelled.absent(run, base, run.frameworks.toolkits)
            if framework is None:
                continue
            if name == "__init__":
                listed_tools(run, frame, framework, args)
            elif name in framework.registrars:
                for item in functions_in(args.get(0, "function")):
                    record(run, framework.style, item)


# -- tools that are classes


def find_base_classes(run: Run, modules: Iterable[Module]) -> None:
    """Classes of the files that are a framework's own: by their full name, or by name and members."""
    assert run.frameworks is not None
    for module in modules:
        for index, written in enumerate(module.ir.classes):
            cls = Cls(module.name, index)
            for table, out in (
                (run.frameworks.toolkits, run.toolkit_classes),
                (run.frameworks.bases, run.base_classes),
            ):
                for name, framework in table.items():
                    if name == f"{module.name}.{written.qualname}" or (
                        name.rpartition(".")[2] == written.name
                        and framework.members
                        and set(framework.members) <= set(run.class_env.get(cls, {}))
                    ):
                        out.setdefault(cls, framework)


def class_tools(run: Run, module: Module) -> None:
    """Classes that inherit from a framework's base: their handlers are tools."""
    assert run.frameworks is not None
    for index in range(len(module.ir.classes)):
        cls = Cls(module.name, index)
        if cls not in run.class_env:
            continue
        ours, outside = _classes.mro(run, cls)
        frame = Frame(module, None, None)
        base = next((f for b in outside if (f := run.frameworks.bases.get(b))), None) or next(
            (f for c in ours[1:] if (f := run.base_classes.get(c))), None
        )
        if base is not None:
            for name in base.methods:
                if name in run.class_env[cls]:
                    record_method(run, base.style, cls, name)
                elif ours[1:]:
                    record_mixed_in(run, base.style, cls, name)
        else:
            _spelled.inherited(run, cls, ours[1:], outside)
            _offered.self_described(run, cls)
            _offered.below_a_kit(run, cls, outside)
        kits = run.frameworks.toolkits
        if any(run.catalog.resolve(b) in run.frameworks.makers for b in outside) or is_maker(run, ours[1:]):
            _classes.typed_instance(run, cls)  # its constructor names the function
        kit = (
            next((f for b in outside if (f := kits.get(b) or _spelled.absent(run, b, kits))), None)
            or next((f for c in ours[1:] if (f := run.toolkit_classes.get(c))), None)
            or next((f for f in kits.values() if outside and f.listed and f.listed in run.class_env[cls]), None)
        )
        if kit is not None:
            me = _classes.typed_instance(run, cls)
            if kit.listed:
                for name in listed_names(run, cls, kit.listed):
                    record_method(run, kit.style, cls, name)
            for name in kit.factories:
                factory = _classes.find_method(run, cls, name)
                if factory is not None:
                    _call.call(run, frame, of(_classes.bind(factory, me)), _call.NOTHING, 0)


def is_maker(run: Run, classes: Iterable[Cls]) -> bool:
    """Whether a class of the files is called as one that makes a tool of the function that it is given."""
    assert run.frameworks is not None
    modules = ((run.project.module(c.module), c.at) for c in classes)
    return any(m is not None and m.ir.classes[at].name in run.frameworks.maker_tails for m, at in modules)


def listed_names(run: Run, cls: Cls, attribute: str) -> list[str]:
    """The method names in a list of a class body; an item may be a pair of sync and async names."""
    value = _classes.class_attribute(run, cls, attribute)
    out: list[str] = []
    for obj in value.objects() if value is not None else []:
        for child in obj.children():
            out.extend(child.strings())
            for pair in child.objects():
                out.extend(s for inner in pair.children() for s in inner.strings())
    return sorted(set(out))


def record_method(run: Run, style: str, cls: Cls, name: str) -> None:
    method = _classes.find_method(run, cls, name)
    if method is not None:
        record(run, style, of(_classes.bind(method, _classes.typed_instance(run, cls))))


def record_mixed_in(run: Run, style: str, cls: Cls, name: str) -> None:
    """A handler that a class below a framework's base has from a class beside that base."""
    method = _classes.find_method(run, cls, name)
    if method is None or method.owner is None:
        return
    ours, outside = _classes.mro(run, method.owner)
    if not any(run.frameworks.bases.get(b) for b in outside) and not any(c in run.base_classes for c in ours):
        record(run, style, of(_classes.bind(method, _classes.typed_instance(run, method.owner))))


def module_tools(run: Run, module: Module) -> None:
    """Modules with a variable that describes their tool."""
    assert run.frameworks is not None
    for framework in run.frameworks.all:
        spec = module.env.get(framework.module_spec) if framework.module_spec else None
        if spec is None:
            continue
        names = [s for o in spec.objects() for s in o.fields.get("name", Value()).strings()]
        for name in names:
            value = module.env.get(name)
            if value is not None:
                record(run, framework.style, value)
