"""What stands under a name of a thing and under a key: reading `base.name`, storing into it and into `base[key]`."""

from __future__ import annotations

from tools_check import (
    _call,
    _classes,
    _described,
    _errors,
    _eval,
    _frameworks,
    _hooks,
    _kept,
    _models,
    _names,
    _offered,
    _opened,
    _operators,
    _ours,
    _stdlib,
)
from tools_check._ir import Node
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    JUST_DATA,
    Cls,
    Ext,
    Func,
    Import,
    Labels,
    Method,
    Mod,
    Obj,
    Super,
    Value,
    flat,
    join,
    join_labels,
    labelled,
    of,
    sorted_refs,
    with_labels,
)  # fmt: skip


def is_nothing(value: Value) -> bool:
    """Whether nothing is known of a value but that it may be None."""
    return not value.refs and not value.labels and all(kind == "NoneType" for kind, _ in value.consts)


def attribute(run: Run, frame: Frame, base: Value, name: str, site: int) -> Value:
    """What reading an attribute gives."""
    if _ours.own_words(base, name):
        return CLEAN
    if name in _errors.NAMES:
        return join(_errors.causes(base), labelled(base.labels))
    if name in run.catalog.part_names and (part := _hooks.request_of(run, frame, base, name)) is not None:
        return part
    out: list[Value] = []
    clean = False
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            value = object_attribute(run, frame, ref, base, name, site)
            clean = clean or value is CLEAN
            out.append(value)
        elif isinstance(ref, Mod):
            out.append(_names.member(run, ref.name, name))
        elif isinstance(ref, Ext):
            out.append(external_attribute(run, frame, ref, name, site))
        elif isinstance(ref, Cls):
            out.append(_classes.class_member(run, frame, ref, name, site))
        elif isinstance(ref, Super):
            out.append(super_member(run, frame, ref, name, site))
        elif isinstance(ref, Method) and ref.kind in ("ext", "super"):
            kept = _kept.taken(run, frame, of(ref), name, site)
            if kept is not None:
                out.append(kept)
            if name not in _kept.ATTRIBUTES:
                out.append(of(Method("ext", f"{ref.name}.{name}", ref.receiver)))
        elif isinstance(ref, Method) and ref.kind == "data" and not base.labels:
            out.append(of(Method("data", name, ref.receiver)))  # `state.name.lower`: data of data
        elif isinstance(ref, Func) and name in ("__name__", "__doc__", "__qualname__", "__module__"):
            out.append(_described.name_of(run, ref) if name == "__name__" and run.frameworks is not None else CLEAN)
        elif isinstance(ref, Func) and name in ("cache_info", "cache_parameters", "cache_clear"):
            out.append(of(Method("number", name, EMPTY)))
        elif isinstance(ref, Func) and name in run.set_on.get((ref.module, ref.at), ()):
            out.append(run.set_on[ref.module, ref.at][name])
        elif isinstance(ref, Func):
            out.append(of(ref))  # `tool.func`, `wrapped.__wrapped__`, `cached.cache_clear`
        elif isinstance(ref, Import):
            out.append(attribute(run, frame, _names.settle(run, ref), name, site))
        elif ref == _frameworks.ARGUMENTS and name in ("arguments", "params"):
            out.append(of(ref))
    if clean and all(v is CLEAN for v in out):
        return CLEAN
    if base.labels and not clean:
        if name in _eval.PLAIN_CLEAN:
            return CLEAN
        # A thing of a known class answers for itself; plain data that it may be besides answers as text does.
        known = DATA not in base.refs and any(r.__class__ is Obj and r.kind == "ext" for r in base.refs)
        out.append(labelled(base.labels) if known else labelled(base.labels, Method("data", name, base)))
    elif DATA in base.refs or any(kind != "NoneType" for kind, _ in base.consts):
        out.append(of(Method("data", name, base)))
    return join(*out)


def object_attribute(run: Run, frame: Frame, obj: Obj, base: Value, name: str, site: int) -> Value:
    """An attribute of a heap cell."""
    match obj.kind:
        case "inst":
            return _classes.read(run, frame, obj, name, site)
        case "ext":
            if name in obj.fields:
                return obj.fields[name]
            if name in _kept.ATTRIBUTES:
                return _kept.taken(run, frame, of(Method("ext", name, of(obj))), name, site) or EMPTY
            cls = str(obj.cls)
            if run.catalog.is_clean(cls, name) or (name == "name" and cls in _opened.BUFFERS):
                return CLEAN
            origin = run.catalog.attribute(cls, name)
            labels = flat(obj.elem)
            if origin is not None and not any(r.kind == "foreign" for r in (*base.labels, *labels)):
                labels = join_labels([labels, run.source(frame, site, f"{cls}.{name}", origin)])
            if origin is not None and run.catalog.returns.get(f"{cls}.{name}") == "registry.Foreign":
                return _models.made(run, frame, "registry.Foreign", labels, None)
            member_value = labelled(labels, Method("ext", f"{cls}.{name}", with_labels(of(obj), base.labels)))
            if name == "deps" and "[type]" in obj.fields and not obj.fields["[type]"].is_empty():
                return obj.fields["[type]"]
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
        case "foreign" if name in ("parts", "data"):  # of what `call_tool` gave
            parts = run.new(frame, "list")
            parts.elem = of(obj)
            return of(parts) if name == "parts" else of(obj)
        case "tuple" if (item := _stdlib.named_item(obj, name)) is not None:
            return item
        case _:
            return of(Method(obj.kind, name, of(obj)))


