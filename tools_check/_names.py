"""What a name means: variables from the innermost scope outwards, imports across files, and what functions
elsewhere may have written to the variables of a module."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Final

from tools_check import _call, _classes, _elsewhere, _exec, _invoke
from tools_check._link import Module, lazy_table
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Data,
    Ext,
    Func,
    Import,
    Mod,
    Value,
    const,
    join,
    of,
    sorted_refs,
    with_labels,
)

BUILTINS: Final = frozenset(dir(builtins)) | {"reveal_type"}
OURS: Final = frozenset(
    {"ToolDef", "ToolInput", "Foreign", "Media", "Reply", "OwnReply", "MixedReply", "reply", "refuse",
     "ToolFailed",
     "call_tool", "call_tool_sync", "remaining_s", "fence_untrusted", "unfence_untrusted", "fence_notice",
     "run_registry_tool", "run_registry_tool_sync", "Registry", "Deployment", "AnyTool", "prompt", "own",
     "owner",
     "stranger", "IngressRefused"}
)  # fmt: skip


def lookup(run: Run, frame: Frame, name: str) -> Value:
    """A variable, from the innermost scope outwards."""
    if name not in frame.globals:
        env = frame.env
        while env is not None:
            found = env.vars.get(name)
            if found is not None:
                if is_imported(found):
                    found = resolve(run, found)
                    env.vars[name] = found
                return found
            env = env.parent
    if name == "__file__":
        return of(DATA, Data("package"))  # what is built from it and constants alone came with the code
    return global_name(run, frame.module, name) or (of(Ext(f"builtins.{name}")) if name in BUILTINS else EMPTY)


def is_imported(value: Value) -> bool:
    """Whether a value holds a name of another module that nobody has looked up yet."""
    for ref in value.refs:  # noqa: SIM110 - every use of a name passes here, and `any` takes three times as long
        if ref.__class__ is Import:
            return True
    return False


def global_name(run: Run, module: Module, name: str) -> Value | None:
    """A variable of a module, with every function run that may have changed it."""
    found = module.env.get(name)
    if found is None:
        for found in starred(run, module, name):
            if not found.is_empty() and not all(isinstance(r, Ext) for r in found.refs):
                return found
        if module.state == "running":
            return forward(run, module, name)
        return None
    if is_imported(found):
        found = resolve(run, found)
        module.env[name] = found
    if module.state == "done":
        run_global_writers(run, module, name)
        found = module.env[name]
    return found


def forward(run: Run, module: Module, name: str) -> Value | None:
    """A function or class that is used before its definition was reached (a cycle of imports)."""
    for statement in module.ir.body:
        index: int = statement[2] if statement[1] in ("def", "class") else -1
        if statement[1] == "def" and module.ir.defs[index].name == name:
            return of(Func(module.name, statement[2], None, None, None))
        if statement[1] == "class" and module.ir.classes[index].name == name:
            mark = ("class", module.name, statement[2])
            if mark in run.active:
                return of(Cls(module.name, statement[2]))
            run.active[mark] = []
            try:
                return _classes.define(run, Frame(module, None, None), statement[2])
            finally:
                del run.active[mark]
    return None


def run_global_writers(run: Run, module: Module, name: str) -> None:
    """Let every function that writes a module variable do so once for each state of the world."""
    for index in module.writers(name):
        mark = ("global", module.name, index)
        key = (*mark, run.round)
        if mark in run.active or key in run.written:
            continue
        run.written.add(key)
        run.active[mark] = []
        try:
            with run.aside():
                run_writer(run, module, index)
        finally:
            del run.active[mark]


def run_writer(run: Run, module: Module, index: int) -> None:
    written = module.ir.defs[index]
    if written.owner >= 0:
        cls = Cls(module.name, written.owner)
        method = _classes.find_method(run, cls, written.name) if cls in run.class_env else None
        if method is not None:
            bound = _classes.bind(method, _classes.typed_instance(run, cls))
            _invoke.call_with_types(run, Frame(module, None, None), bound)
    elif written.parent < 0:
        _invoke.call_with_types(run, Frame(module, None, None), Func(module.name, index, None, None, None))


def resolve(run: Run, value: Value) -> Value:
    """The value with imported names looked up."""
    parts = [member(run, ref.module, ref.name) for ref in sorted_refs(value) if isinstance(ref, Import)]
    rest = frozenset(ref for ref in value.refs if not isinstance(ref, Import))
    return join(Value(value.labels, rest, value.consts, exact=value.exact), *parts)


def settle(run: Run, ref: Import) -> Value:
    """What an imported name stands for now; nothing while the module that defines it is still being run."""
    found = resolve(run, of(ref))
    known = frozenset(r for r in found.refs if not isinstance(r, Import))
    return found if known == found.refs else Value(found.labels, known, found.consts, exact=found.exact)


def module_ref(run: Run, name: str) -> Mod | Ext:
    return Mod(name) if run.project.has(name) and not is_ours(run, name) else Ext(name)


def is_ours(run: Run, module: str) -> bool:
    """Whether a module of that name is this project's registry: it is not among the files, or its parts are."""
    return module.partition(".")[0] == "registry" and (
        not run.project.has("registry") or run.project.has_file("registry._tooldef")
    )


