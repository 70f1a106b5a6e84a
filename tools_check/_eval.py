"""Follows expressions: names, attributes, items, operators; what a call does is `_call.py`'s."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final

from tools_check import _call, _classes, _exec
from tools_check._ir import SITE_BITS, SITE_MASK, Node
from tools_check._link import Module, lazy_table
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    NO_CONSTS,
    NO_LABELS,
    Cls,
    Data,
    Ext,
    Func,
    Import,
    Labels,
    Method,
    Mod,
    Obj,
    Super,
    Value,
    const,
    flat,
    join,
    join_labels,
    labelled,
    of,
    sorted_refs,
    with_labels,
    without_labels,
)  # fmt: skip

BUILTINS: Final = frozenset(dir(builtins)) | {"reveal_type"}
OURS: Final = frozenset(
    {"ToolDef", "ToolInput", "Foreign", "Media", "Reply", "OwnReply", "MixedReply", "reply", "refuse", "ToolFailed",
     "call_tool", "call_tool_sync", "remaining_s", "fence_untrusted", "unfence_untrusted", "fence_notice",
     "run_registry_tool", "run_registry_tool_sync", "Registry", "Deployment", "AnyTool", "prompt", "own", "owner",
     "stranger"}
)  # fmt: skip


def evaluate(run: Run, frame: Frame, node: Node | None) -> Value:
    """What an expression may be."""
    if node is None:
        return EMPTY
    if not run.spend():
        return EMPTY
    handler = EXPRESSIONS.get(node[0])
    return handler(run, frame, node) if handler is not None else EMPTY


def number(value: int) -> Value:
    return const(value)


# -- names


def on_const(_run: Run, _frame: Frame, node: Node) -> Value:
    return const(node[1])


def on_name(run: Run, frame: Frame, node: Node) -> Value:
    return lookup(run, frame, node[1])


def lookup(run: Run, frame: Frame, name: str) -> Value:
    """A variable, from the innermost scope outwards."""
    if name not in frame.globals:
        env = frame.env
        while env is not None:
            found = env.vars.get(name)
            if found is not None:
                if any(isinstance(r, Import) for r in found.refs):
                    found = resolve(run, found)
                    env.vars[name] = found
                return found
            env = env.parent
    return global_name(run, frame.module, name) or (
        of(Ext(f"builtins.{name}")) if name in BUILTINS else EMPTY
    )


def global_name(run: Run, module: Module, name: str) -> Value | None:
    """A variable of a module, with every function run that may have changed it."""
    found = module.env.get(name)
    if found is None:
        for other in module.stars:
            found = member(run, other, name)
            if not found.is_empty() and not all(isinstance(r, Ext) for r in found.refs):
                return found
        if module.state == "running":
            return forward(run, module, name)
        return None
    if any(isinstance(r, Import) for r in found.refs):
        found = resolve(run, found)
        module.env[name] = found
    if module.state == "done":
        run_global_writers(run, module, name)
        found = module.env[name]
    return found


def forward(run: Run, module: Module, name: str) -> Value | None:
    """A function or class that is used before its definition was reached (a cycle of imports)."""
    for statement in module.ir.body:
        if statement[1] == "def" and module.ir.defs[statement[2]].name == name:
            return of(Func(module.name, statement[2], None, None, None))
        if statement[1] == "class" and module.ir.classes[statement[2]].name == name:
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
            written = module.ir.defs[index]
            if written.owner >= 0:
                cls = Cls(module.name, written.owner)
                method = _classes.find_method(run, cls, written.name) if cls in run.class_env else None
                if method is not None:
                    bound = _classes.bind(method, _classes.typed_instance(run, cls))
                    _exec.call_with_types(run, Frame(module, None, None), bound)
            elif written.parent < 0:
                _exec.call_with_types(
                    run, Frame(module, None, None), Func(module.name, index, None, None, None)
                )
        finally:
            del run.active[mark]


def resolve(run: Run, value: Value) -> Value:
    """The value with imported names looked up."""
    parts = [member(run, ref.module, ref.name) for ref in sorted_refs(value) if isinstance(ref, Import)]
    rest = frozenset(ref for ref in value.refs if not isinstance(ref, Import))
    return join(Value(value.labels, rest, value.consts, exact=value.exact), *parts)


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
        return of(Ext(run.catalog.resolve(full)))
    _exec.run_module(run, module)
    found = module.env.get(name)
    if found is not None:
        mark = ("import", module.name, name)
        if any(isinstance(r, Import) for r in found.refs):
            if mark in run.active:
                return EMPTY
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
    for other in module.stars:
        value = member(run, other, name)
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
    if name in ("__name__", "__file__", "__doc__", "__version__", "__path__", "__all__"):
        return CLEAN
    return EMPTY


def star_import(run: Run, frame: Frame, module_name: str) -> None:
    """`from module import *`."""
    module = run.project.module(module_name)
    if module is None:
        frame.module.stars.append(module_name)
        return
    _exec.run_module(run, module)
    listed = module.env.get("__all__")
    names = (
        {s for o in listed.objects() for v in o.fields.values() for s in v.strings()}
        if listed
        else set[str]()
    )
    for name, value in list(module.env.items()):
        if (name in names) if names else not name.startswith("_"):
            _exec.bind_name(run, frame, name, value)
    frame.module.stars.append(module_name)


# -- attributes and items


def on_attribute(run: Run, frame: Frame, node: Node) -> Value:
    base = evaluate(run, frame, node[1])
    return attribute(run, frame, base, node[2], node[3])


def attribute(run: Run, frame: Frame, base: Value, name: str, site: int) -> Value:
    """What reading an attribute gives."""
    out: list[Value] = []
    clean = False
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            value = object_attribute(run, frame, ref, base, name, site)
            clean = clean or value is CLEAN
            out.append(value)
        elif isinstance(ref, Mod):
            out.append(member(run, ref.name, name))
        elif isinstance(ref, Ext):
            out.append(external_attribute(run, frame, ref, name, site))
        elif isinstance(ref, Cls):
            out.append(_classes.class_member(run, frame, ref, name, site))
        elif isinstance(ref, Super):
            out.append(super_member(run, frame, ref, name, site))
        elif isinstance(ref, Method) and ref.kind in ("ext", "super"):
            out.append(of(Method("ext", f"{ref.name}.{name}", ref.receiver)))
        elif isinstance(ref, Func) and name in ("__name__", "__doc__", "__qualname__", "__module__"):
            out.append(CLEAN)
        elif isinstance(ref, Func):
            out.append(of(ref))  # `tool.func`, `wrapped.__wrapped__`, `cached.cache_clear`
        elif isinstance(ref, Import):
            out.append(attribute(run, frame, resolve(run, of(ref)), name, site))
    if clean and all(v is CLEAN for v in out):
        return CLEAN
    if base.labels and not clean:
        if name in PLAIN_CLEAN:
            return CLEAN
        out.append(labelled(base.labels, Method("data", name, base)))
    elif DATA in base.refs or base.consts:
        out.append(of(Method("data", name, base)))
    return join(*out)


# Read from a thing whose class is not known these are numbers in every library that has them.
PLAIN_CLEAN: Final = frozenset({"status_code", "returncode", "rowcount", "__class__", "errno"})


def object_attribute(run: Run, frame: Frame, obj: Obj, base: Value, name: str, site: int) -> Value:
    """An attribute of a heap cell."""
    match obj.kind:
        case "inst":
            return _classes.read(run, frame, obj, name, site)
        case "ext":
            if name in obj.fields:
                return obj.fields[name]
            cls = str(obj.cls)
            if run.catalog.is_clean(cls, name):
                return CLEAN
            origin = run.catalog.attribute(cls, name)
            labels = flat(obj.elem)
            if origin is not None and not any(r.kind == "foreign" for r in (*base.labels, *labels)):
                labels = join_labels([labels, run.source(frame, site, f"{cls}.{name}", origin)])
            member_value = labelled(labels, Method("ext", f"{cls}.{name}", with_labels(of(obj), base.labels)))
            # `RunContext[Deps]`: what the library keeps of the type it was given may be what is read.
            return join(member_value, obj.fields["[type]"]) if "[type]" in obj.fields else member_value
        case "tool":
            if name in obj.fields:
                return (
                    join(obj.fields[name], of(Method("handler", name, of(obj))))
                    if name == "handler"
                    else obj.fields[name]
                )
            return of(Method("handler", name, of(obj))) if name == "handler" else CLEAN
        case "failure" | "exception":
            return labelled(flat(of(obj)))
        case _:
            return of(Method(obj.kind, name, of(obj)))


def external_attribute(run: Run, frame: Frame, ref: Ext, name: str, site: int) -> Value:
    """An attribute of a module or class outside."""
    full = f"{ref.qname}.{name}"
    if run.project.has(full) and not is_ours(run, full):
        return of(Mod(full))
    if name in OURS and is_ours(run, ref.qname):
        return of(Ext(f"registry.{name}"))
    resolved = run.catalog.resolve(full)
    origin = run.catalog.attributes.get(resolved)
    if origin is not None:
        return labelled(run.source(frame, site, resolved, origin), Ext(resolved))
    return of(Ext(resolved))


def super_member(run: Run, frame: Frame, ref: Super, name: str, site: int) -> Value:
    """A member of the classes behind the one that a method is written in."""
    me = next(iter(ref.self_value.objects()), None)
    start = me.cls if me is not None and isinstance(me.cls, Cls) else ref.owner
    if ref.owner not in _classes.mro(run, start)[0]:
        start = ref.owner
    found = _classes.class_attribute(run, start, name, after=ref.owner)
    if found is not None:
        return _classes.bound(run, frame, found, ref.self_value, ref.owner, site)
    outside = _classes.mro(run, ref.owner)[1]
    if name == "__init__":
        return of(Method("init", name, ref.self_value))
    return join(*(_classes.external_member(run, frame, base, name, ref.self_value) for base in outside))


def store_attribute(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """`base.name = value`."""
    base = evaluate(run, frame, target[1])
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            run.write(frame, ref, target[2], value)
        elif isinstance(ref, Cls):
            extra = run.class_extra.setdefault(ref, {})
            old = extra.get(target[2], EMPTY)
            extra[target[2]] = join(old, value)
            if len(extra[target[2]].labels) != len(old.labels):
                run.version += 1
        elif isinstance(ref, Mod):
            module = run.project.module(ref.name)
            if module is not None:
                old = module.env.get(target[2], EMPTY)
                module.env[target[2]] = join(old, value)
                if len(module.env[target[2]].labels) != len(old.labels):
                    run.version += 1
    if not base.objects():
        stain(run, frame, target[1], flat(value))


def store_item(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """`base[key] = value`."""
    base = evaluate(run, frame, target[1])
    key = evaluate(run, frame, target[2])
    for obj in base.objects():
        if obj.kind == "inst":
            setter = _classes.find_method(run, obj.cls, "__setitem__")
            if setter is not None:
                _call.call(
                    run, frame, of(_classes.bind(setter, of(obj))), _call.Args((key, value)), here(frame)
                )
                continue
        known = single(key)
        run.write(frame, obj, known[1] if known is not None and target[2][0] != "sl" else None, value)
        if key.labels:
            obj.keys = join(obj.keys, labelled(key.labels))
            run.impure(obj)
        elif known is None and obj.kind == "dict":
            obj.keys = join(obj.keys, CLEAN)
    if not base.objects():
        stain(run, frame, target[1], join_labels([flat(value), key.labels]))


def stain(run: Run, frame: Frame, node: Node, labels: Labels) -> None:
    """A thing without a heap cell took foreign bytes in: its variable carries them from here on."""
    while node[0] in ("a", "s"):
        node = node[1]
    if node[0] == "n" and labels and frame.env is not None and node[1] in frame.env.vars:
        frame.env.vars[node[1]] = with_labels(frame.env.vars[node[1]], labels)
    del run


def single(value: Value) -> tuple[str, Any] | None:
    """The one constant that a value is, if it is one."""
    if value.exact and len(value.consts) == 1:
        return next(iter(value.consts))
    return None


def on_subscript(run: Run, frame: Frame, node: Node) -> Value:
    base = evaluate(run, frame, node[1])
    if node[2][0] == "sl":
        for part in node[2][1]:
            evaluate(run, frame, part)
        return without_consts(base)
    key = evaluate(run, frame, node[2])
    return subscript(run, frame, base, key)


def without_consts(value: Value) -> Value:
    return Value(value.labels, value.refs | ({DATA} if value.consts else frozenset()), NO_CONSTS)


def subscript(run: Run, frame: Frame, base: Value | None, key: Value) -> Value:
    """What reading an item gives."""
    if base is None:
        return EMPTY
    out: list[Value] = []
    if base.labels:
        out.append(labelled(base.labels))
    known = single(key)
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            out.append(
                item_of(run, frame, ref, known[1] if known is not None else None, key, known is not None)
            )
        elif isinstance(ref, Cls | Ext):
            if isinstance(ref, Cls) and _classes.is_enum(run, ref):
                out.append(CLEAN)
            else:
                out.append(of(ref))
        elif isinstance(ref, Method) and ref.kind == "ext":
            out.append(of(Method("ext", f"{ref.name}.item", ref.receiver)))
        elif isinstance(ref, Data):
            out.append(CLEAN)
    return join(*out)


def item_of(run: Run, frame: Frame, obj: Obj, key: Any, key_value: Value, exact: bool) -> Value:
    match obj.kind:
        case "inst":
            getter = _classes.find_method(run, obj.cls, "__getitem__")
            if getter is not None:
                return _call.call(
                    run, frame, of(_classes.bind(getter, of(obj))), _call.Args((key_value,)), here(frame)
                )
            if _classes.shows_fields(run, obj.cls):
                if exact and isinstance(key, str):
                    return join(obj.fields.get(key, EMPTY), obj.elem)
                names = [f[0] for f in _classes.fields(run, obj.cls)]
                if exact and isinstance(key, int) and -len(names) <= key < len(names):
                    return join(obj.fields.get(names[key], EMPTY), obj.elem)
            return obj.everything()
        case "ext":
            return with_labels(of(obj), flat(obj.elem))
        case "foreign" | "reply" | "tool":
            return EMPTY
        case _:
            if exact and key in obj.fields:
                return join(obj.fields[key], obj.elem)
            if exact and obj.exact and not isinstance(key, int):
                return obj.elem
            if exact and obj.exact and isinstance(key, int) and key >= 0 and obj.kind in ("list", "tuple"):
                return obj.elem if obj.elem is not EMPTY or obj.fields else EMPTY
            return obj.everything()


def iterate(run: Run, frame: Frame, value: Value | None) -> Value:
    """What a loop over the value gives."""
    if value is None:
        return EMPTY
    out: list[Value] = []
    if value.labels:
        out.append(labelled(value.labels, *(r for r in value.refs if isinstance(r, Obj) and r.kind == "ext")))
    for ref in sorted_refs(value):
        if isinstance(ref, Obj):
            out.append(iterate_object(run, frame, ref))
        elif isinstance(ref, Data):
            out.append(CLEAN)
        elif isinstance(ref, Cls):
            out.append(CLEAN if _classes.is_enum(run, ref) else EMPTY)
    return join(*out)


def iterate_object(run: Run, frame: Frame, obj: Obj) -> Value:
    match obj.kind:
        case "dict":
            keys = frozenset((type(k).__name__, k) for k in obj.fields)
            known = Value(NO_LABELS, frozenset({DATA}), keys, exact=obj.elem is EMPTY) if keys else EMPTY
            return join(known, obj.keys)
        case "inst":
            for name in ("__iter__", "__aiter__", "__next__", "__anext__"):
                method = _classes.find_method(run, obj.cls, name)
                if method is not None:
                    value = _call.call(
                        run, frame, of(_classes.bind(method, of(obj))), _call.Args(()), here(frame)
                    )
                    if name in ("__iter__", "__aiter__"):
                        if obj in value.refs:
                            continue
                        return iterate(run, frame, value)
                    return value
            return obj.everything()
        case "ext":
            return with_labels(of(obj), flat(obj.elem))
        case "foreign" | "reply" | "tool":
            return EMPTY
        case _:
            return join(obj.elem, *(v for k, v in obj.fields.items() if k != "[generator]"))


# -- composite expressions


def on_formatted(run: Run, frame: Frame, node: Node) -> Value:
    labels: list[Labels] = []
    text: str | None = ""
    for part in node[1]:
        value = evaluate(run, frame, part)
        note_foreign(run, frame, value, "an f-string")
        shown = value.labels if not value.objects() else _classes.shown(run, frame, value, here(frame))
        if shown:
            labels.append(shown)
        known = single(value)
        text = text + str(known[1]) if text is not None and known is not None and len(text) < 300 else None
    if labels:
        return labelled(join_labels(labels), DATA)
    return const(text) if text is not None else CLEAN


def note_foreign(run: Run, frame: Frame, value: Value, how: str) -> None:
    """Foreign text that is made into a plain string by hand."""
    if any(obj.kind == "foreign" for obj in value.objects()):
        run.note("foreign-format", frame, here(frame), how, flat(value))


def here(frame: Frame) -> int:
    """The site of the statement that is being followed."""
    return frame.ordinal << SITE_BITS | SITE_MASK


def on_binary(run: Run, frame: Frame, node: Node) -> Value:
    left = evaluate(run, frame, node[2])
    right = evaluate(run, frame, node[3])
    op = node[1]
    if op in ("FloorDivide", "Power", "LeftShift", "RightShift"):
        return CLEAN
    if op == "BitOr" and all(isinstance(r, Cls | Ext) for r in (*left.refs, *right.refs)) and left.refs:
        return join(left, right)  # `int | None` in an annotation
    if op in ("Add", "BitOr") and (left.objects() or right.objects()):
        return combined(run, frame, left, right)
    if op in ("Modulo", "Add"):
        note_foreign(run, frame, right, "`%`" if op == "Modulo" else "`+`")
    a, b = single(left), single(right)
    if op == "Add" and a is not None and b is not None and isinstance(a[1], str) and isinstance(b[1], str):
        return const((a[1] + b[1])[:500])
    if op == "Add" and left.exact and right.exact and 0 < len(left.strings()) * len(right.strings()) <= 64:
        joined = frozenset(("str", x + y) for x in left.strings() for y in right.strings())
        if len(joined) == len(left.consts) * len(right.consts):
            return Value(join_labels([left.labels, right.labels]), frozenset({DATA}), joined, exact=True)
    labels = join_labels(
        [_classes.shown(run, frame, left, here(frame)), _classes.shown(run, frame, right, here(frame))]
    )
    keep = [
        r for v in (left, right) for r in v.refs if isinstance(r, Obj) and r.kind in ("list", "ext", "set")
    ]
    return labelled(labels, DATA, *keep)


def combined(run: Run, frame: Frame, left: Value, right: Value) -> Value:
    """`+` and `|` over containers."""
    kinds = [o.kind for v in (left, right) for o in v.objects()]
    kind = "dict" if "dict" in kinds else "list" if "list" in kinds or "tuple" in kinds else kinds[0]
    if kind not in ("dict", "list", "set", "tuple"):
        labels = join_labels(
            [_classes.shown(run, frame, left, here(frame)), _classes.shown(run, frame, right, here(frame))]
        )
        return labelled(labels, DATA, *(o for v in (left, right) for o in v.objects() if o.kind == "ext"))
    obj = run.new(frame, kind)
    for value in (left, right):
        for o in value.objects():
            if kind == "dict":
                for key, item in o.fields.items():
                    obj.fields[key] = (
                        join(item, obj.fields[key]) if o.elem is not EMPTY and key in obj.fields else item
                    )
                obj.elem = join(obj.elem, o.elem)
                obj.keys = join(obj.keys, o.keys)
            else:
                obj.elem = join(obj.elem, iterate_object(run, frame, o))
        if value.labels:
            obj.elem = join(obj.elem, labelled(value.labels))
    return of(obj)


def on_logic(run: Run, frame: Frame, node: Node) -> Value:
    left = evaluate(run, frame, node[2])
    saved = frame.vars
    frame.vars = dict(saved)
    narrow(run, frame, node[2], positive=node[1] == "And")
    right = evaluate(run, frame, node[3])
    walrus_names = {k: v for k, v in frame.vars.items() if k not in saved}
    frame.vars = saved
    for name, value in walrus_names.items():
        frame.vars[name] = value
    if node[1] == "And":
        known = single(left)
        if known is not None and not known[1]:
            return left
        return right if not left.exact else join(right)
    if left.exact and left.consts and all(not c[1] for c in left.consts):
        return right
    known = single(left)
    if known is not None and known[1]:
        return left
    return join(Value(left.labels, left.refs, left.consts, exact=left.exact), right)


def on_compare(run: Run, frame: Frame, node: Node) -> Value:
    for part in node[1]:
        evaluate(run, frame, part)
    return CLEAN


def on_not(run: Run, frame: Frame, node: Node) -> Value:
    evaluate(run, frame, node[1])
    return CLEAN


def on_unary(run: Run, frame: Frame, node: Node) -> Value:
    return without_consts(evaluate(run, frame, node[1]))


def on_sequence(run: Run, frame: Frame, node: Node) -> Value:
    obj = run.new(frame, {"t": "tuple", "l": "list", "S": "set"}[node[0]])
    index: int | None = 0
    for item in node[1]:
        if item[0] == "*":
            value = evaluate(run, frame, item[1])
            obj.elem = join(obj.elem, iterate(run, frame, value))
            index = None
            continue
        value = evaluate(run, frame, item)
        if index is None or index >= 64:
            obj.elem = join(obj.elem, value)
        else:
            obj.fields[index] = value
            index += 1
    return of(obj)


def on_dict(run: Run, frame: Frame, node: Node) -> Value:
    obj = run.new(frame, "dict")
    for key_node, item in node[1]:
        value = evaluate(run, frame, item)
        if key_node is None:
            spread(run, obj, value)
            continue
        key = evaluate(run, frame, key_node)
        known = single(key)
        if known is not None and len(obj.fields) < 400:
            obj.fields[known[1]] = value
        else:
            obj.elem = join(obj.elem, value)
            obj.keys = join(obj.keys, without_consts(key))
            obj.exact = False
    return of(obj)


def spread(run: Run, obj: Obj, value: Value) -> None:
    """`**value` into a dict."""
    for other in value.objects():
        if other.kind in ("dict", "inst"):
            for key, item in list(other.fields.items()):
                obj.fields[key] = item if other.elem is EMPTY else join(item, obj.fields.get(key, EMPTY))
        obj.elem = join(obj.elem, other.elem)
        obj.keys = join(obj.keys, other.keys)
        obj.exact = obj.exact and other.exact
    if value.labels:
        obj.elem = join(obj.elem, labelled(value.labels))
        obj.keys = join(obj.keys, labelled(value.labels))
    if not value.objects():
        obj.exact = False
    del run


def on_ternary(run: Run, frame: Frame, node: Node) -> Value:
    evaluate(run, frame, node[2])
    out: list[Value] = []
    saved = frame.vars
    for positive, part in ((True, node[1]), (False, node[3])):
        frame.vars = dict(saved)
        if narrow(run, frame, node[2], positive=positive):
            out.append(evaluate(run, frame, part))
    frame.vars = saved
    return join(*out)


def on_lambda(_run: Run, frame: Frame, node: Node) -> Value:
    return of(Func(frame.module.name, node[1], frame.env, None, frame.owner))


def on_comprehension(run: Run, frame: Frame, node: Node) -> Value:
    saved = frame.vars
    frame.vars = dict(saved)
    for target, iterated, conditions in node[4]:
        item = iterate(run, frame, evaluate(run, frame, iterated))
        _exec.assign(run, frame, target, item) if frame.env is not None else assign_local(
            run, frame, target, item
        )
        for condition in conditions:
            evaluate(run, frame, condition)
            narrow(run, frame, condition, positive=True)
    obj = run.new(frame, {"l": "list", "s": "set", "d": "dict", "g": "list"}[node[1]])
    obj.exact = False
    obj.elem = evaluate(run, frame, node[2])
    if node[3] is not None:
        key = evaluate(run, frame, node[3])
        obj.keys = without_consts(key)
        if key.exact and 0 < len(key.consts) <= 64:
            obj.fields.update(dict.fromkeys((c[1] for c in key.consts), obj.elem))
    targets = {t[1] for t, _, _ in node[4] if t[0] == "n"}
    inner = frame.vars
    frame.vars = saved
    if frame.env is not None:
        for name, value in inner.items():  # a walrus inside leaves the comprehension
            if name not in targets and name not in saved:
                frame.vars[name] = value
    return of(obj)


def assign_local(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """The target of a comprehension at module level."""
    if target[0] == "n":
        frame.vars[target[1]] = value
    elif target[0] in ("t", "l"):
        for i, part in enumerate(target[1]):
            assign_local(run, frame, part, subscript(run, frame, value, number(i)))


def on_walrus(run: Run, frame: Frame, node: Node) -> Value:
    value = evaluate(run, frame, node[2])
    _exec.bind_name(run, frame, node[1], value)
    return value


def on_await(run: Run, frame: Frame, node: Node) -> Value:
    return awaited(run, evaluate(run, frame, node[1]))


def awaited(_run: Run, value: Value) -> Value:
    futures = [o for o in value.objects() if o.kind == "future"]
    if not futures:
        return value
    rest = Value(value.labels, value.refs - frozenset(futures), value.consts)
    return join(rest, *(f.elem for f in futures))


def on_yield(run: Run, frame: Frame, node: Node) -> Value:
    frame.yields = join(frame.yields, evaluate(run, frame, node[1]))
    return EMPTY


def on_yield_from(run: Run, frame: Frame, node: Node) -> Value:
    value = evaluate(run, frame, node[1])
    frame.yields = join(frame.yields, iterate(run, frame, value))
    return join(*(o.fields.get("[generator]", EMPTY) for o in value.objects()))


def on_star(run: Run, frame: Frame, node: Node) -> Value:
    return evaluate(run, frame, node[1])


def on_call(run: Run, frame: Frame, node: Node) -> Value:
    return _call.on_call(run, frame, node)


EXPRESSIONS: Final[dict[str, Callable[[Run, Frame, Node], Value]]] = {
    "k": on_const, "n": on_name, "a": on_attribute, "x": on_call, "s": on_subscript, "f": on_formatted,
    "b": on_binary, "o": on_logic, "cmp": on_compare, "!": on_not, "u": on_unary, "t": on_sequence,
    "l": on_sequence, "S": on_sequence, "d": on_dict, "?": on_ternary, "F": on_lambda, "C": on_comprehension,
    ":=": on_walrus, "w": on_await, "y": on_yield, "Y": on_yield_from, "*": on_star,
}  # fmt: skip


# -- what a condition tells


def narrow(run: Run, frame: Frame, test: Node, *, positive: bool) -> bool:
    """Apply what holds when a test is true (or false) to the variables; False when that can never be."""
    tag = test[0]
    if tag == "!":
        return narrow(run, frame, test[1], positive=not positive)
    if tag == "o":
        if (test[1] == "And") == positive:
            return narrow(run, frame, test[2], positive=positive) and narrow(
                run, frame, test[3], positive=positive
            )
        return True
    if tag == ":=":
        return True
    if tag == "cmp" and len(test[1]) == 2:
        return narrow_comparison(run, frame, test[1][0], test[1][1], test[2][0], positive=positive)
    if (
        tag == "x"
        and positive
        and test[2] == ("n", "isinstance")
        and len(test[3]) == 2
        and test[3][0][2][0] == "n"
    ):
        names = [test[3][1][2]] if test[3][1][2][0] != "t" else test[3][1][2][1]
        if all(n[0] == "n" and n[1] in ("int", "float", "bool") for n in names):
            put(frame, test[3][0][2], CLEAN)
        return True
    if tag == "n" and frame.env is not None and test[1] in frame.env.vars:
        value = frame.env.vars[test[1]]
        if value.exact and value.consts and not value.labels and not value.objects():
            return any(bool(c[1]) == positive for c in value.consts)
    if tag == "k":
        return bool(test[1]) == positive
    return True


def put(frame: Frame, node: Node, value: Value) -> None:
    if node[0] == "n" and frame.env is not None:
        frame.vars[node[1]] = value


def narrow_comparison(run: Run, frame: Frame, left: Node, right: Node, op: str, *, positive: bool) -> bool:
    if op in ("NotEqual", "NotIn", "IsNot"):
        op, positive = {"NotEqual": "Equal", "NotIn": "In", "IsNot": "Is"}[op], not positive
    if op in ("Equal", "Is"):
        for name, other in ((left, right), (right, left)):
            if name[0] != "n":
                continue
            theirs = evaluate(run, frame, other) if other[0] in ("k", "n", "a") else EMPTY
            mine = evaluate(run, frame, name)
            if not decided(mine, theirs, frame, name, positive=positive):
                return False
            if (
                positive
                and not theirs.labels
                and (theirs.consts or other[0] == "a")
                and other != ("k", None)
                and mine.labels
            ):
                put(frame, name, without_labels(theirs) if theirs.consts else CLEAN)
        return True
    if op == "In" and positive and left[0] == "n":
        container = evaluate(run, frame, right)
        objs = container.objects()
        if objs and not container.labels and all(o.kind in ("list", "set", "tuple", "dict") for o in objs):
            listed = iterate(run, frame, container)
            if not listed.labels and not any(o.elem.labels for o in objs if o.kind != "dict"):
                put(frame, left, listed if listed.consts else CLEAN)
    return True


def decided(mine: Value, theirs: Value, frame: Frame, name: Node, *, positive: bool) -> bool:
    """Whether `mine == theirs` can come out that way; only for local names of which every value is known."""
    if frame.env is None or name[1] not in frame.env.vars:
        return True
    if (
        not (mine.exact and theirs.exact and mine.consts and theirs.consts)
        or mine.labels
        or mine.objects()
        or theirs.objects()
    ):
        return True
    if positive:
        return bool(mine.consts & theirs.consts)
    return not (len(mine.consts) == 1 and mine.consts == theirs.consts)


__all__ = ["flat", "sorted_refs"]