def external_attribute(run: Run, frame: Frame, ref: Ext, name: str, site: int) -> Value:
    """An attribute of a module or class outside."""
    full = f"{ref.qname}.{name}"
    if run.project.has(full) and not _names.is_ours(run, full):
        return of(Mod(full))
    if name in _names.OURS and _names.is_ours(run, ref.qname):
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
    if name == "__new__" and "builtins.type" not in outside:
        return of(Method("ext", "builtins.object.__new__", ref.self_value))
    if name == "__init__":
        return of(Method("init", name, ref.self_value))
    return join(*(_classes.external_member(run, frame, base, name, ref.self_value) for base in outside))


def store_attribute(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """`base.name = value`."""
    base = _eval.evaluate(run, frame, target[1])
    _kept.keep_state(run, target[1], base, target[2], value)
    _hooks.assigned(run, frame, base, target[2], value)
    _hooks.follows(run, target[2], value)
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            if not _operators.put(run, frame, ref, target[2], value):
                run.write(frame, ref, target[2], value)
        elif isinstance(ref, Func):
            run.set_on_function((ref.module, ref.at), target[2], value)
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
        elif isinstance(ref, Ext) and ref.qname == "sys" and target[2] in ("stdout", "stderr"):
            run.redirected = [value] if value.objects() else []
    if not base.objects():
        stain(run, frame, target[1], flat(value))


def store_item(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """`base[key] = value`."""
    base = _eval.evaluate(run, frame, target[1])
    key = _eval.evaluate(run, frame, target[2])
    inner = _eval.single(key)
    if inner is not None:
        _kept.keep_state(run, target[1], base, inner[1], value)
    if inner is not None and target[1][0] == "x" and target[1][2] == ("n", "globals") and isinstance(inner[1], str):
        old = frame.module.env.get(inner[1], EMPTY)
        frame.module.env[inner[1]] = join(old, value)
        run.version += len(frame.module.env[inner[1]].labels) != len(old.labels)
    if run.frameworks is not None and target[1][0] in ("n", "a"):
        _offered.held(run, target[1][2 if target[1][0] == "a" else 1], _offered.of_list(value) if value.refs else value)
    for obj in base.objects():
        if obj.kind == "inst":
            setter = _classes.find_method(run, obj.cls, "__setitem__")
            if setter is not None:
                _call.call(run, frame, of(_classes.bind(setter, of(obj))), _call.Args((key, value)), _eval.here(frame))
                continue
        known = _eval.single(key)
        run.write(frame, obj, known[1] if known is not None and target[2][0] != "sl" else None, value)
        if key.labels:
            obj.keys = join(obj.keys, labelled(key.labels))
            run.impure(obj)
        elif known is None and obj.kind == "dict":
            obj.keys = join(obj.keys, CLEAN)
    if not base.objects():
        _frameworks.stored(run, base, key, value)
        _hooks.stored(run, frame, base, key, value)
        stain(run, frame, target[1], join_labels([flat(value), key.labels]))
        if inner is not None and isinstance(inner[1], str):
            store_over(run, frame, target[1], inner[1], value)


def store_over(run: Run, frame: Frame, node: Node, key: str, value: Value) -> None:
    """A variable with data of which only the labels are known remembers what was put under a key."""
    held = frame.env.vars.get(node[1]) if node[0] == "n" and frame.env is not None else None
    if held is None or not held.labels or held.refs != JUST_DATA or frame.env is None:
        return
    made = run.new(frame, "dict", _eval.STORED)
    made.exact = False
    made.elem = made.keys = labelled(held.labels, DATA)
    made.fields[key] = value
    made.settle(key)
    frame.env.vars[node[1]] = Value(held.labels, frozenset({made}))


def stain(run: Run, frame: Frame, node: Node, labels: Labels) -> None:
    """A thing without a heap cell took foreign bytes in: its variable carries them from here on."""
    while node[0] in ("a", "s"):
        node = node[1]
    if node[0] == "n" and labels and frame.env is not None and node[1] in frame.env.vars:
        frame.env.vars[node[1]] = with_labels(frame.env.vars[node[1]], labels)
    del run