def member(run: Run, module_name: str, name: str) -> Value:
    """What `from module_name import name` gives."""
    if name in OURS and is_ours(run, module_name):
        return of(Ext(f"registry.{name}"))
    module = run.project.module(module_name)
    if module is None:
        full = f"{module_name}.{name}"
        if run.project.has(full) and not is_ours(run, full):
            return of(Mod(full))
        outside = of(Ext(run.catalog.resolve(full)))
        absent = run.elsewhere is not None and run.elsewhere.is_absent(full) and run.catalog.library(full) is None
        return with_labels(outside, _elsewhere.LABELS) if absent else outside
    _exec.run_module(run, module)
    found = module.env.get(name)
    if found is not None:
        mark = ("import", module.name, name)
        if is_imported(found):
            if mark in run.active:
                # A package that imports a module of its own from itself means the module.
                full = f"{module.name}.{name}"
                return of(Mod(full)) if run.project.has(full) else EMPTY
            run.active[mark] = []
            try:
                found = resolve(run, found)
            finally:
                del run.active[mark]
            module.env[name] = found
            return found
        return global_name(run, module, name) or found
    full = f"{module.name}.{name}"
    if run.project.has(full):
        return of(Mod(full))
    for value in starred(run, module, name):
        if not value.is_empty() and not all(
            isinstance(r, Ext) and not run.catalog.library(r.qname) for r in value.refs
        ):
            return value
    if module.state == "running":
        return forward(run, module, name) or of(Import(module_name, name))
    if "__getattr__" in module.env:
        target = lazy_table(module, name)
        if target is not None:
            other_name = target[0]
            level = len(other_name) - len(other_name.lstrip("."))
            absolute = run.project.absolute(module, level, other_name.lstrip(".")) if level else other_name
            if not run.project.has(absolute) and run.project.has(f"{module.name}.{absolute}"):
                absolute = f"{module.name}.{absolute}"
            return member(run, absolute, target[1])
        mark = ("getattr", module.name, name)
        getter = next((r for r in sorted_refs(module.env["__getattr__"]) if isinstance(r, Func)), None)
        if getter is not None and mark not in run.active:
            run.active[mark] = []
            try:
                inner = Frame(module, None, None)
                return _invoke.invoke(
                    run, inner, getter, _call.Args((const(name),)), module.ir.defs[getter.at].ordinal << 10
                )
            finally:
                del run.active[mark]
    if name in ("__name__", "__file__", "__doc__", "__version__", "__path__", "__all__"):
        return CLEAN
    return of(Ext(run.catalog.resolve(full))) if is_namesake(module, module_name) else EMPTY


def is_namesake(module: Module, name: str) -> bool:
    """Whether a package that lacks a name may be called as a library that has it: `frame/tools/wonder`, where no folder
    above is a package, is `frame.tools.wonder` in a namespace, and `wonder` is the library that it wraps.
    """
    return module.file.is_package and "." not in name and any(n.endswith(f".{name}") for n in module.file.names)


def starred(run: Run, module: Module, name: str) -> Iterator[Value]:
    """A name in the modules that were imported with a star; modules that import one another end here."""
    mark = ("star", module.name, name)
    if mark in run.active:
        return
    run.active[mark] = []
    try:
        for other in module.stars:
            yield member(run, other, name)
    finally:
        run.active.pop(mark, None)


def star_import(run: Run, frame: Frame, module_name: str) -> None:
    """`from module import *`."""
    module = run.project.module(module_name)
    if module is None:
        frame.module.stars.append(module_name)
        return
    _exec.run_module(run, module)
    listed = module.env.get("__all__")
    names = {s for o in listed.objects() for v in o.fields.values() for s in v.strings()} if listed else set[str]()
    for name, value in list(module.env.items()):
        if (name in names) if names else not name.startswith("_"):
            _exec.bind_name(run, frame, name, value)
    frame.module.stars.append(module_name)
