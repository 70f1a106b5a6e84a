"""What making an instance gives: its `__init__` is followed, a record's fields are filled, and a model keeps of a stranger's
data what its types let through."""

from __future__ import annotations

from typing import Final

from tools_check import _call, _classes, _errors, _eval, _fields, _invoke, _types
from tools_check._ir import Node, dotted
from tools_check._run import Frame, Run, definition_of
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    PLAIN_KINDS,
    Cls,
    Ext,
    Func,
    Labels,
    Obj,
    Partial,
    Typed,
    Value,
    join,
    labelled,
    of,
    sorted_refs,
)  # fmt: skip


def construct(run: Run, frame: Frame, cls: Cls, args: _call.Args, site: int) -> Value:
    """What calling a class gives."""
    value = (hooked if hooks_of(run, cls) else made)(run, frame, cls, args, site)
    if args.positional or args.keywords:
        for obj in value.objects():
            remember_callables(run, cls, obj)
    return value


def hooks_of(run: Run, cls: Cls) -> tuple[Func | None, Func | None] | None:
    """What the project says of how a class is made, looked up once."""
    if cls not in run.hooks:
        run.hooks[cls] = _classes.makers(run, cls)
    return run.hooks[cls]


def hooked(run: Run, frame: Frame, cls: Cls, args: _call.Args, site: int) -> Value:
    """What a class gives that says itself how it is made: by its metaclass, or by `__new__`."""
    of_meta, new = hooks_of(run, cls) or (None, None)
    mark = ("made", cls)
    if mark in run.active:
        return made(run, frame, cls, args, site)
    run.active[mark] = []
    try:
        if of_meta is not None:
            return _call.call(run, frame, of(_classes.bind(of_meta, of(cls))), args, site)
        value = made(run, frame, cls, args, site)
        if new is None:
            return value
        found = _call.call(
            run, frame, of(new), _call.Args((of(cls), *args.positional), args.keywords, args.star, args.dstar), site
        )
    finally:
        del run.active[mark]
    for obj in value.objects():
        for other in found.objects():
            if other is not obj and other.cls == cls:
                for name, item in list(other.fields.items()):
                    obj.fields[name] = join(obj.fields.get(name, EMPTY), item)
                obj.elem = join(obj.elem, other.elem)
    return join(value, labelled(found.labels)) if found.labels else value


def anew(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    """`super().__new__(cls, text)`: an instance, which may be the text; a metaclass's `super().__call__()`."""
    given = args.get(0) or EMPTY
    if name.endswith("__call__"):
        return join(*(made(run, frame, cls, args, site) for cls in sorted_refs(receiver) if isinstance(cls, Cls)))
    out: list[Value] = []
    for cls in sorted_refs(given):
        if isinstance(cls, Cls):
            obj = run.new(frame, "inst", cls)
            obj.elem = labelled(args.rest(1).labels())
            out.append(of(obj))
    return join(*out)


def remember_callables(run: Run, cls: Cls, obj: Obj) -> None:
    """Any instance of the class may hold the functions that one of them was made with."""
    for name, item in list(obj.fields.items()):
        functions = frozenset(r for r in item.refs if isinstance(r, Func | Partial))
        if functions and isinstance(name, str):
            old = run.callables.get((cls, name), EMPTY)
            new = run.callables[cls, name] = join(old, Value(refs=functions))
            if new.refs != old.refs:
                run.version += 1


def made(run: Run, frame: Frame, cls: Cls, args: _call.Args, site: int) -> Value:
    """The instance, with what its constructor puts into it."""
    if _classes.is_enum(run, cls):
        run.event(frame, args.labels())
        return CLEAN
    if _classes.is_settings(run, cls):
        return _classes.typed_instance(run, cls)
    obj = run.new(frame, "inst", cls)
    obj.opaque = _classes.is_opaque(run, cls)
    value = of(obj)
    init = _classes.find_method(run, cls, "__init__")
    if _classes.is_exception(run, cls):
        _errors.raised_with(run, frame, obj, definition_of(run, init) if init is not None else None, args.positional)
    if init is not None:
        _call.call(run, frame, of(_classes.bind(init, value)), args, site)
        return value
    declared = _fields.fields(run, cls)
    outside = _classes.mro(run, cls)[1]
    if not declared or not (_classes.shows_fields(run, cls) or _classes.is_model(run, cls)):
        obj.elem = join(*args.values())
        if any(n in _classes.RECORDS for n in outside):
            obj.fields.update(dict(args.keywords))
        obj.fields.update(dict(args.keywords))
        return value
    validated_model = _classes.is_model(run, cls)
    given: dict[str, Value] = dict(zip((f[0] for f in declared), args.positional, strict=False)) | dict(args.keywords)
    initial: list[Value] = []  # what `__post_init__` is given besides
    for name, annotation, owner_frame in declared:
        item: Value | None = given.pop(name, None)
        if item is None and (args.star is not None or args.dstar is not None):
            spread = join(args.star or EMPTY, args.dstar or EMPTY)
            item = _call.lookup_key(spread, name)
        if annotation[0] == "s" and (dotted(annotation[1]) or "").rpartition(".")[2] == "InitVar":
            initial.append(item if item is not None else _classes.class_attribute(run, cls, name) or EMPTY)
            continue
        if item is None and (maker := _fields.maker(run, cls, name)) is not None:
            obj.fields[name] = _call.call(run, frame, maker, _call.Args((value,)), site)
            continue
        if item is None:
            own = own_default(run, frame, _classes.class_attribute(run, cls, name))
            if own is not None:
                obj.fields[name] = own
            continue
        if validated_model and item.labels and not item.objects():
            run.event(frame, item.labels)
            item = validated(run, owner_frame, annotation, item.labels)
        obj.fields[name] = item
    if validated_model:
        run_validators(run, frame, cls, obj)
    for name, extra in given.items():  # fields that are not declared, and aliases
        obj.elem = join(obj.elem, extra)
        obj.fields.setdefault(name, extra)
    for hook in ("__post_init__", "model_post_init"):
        after = _classes.find_method(run, cls, hook)
        if after is not None:
            handed = (EMPTY,) if hook[0] == "m" else tuple(initial)
            _call.call(run, frame, of(_classes.bind(after, value)), _call.Args(handed), site)
    return value


def own_default(run: Run, frame: Frame, default: Value | None) -> Value | None:
    """A list, set or dict that a field begins with, each instance has for itself; None for any other default."""
    if default is None or default.labels or not all(isinstance(ref, Obj) for ref in default.refs):
        return None
    copies: list[Value] = []
    for held in default.objects():
        if held.kind not in PLAIN_KINDS:
            return None
        copy = run.new(frame, held.kind)
        copy.fields, copy.elem, copy.keys, copy.exact = dict(held.fields), held.elem, held.keys, held.exact
        copy.over = held.over
        copies.append(of(copy))
    return join(*copies) if copies else None


def validated(run: Run, frame: Frame, annotation: Node, labels: Labels, depth: int = 0) -> Value:
    """What pydantic makes of foreign data for a field: numbers, enums and literals are ours, the rest stays
    foreign.
    """
    if not labels or depth > 6 or not run.spend():
        return labelled(labels, DATA)
    if annotation[0] == "k" and isinstance(annotation[1], str):
        node = _types.name_node(annotation[1])
        return validated(run, frame, node, labels, depth + 1) if node else labelled(labels, DATA)
    if annotation[0] == "b" and annotation[1] == "BitOr":
        return join(*(validated(run, frame, annotation[i], labels, depth + 1) for i in (2, 3)))
    if annotation[0] == "k":
        return EMPTY
    if annotation[0] == "s":
        name = (dotted(annotation[1]) or "").rpartition(".")[2]
        items: tuple[Node, ...] = annotation[2][1] if annotation[2][0] == "t" else (annotation[2],)
        if name == "Literal":
            return CLEAN
        if name in ("Annotated", "Optional", "Union", "ClassVar"):
            if name == "Annotated":
                checked = validated(run, frame, items[0], labels, depth + 1)
                return checked_by(run, frame, items[1:], checked)
            return join(*(validated(run, frame, i, labels, depth + 1) for i in items))
        if name in ("tuple", "Tuple") and ("k", "...") not in items:
            row = run.new(frame, "tuple")
            row.fields.update((i, validated(run, frame, part, labels, depth + 1)) for i, part in enumerate(items))
            return of(row, DATA)
        if name in _types.ELEMENTS or name in _types.MAPPINGS:
            obj = run.new(frame, "dict" if name in _types.MAPPINGS else "list")
            obj.elem = validated(run, frame, items[-1], labels, depth + 1)
            if name in _types.MAPPINGS:
                obj.keys = validated(run, frame, items[0], labels, depth + 1)
            return of(obj, DATA)
        return by_type(run, frame, _eval.evaluate(run, frame, annotation), labels, depth + 1)
    if annotation[0] == "x" and (dotted(annotation[2]) or "").rpartition(".")[2] in NUMBER_TYPES:
        return CLEAN
    target = _eval.evaluate(run, frame, annotation)
    if (
        frame.owner is not None
        and frame.owner in run.type_args
        and not any(isinstance(ref, Cls | Typed) for ref in target.refs)
    ):
        of_variable = target.is_empty() or not any(isinstance(ref, Ext) for ref in target.refs)
        target = run.type_args[frame.owner] if of_variable else target
    return by_type(run, frame, target, labels, depth)


NUMBER_TYPES: Final = frozenset({"conint", "confloat", "condecimal", "condate"})


def by_type(run: Run, frame: Frame, target: Value, labels: Labels, depth: int = 0) -> Value:
    """What foreign data becomes under a type that is already known."""
    written = any(isinstance(ref, Typed) for ref in target.refs)
    out: list[Value] = []
    for ref in sorted_refs(target):
        if isinstance(ref, Cls):
            is_ours = _classes.is_enum(run, ref)
            out.append(CLEAN if is_ours else validated_instance(run, frame, ref, labels, depth + 1))
        elif isinstance(ref, Typed):
            where = _types.frame_of(run, ref)
            out.append(validated(run, where or frame, ref.node, labels, depth + 1))
        elif isinstance(ref, Ext) and ref.qname in _classes.SAFE_TYPES:
            out.append(CLEAN)
        elif not (written and _types.is_constructor(run, ref)):
            out.append(labelled(labels, DATA))
    return join(*out) if out else labelled(labels, DATA)


def checked_by(run: Run, frame: Frame, notes: tuple[Node, ...], value: Value) -> Value:
    """`Annotated[str, AfterValidator(f)]`: the field holds what `f` gives."""
    for note in notes:
        if note[0] != "x" or (dotted(note[2]) or "").rpartition(".")[2] not in ("AfterValidator", "PlainValidator"):
            continue
        for _, _, function in note[3][:1]:
            value = _call.call(run, frame, _eval.evaluate(run, frame, function), _call.Args((value,)), note[1])
    return value


def validated_instance(run: Run, frame: Frame, cls: Cls, labels: Labels, depth: int = 0) -> Value:
    """An instance whose every field was filled from foreign data, by the type of the field."""
    if _classes.is_settings(run, cls):
        return _classes.typed_instance(run, cls)
    obj = run.new(frame, "inst", cls)
    for name, annotation, owner_frame in _fields.fields(run, cls):
        value = validated(run, owner_frame, annotation, labels, depth + 1)
        obj.fields[name] = checked_by_methods(run, frame, cls, name, value)
    if _fields.keeps_extras(run, cls):
        obj.elem = labelled(labels, DATA)
    return of(obj)


def checked_by_methods(run: Run, frame: Frame, cls: Cls, name: str, value: Value) -> Value:
    """What the validators of a field make of its value; one that runs before the type is checked changes nothing."""
    if not value.labels and not value.objects():
        return value
    for owner in _classes.mro(run, cls)[0]:
        found = _classes.definition(run, owner)
        for method in found[0].methods(found[1]) if found is not None else ():
            assert found is not None
            written = found[0].ir.defs[method]
            if not any(d[0] == "x" and checks(d, name) for d in written.decorators):
                continue
            func = _classes.find_method(run, owner, written.name)
            if func is not None:
                bound = of(_classes.bind(func, of(cls)))
                result = _call.call(run, frame, bound, _call.Args((value,)), written.ordinal << 10 | 1023)
                value = value if result.is_empty() else result
    return value


def checks(decorator: Node, name: str) -> bool:
    """Whether `@field_validator("a", "b")` names a field, and gives what the field then holds."""
    if (dotted(decorator[2]) or "").rpartition(".")[2] not in ("field_validator", "validator"):
        return False
    if any(word == "mode" and value in (("k", "before"), ("k", "wrap")) for _, word, value in decorator[3]):
        return False
    if any(word == "pre" and value == ("k", True) for _, word, value in decorator[3]):
        return False
    return any(word is None and value[0] == "k" and value[1] in (name, "*") for _, word, value in decorator[3])


def run_validators(run: Run, frame: Frame, cls: Cls, obj: Obj) -> None:
    """Validators of a whole model may add fields: those that get a dict of values, and give one back."""
    for owner in _classes.mro(run, cls)[0]:
        found = _classes.definition(run, owner)
        if found is None:
            continue
        module, index = found
        for method in module.methods(index):
            written = module.ir.defs[method]
            names = [(dotted(d[2] if d[0] == "x" else d) or "").rpartition(".")[2] for d in written.decorators]
            if not {"model_validator", "root_validator"} & set(names):
                continue
            value = run.class_env.get(owner, {}).get(written.name)
            func = next((r for r in sorted_refs(value) if isinstance(r, Func)), None) if value else None
            if func is None:
                continue
            before = "classmethod" in names or "root_validator" in names
            values = Obj("dict", None, None, ())
            values.elem, values.exact = CLEAN, False
            args = _call.Args((of(values),)) if before else _call.NOTHING
            result = _invoke.invoke(
                run, frame, _classes.bind(func, of(cls) if before else of(obj)), args, written.ordinal << 10 | 1023
            )
            for made in {id(o): o for o in (values, *result.objects())}.values():
                if made.kind == "dict":
                    for key, item in list(made.fields.items()):
                        if isinstance(key, str):
                            obj.fields[key] = join(obj.fields.get(key, EMPTY), item)
