"""Classes of the project: bases, fields, instances, and what reading an attribute of one gives."""

from __future__ import annotations

from typing import Final

from tools_check import (
    _call,
    _construct,
    _elsewhere,
    _errors,
    _eval,
    _exec,
    _fields,
    _invoke,
    _operators,
    _stdlib,
    _types,
)
from tools_check._ir import ClassDef, Def, Node, dotted
from tools_check._link import Module
from tools_check._run import Env, Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Ext,
    Func,
    Labels,
    Method,
    Obj,
    Partial,
    Value,
    Wrapped,
    const,
    flat,
    join,
    join_labels,
    labelled,
    of,
    sorted_refs,
)  # fmt: skip

MODELS: Final = frozenset(
    {"pydantic.BaseModel", "pydantic.main.BaseModel", "pydantic.v1.BaseModel", "registry.ToolInput",
     "pydantic.RootModel",
     "pydantic_settings.BaseSettings", "pydantic.BaseSettings", "sqlmodel.SQLModel",
     "langchain_core.pydantic_v1.BaseModel",
     "mcp.server.fastmcp.utilities.func_metadata.ArgModelBase", "msgspec.Struct"}
)  # fmt: skip
RECORDS: Final = frozenset(
    {"typing.NamedTuple", "typing.TypedDict", "typing_extensions.TypedDict", "typing_extensions.NamedTuple"}
)
ENUMS: Final = frozenset({"enum.Enum", "enum.StrEnum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})
VALIDATORS: Final = frozenset(
    {"model_validate", "model_validate_json", "parse_obj", "parse_raw", "from_orm", "model_construct",
     "validate",
     "model_validate_strings"}
)  # fmt: skip


UNCHECKED: Final = "[unchecked]"  # an instance whose fields need not be of their types


def definition(run: Run, cls: Cls) -> tuple[Module, int] | None:
    module = run.project.module(cls.module)
    return (module, cls.at) if module else None


def define(run: Run, frame: Frame, index: int) -> Value:
    """Run a class body and give the class."""
    module = frame.module
    written = module.ir.classes[index]
    cls = Cls(module.name, index)
    if cls in run.class_env and frame.env is None and module.state == "done":
        return of(cls)
    bases: list[object] = []
    for node in written.bases:
        value = _eval.evaluate(run, frame, node[1] if node[0] == "s" else node)
        bases.extend(ref for ref in sorted_refs(value) if isinstance(ref, Cls | Ext))
        names = [_stdlib.record_names(ref) for ref in sorted_refs(value) if isinstance(ref, Partial)]
        if any(names):  # `class Row(namedtuple("Row", "label body"))`
            bases.append(Ext("typing.NamedTuple"))
            run.record_names[cls] = [name for some in names for name in some]
    run.bases[cls] = bases
    for known in (run.mros, run.shows, run.fields, run.hooks):
        known.pop(cls, None)
    for base in bases:
        if isinstance(base, Cls) and cls not in run.children.setdefault(base, []):
            run.children[base].append(cls)
    inner = Frame(module, frame.definition, Env(frame.env))
    inner.owner = cls
    inner.start = frame.start
    run.class_env[cls] = inner.vars
    run.stack.append(inner)
    try:
        _exec.block(run, inner, written.body)
    finally:
        run.stack.pop()
    run.class_env[cls] = inner.vars
    _operators.name_descriptors(run, frame, cls, inner.vars)
    for obj in (o for v in inner.vars.values() for o in v.objects()):
        obj.shared = True
    return finished(run, frame, cls, written)


def finished(run: Run, frame: Frame, cls: Cls, written: ClassDef) -> Value:
    """A class once what its bases, its metaclass and its decorators do with it is done."""
    hook = find_method(run, cls, "__init_subclass__", after=cls)
    if hook is not None:
        given = tuple(
            (name, _eval.evaluate(run, frame, node)) for name, node in written.keywords if name != "metaclass"
        )
        _call.call(run, frame, of(bind(hook, of(cls))), _call.Args((), given), _eval.here(frame))
    for meta in metaclasses(run, frame, cls):
        made_by(run, frame, cls, meta, written.name)
    value = of(cls)
    for node in reversed(written.decorators):
        functions = [ref for ref in sorted_refs(_eval.evaluate(run, frame, node)) if isinstance(ref, Func)]
        if functions:
            value = join(value, _call.call(run, frame, of(*functions), _call.Args((value,)), _eval.here(frame)))
    return value


def makers(run: Run, cls: Cls) -> tuple[Func | None, Func | None] | None:
    """The metaclass's `__call__` and the class's `__new__` where the project writes them; None where it does not."""
    of_meta = None
    for owner in mro(run, cls)[0]:
        found = definition(run, owner)
        if found is not None and any(word == "metaclass" for word, _ in found[0].ir.classes[found[1]].keywords):
            metas = metaclasses(run, class_frame(run, found[0], owner), cls)
            of_meta = next((f for meta in metas if (f := find_method(run, meta, "__call__")) is not None), None)
            break
    new = find_method(run, cls, "__new__")
    return (of_meta, new) if of_meta is not None or new is not None else None


def metaclasses(run: Run, frame: Frame, cls: Cls) -> list[Cls]:
    """The classes of the project that make a class."""
    out: list[Cls] = []
    for owner in mro(run, cls)[0]:
        found = definition(run, owner)
        for name, node in found[0].ir.classes[found[1]].keywords if found is not None else ():
            if name == "metaclass" and found is not None:
                where = frame if owner == cls else class_frame(run, found[0], owner)
                out.extend(
                    r for r in sorted_refs(_eval.evaluate(run, where, node)) if isinstance(r, Cls) and r not in out
                )
    return out


def made_by(run: Run, frame: Frame, cls: Cls, meta: Cls, name: str) -> None:
    """Follow what a metaclass does when it makes a class."""
    names = run.new(frame, "dict")
    names.fields = dict(run.class_env[cls])
    args = _call.Args((Value(consts=frozenset({("str", name)}), refs=frozenset({DATA}), exact=True), EMPTY, of(names)))
    run.making.append(cls)
    for method, me in (("__new__", meta), ("__init__", cls)):
        func = find_method(run, meta, method)
        if func is not None:
            _call.call(run, frame, of(bind(func, of(me))), args, _eval.here(frame))
    run.making.pop()


def mro(run: Run, cls: Cls) -> tuple[list[Cls], list[str]]:
    """The classes of the project that a class inherits from, itself first, and the names of those outside."""
    found = run.mros.get(cls)
    if found is not None:
        return found
    ours: list[Cls] = []
    outside: list[str] = []
    todo: list[object] = [cls]
    while todo and len(ours) < 64:
        item = todo.pop(0)
        if isinstance(item, Cls):
            if item not in ours:
                ours.append(item)
                todo[:0] = run.bases.get(item, [])
        elif isinstance(item, Ext):
            name = run.catalog.resolve(item.qname)
            if name not in outside:
                outside.append(name)
    result = (ours, outside)
    if cls in run.bases:
        run.mros[cls] = result
    return result


def is_model(run: Run, cls: Cls) -> bool:
    return any(name in MODELS for name in mro(run, cls)[1])


SETTINGS: Final = frozenset({"pydantic_settings.BaseSettings", "pydantic.BaseSettings", "pydantic.v1.BaseSettings"})


def is_settings(run: Run, cls: Cls) -> bool:
    """Whether a class is made to hold the owner's configuration; what is read into it is the owner's, whatever
    file or table it was kept in.
    """
    return not run.catalog.environment and any(name in SETTINGS for name in mro(run, cls)[1])


def is_enum(run: Run, cls: Cls) -> bool:
    return any(name in ENUMS for name in mro(run, cls)[1])


def decorators(run: Run, cls: Cls) -> list[str]:
    found = definition(run, cls)
    if found is None:
        return []
    names = (dotted(d[2] if d[0] == "x" else d) for d in found[0].ir.classes[found[1]].decorators)
    return [name for name in names if name]


def shows_fields(run: Run, cls: Cls) -> bool:
    """Whether writing out an instance writes out its fields (dataclasses, models, records, exceptions)."""
    known = run.shows.get(cls)
    if known is None:
        known = writes_out_fields(run, cls)
        if cls in run.mros:
            run.shows[cls] = known
    return known


def writes_out_fields(run: Run, cls: Cls) -> bool:
    ours, outside = mro(run, cls)
    if any(name in MODELS or name in RECORDS or is_exception_name(name) for name in outside):
        return True
    return any(
        d.rpartition(".")[2] in ("dataclass", "define", "frozen", "s", "attrs")
        for c in ours
        for d in decorators(run, c)
    )


PLAIN_BASES: Final = frozenset(
    {"builtins.object", "abc.ABC", "typing.Protocol", "typing.Generic", "typing_extensions.Protocol"}
)
TEXTS: Final = ("__str__", "__repr__", "__format__", "__iter__", "__aiter__", "__getitem__", "__bytes__")


def is_opaque(run: Run, cls: Cls) -> bool:
    """Whether an instance shows nothing of its fields: no record, no text, no items of its own."""
    if shows_fields(run, cls) or not PLAIN_BASES.issuperset(mro(run, cls)[1]):
        return False
    return not any(class_attribute(run, cls, name) is not None for name in TEXTS)


def is_exception_name(name: str) -> bool:
    short = name.rpartition(".")[2]
    return short.endswith(("Error", "Exception", "Warning", "ExceptionGroup")) or short in (
        "BaseException",
        "ToolFailed",
    )


def is_exception(run: Run, cls: Cls) -> bool:
    return any(is_exception_name(name) for name in mro(run, cls)[1])


def class_frame(run: Run, module: Module, cls: Cls) -> Frame:
    """A frame in which names are looked up as in the class body."""
    frame = Frame(module, None, None)
    names = run.class_env.get(cls)
    if names is not None:
        env = Env(None)
        env.vars = names
        frame.env = env
    frame.owner = cls
    return frame


def typed_instance(run: Run, cls: Cls) -> Value:
    """Some instance of the class or of a class that inherits from it, as a parameter of that type may be."""
    if is_enum(run, cls):
        return CLEAN
    have = run.instances.get(cls)
    if have is not None:
        return have
    found = definition(run, cls)
    if found is None:
        return EMPTY
    module, _ = found
    frame = class_frame(run, module, cls)
    obj = Obj("inst", cls, None, ())
    obj.shared = True
    obj.exact = False
    obj.opaque = is_opaque(run, cls)
    value = of(obj)
    run.instances[cls] = value
    init = find_method(run, cls, "__init__")
    with run.aside():
        if init is not None:
            _invoke.call_with_types(run, frame, bind(init, value))
        _construct.run_validators(run, frame, cls, obj)
        run_factories(run, frame, cls, obj)
    return value


def typed_parameter(run: Run, cls: Cls) -> Value:
    """Some instance that a parameter of that type is given: what is written to it is not seen in others."""
    value = typed_instance(run, cls)
    shared = next(iter(value.objects()), None)
    if shared is None or shared.cls != cls:
        return value
    view = Obj("inst", cls, None, ())
    view.exact = False
    view.opaque = shared.opaque
    view.base = shared
    return of(view)


def run_factories(run: Run, frame: Frame, cls: Cls, obj: Obj) -> None:
    """An instance of which nothing is known may come from one of the class's own other constructors."""
    found = definition(run, cls)
    if found is None or len(run.stack) > 8:
        return
    module, index = found
    for method in module.methods(index):
        written = module.ir.defs[method]
        if not written.name.startswith(("from_", "load", "create", "open", "connect")) or kind_of(written) != "class":
            continue
        value = run.class_env.get(cls, {}).get(written.name)
        func = next((r for r in sorted_refs(value) if isinstance(r, Func)), None) if value else None
        if func is None:
            continue
        for made in _invoke.call_with_types(run, frame, bind(func, of(cls))).objects():
            if made.cls == cls and made is not obj:
                for key, item in list(made.fields.items()):
                    obj.fields[key] = join(obj.fields.get(key, EMPTY), item)


def find_method(run: Run, cls: Cls, name: str, *, after: Cls | None = None) -> Func | None:
    """The function that a method name means on a class."""
    value = class_attribute(run, cls, name, after=after)
    if value is None:
        return None
    return next((ref for ref in sorted_refs(value) if isinstance(ref, Func)), None)


def by_name(run: Run, name: str) -> Value:
    """The method of a thing of unknown class, when one class among those read has a method of that name, or one
    family of classes that inherit it from one another.
    """
    if name.startswith("__"):
        return EMPTY
    owners = run.owners_of(name)
    if not 0 < len(owners) <= 12:
        return EMPTY
    roots = [c for c in owners if not any(o != c and o in mro(run, c)[0] for o in owners)]
    if len(roots) != 1:
        return EMPTY
    method = find_method(run, roots[0], name)
    return of(bind(method, typed_instance(run, roots[0]))) if method is not None else EMPTY


def class_attribute(run: Run, cls: Cls, name: str, *, after: Cls | None = None) -> Value | None:
    """What the class bodies say about a name, along the order of inheritance."""
    ours = mro(run, cls)[0]
    if after is not None and after in ours:
        ours = ours[ours.index(after) + 1 :]
    for owner in ours:
        extra = run.class_extra.get(owner, {}).get(name)
        names = run.class_env.get(owner)
        if names is not None and name in names:
            return join(names[name], extra) if extra else names[name]
        if extra is not None:
            return extra
    return None


def bind(func: Func, self_value: Value) -> Func:
    return Func(func.module, func.at, func.env, self_value, func.owner)


def kind_of(definition: Def) -> str:
    """static, class, property or method, by the decorators."""
    for node in definition.decorators:
        name = dotted(node[2] if node[0] == "x" else node) or ""
        short = name.rpartition(".")[2]
        if short == "staticmethod":
            return "static"
        if short in ("classmethod", "validator", "root_validator"):
            return "class"
        if short.lower().endswith("property") or short == "computed_field":
            return "property"
        if short in ("setter", "deleter"):
            return "setter"
    return "method"


def read(run: Run, frame: Frame, obj: Obj, name: str, site: int) -> Value:
    """What reading an attribute of an instance gives."""
    cls: Cls = obj.cls
    me = of(obj)
    parts: list[Value] = []
    ours, outside = mro(run, cls)
    if UNCHECKED not in obj.fields and _fields.is_plain_field(run, cls, name):
        return CLEAN
    asked = find_method(run, cls, "__getattribute__")
    if (
        asked is not None
        and run.stack
        and all(frame_.definition is None or frame_.definition.name != "__getattribute__" for frame_ in run.stack)
    ):
        return _call.call(run, frame, of(bind(asked, me)), _call.Args((const(name),)), site)
    if obj.shared:
        run_writers(run, obj, name)
    if name in obj.fields:
        parts.append(obj.fields[name])
    if obj.base is not None and not is_filled_by_callers(run, cls, name):
        run_writers(run, obj.base, name)
        parts += [obj.base.fields[name]] if name in obj.base.fields else []
    found = class_attribute(run, cls, name)
    if found is not None and (name not in obj.fields or any(isinstance(r, Func) for r in sorted_refs(found))):
        parts.append(bound(run, frame, found, me, cls, site))
    if not obj.exact and found is not None and any(isinstance(r, Func) for r in sorted_refs(found)):
        parts.extend(overrides(run, frame, cls, name, me, site))
    known = bool(parts) and obj.base is not None and name in obj.base.fields
    if name not in obj.fields and not known and (found is None or says_nothing(found)):
        annotated = _fields.annotated_field(run, cls, name)
        if annotated is not None:
            obj.fields[name] = annotated
            parts.append(annotated)
            found = annotated
    if not parts and not obj.exact:
        parts.extend(overrides(run, frame, cls, name, me, site))
    if not obj.exact and all(_types.CALLABLE in p.refs or p.is_empty() for p in parts):
        parts.extend(v for owner in ours if (v := run.callables.get((owner, name))) is not None)
    if run.elsewhere is not None and is_filled_elsewhere(run, obj, found):
        parts.append(labelled(_elsewhere.LABELS, DATA))
    if parts:  # what was put into a plain thing under any name may have been put under this one
        return join(*parts, labelled(obj.elem.labels)) if obj.opaque and obj.elem.labels else join(*parts)
    if name == "model_extra":
        return obj.elem
    if name == "__class__":
        return of(cls)
    if name == "__dict__":
        return of(obj)
    if name in (
        "model_dump",
        "dict",
        "model_dump_json",
        "json",
        "_asdict",
        "copy",
        "model_copy",
        "_replace",
        "args",
    ):
        return of(Method("record", name, me))
    getter = find_method(run, cls, "__getattr__")
    if getter is not None:
        return _call.call(
            run,
            frame,
            of(bind(getter, me)),
            _call.Args((Value(consts=frozenset({("str", name)}), refs=frozenset({DATA}), exact=True),)),
            site,
        )
    if outside:
        return join(
            *(
                external_member(run, frame, base, name, me)
                for base in outside
                if base not in MODELS
                and base not in ("builtins.object", "abc.ABC", "typing.Protocol", "typing.Generic")
            )
        )
    del ours
    if obj.elem.labels:
        return labelled(obj.elem.labels)
    return EMPTY


def is_filled_elsewhere(run: Run, obj: Obj, found: Value | None) -> bool:
    """Whether what an instance holds may have been put there by code that is not in this run."""
    if found is not None and any(isinstance(r, Func) for r in sorted_refs(found)):
        return False
    outside = mro(run, obj.cls)[1]
    if "registry.ToolInput" in outside:
        return False  # the dispatcher fills it
    return not obj.exact or (run.elsewhere is not None and any(run.elsewhere.is_absent(base) for base in outside))


def says_nothing(default: Value) -> bool:
    """Whether a field's default leaves open what is in it: a constant, or what nothing is known of."""
    return default.is_empty() or bool(default.exact and default.consts) or not (default.refs - {DATA} or default.consts)


def is_filled_by_callers(run: Run, cls: Cls, name: str) -> bool:
    """Whether a field of a record gets its value from whoever makes the record, and from no method of it."""
    if not shows_fields(run, cls) or find_method(run, cls, "__init__") is not None:
        return False
    for owner in mro(run, cls)[0]:
        found = definition(run, owner)
        if found is not None and found[0].field_writers(found[1], name):
            return False
    return any(field_name == name for field_name, _, _ in _fields.fields(run, cls))


def external_member(run: Run, frame: Frame, base: str, name: str, me: Value) -> Value:
    """A member that a base class outside has."""
    origin = run.catalog.attribute(base, name)
    if origin is not None:
        return labelled(run.source(frame, 1023, f"{base}.{name}", origin))
    if is_exception_name(base):
        return join(*(o.elem for o in me.objects()))
    return of(Method("ext", f"{base}.{name}", me))


def bound(run: Run, frame: Frame, value: Value, me: Value, cls: Cls, site: int) -> Value:
    """A class attribute seen through an instance: methods bound, properties read."""
    out: list[Value] = []
    rest: set[object] = set()
    for ref in sorted_refs(value):
        if isinstance(ref, Wrapped):
            rest.add(Wrapped(ref.kind, bound(run, frame, ref.func, me, cls, site)))
            continue
        if isinstance(ref, Obj) and (got := _operators.got(run, frame, ref, me, cls)) is not None:
            out.append(got)
            continue
        if not isinstance(ref, Func) or ref.self_value is not None:
            rest.add(ref)
            continue
        found = run.project.module(ref.module)
        kind = kind_of(found.ir.defs[ref.at]) if found else "method"
        if kind == "static":
            rest.add(ref)
        elif kind == "class":
            rest.add(bind(ref, of(cls)))
        elif kind == "property":
            out.append(_call.call(run, frame, of(bind(ref, me)), _call.Args(()), site))
        else:
            rest.add(bind(ref, me))
    return join(Value(value.labels, frozenset(rest), value.consts, exact=value.exact), *out)


def overrides(run: Run, frame: Frame, cls: Cls, name: str, me: Value, site: int) -> list[Value]:
    """The same member in the classes that inherit from this one."""
    out: list[Value] = []
    todo = list(run.children.get(cls, []))
    seen: set[Cls] = set()
    while todo and len(seen) < 30:
        child = todo.pop(0)
        if child in seen:
            continue
        seen.add(child)
        todo.extend(run.children.get(child, []))
        names = run.class_env.get(child, {})
        if name in names:
            out.append(bound(run, frame, names[name], typed_instance(run, child), child, site))
    del me
    return out


def is_ours_by_type(run: Run, frame: Frame, annotation: Node | None) -> bool:
    """Whether no value of an annotation can hold a stranger's words: plain by its type, or one of our own words."""
    if annotation is None:
        return False
    if annotation[0] == "s" and (dotted(annotation[1]) or "").rpartition(".")[2] == "Literal":
        return True
    return _fields.is_plain(run, frame, annotation)


def run_writers(run: Run, obj: Obj, name: str) -> None:
    """Let every method that writes a field of a shared instance do so once."""
    for owner in mro(run, obj.cls)[0]:
        found = definition(run, owner)
        if found is None:
            continue
        module, index = found
        for method in module.field_writers(index, name):
            key = ("field", obj.serial, module.name, method, run.round)
            if ("field", obj.serial, module.name, method) in run.active or key in run.written:
                continue
            run.written.add(key)
            written = module.ir.defs[method]
            place = (_operators.SETTER if kind_of(written) == "setter" else "") + written.name
            value = run.class_env.get(owner, {}).get(place)
            func = next((r for r in sorted_refs(value) if isinstance(r, Func)), None) if value else None
            if func is None:
                continue
            mark = ("field", obj.serial, module.name, method)
            run.active[mark] = []
            try:
                with run.aside():
                    _invoke.call_with_types(run, Frame(module, None, None), bind(func, of(obj)))
            finally:
                del run.active[mark]


SAFE_TYPES: Final = frozenset(
    {"builtins.int", "builtins.float", "builtins.bool", "builtins.complex", "datetime.datetime",
     "datetime.date",
     "datetime.time", "datetime.timedelta", "decimal.Decimal", "uuid.UUID", "pydantic.StrictInt",
     "pydantic.StrictBool",
     "pydantic.PositiveInt", "pydantic.NonNegativeInt", "pydantic.StrictFloat", "pydantic.UUID4",
     "pydantic.NegativeInt", "pydantic.NonPositiveInt", "pydantic.PositiveFloat", "pydantic.NegativeFloat",
     "pydantic.NonNegativeFloat", "pydantic.NonPositiveFloat", "pydantic.FiniteFloat", "pydantic.ByteSize",
     "pydantic.PastDate", "pydantic.FutureDate", "pydantic.PastDatetime", "pydantic.FutureDatetime",
     "pydantic.AwareDatetime", "pydantic.NaiveDatetime",
     "ipaddress.IPv4Address", "ipaddress.IPv6Address"}
)  # fmt: skip


def class_member(run: Run, frame: Frame, cls: Cls, name: str, site: int) -> Value:
    """What reading an attribute of a class gives."""
    if is_enum(run, cls):
        found = class_attribute(run, cls, name)
        if found is not None and any(isinstance(r, Func) for r in sorted_refs(found)):
            return bound(run, frame, found, of(cls), cls, site)
        return CLEAN
    if name in VALIDATORS and is_model(run, cls) and find_method(run, cls, name) is None:
        return of(Method("model", name, of(cls)))
    found = class_attribute(run, cls, name)
    if found is None:
        written = definition(run, cls)
        if name == "__name__" and written is not None:
            text = written[0].ir.classes[written[1]].name
            return Value(consts=frozenset({("str", text)}), refs=frozenset({DATA}), exact=True)
        if name in (
            "__qualname__",
            "__doc__",
            "__module__",
            "model_fields",
            "model_json_schema",
            "schema",
        ):
            return CLEAN
        for meta in metaclasses(run, class_frame(run, written[0], cls), cls) if written is not None else ():
            theirs = class_attribute(run, meta, name)
            if theirs is not None:
                return bound(run, frame, theirs, of(cls), meta, site)
        outside = mro(run, cls)[1]
        return join(*(of(Ext(f"{base}.{name}")) for base in outside)) if outside else EMPTY
    out: set[object] = set()
    given: list[Value] = []
    for ref in sorted_refs(found):
        if isinstance(ref, Obj) and (got := _operators.got(run, frame, ref, EMPTY, cls)) is not None:
            given.append(got)
        elif isinstance(ref, Func) and ref.self_value is None:
            module = run.project.module(ref.module)
            out.add(bind(ref, of(cls)) if module and kind_of(module.ir.defs[ref.at]) == "class" else ref)
        else:
            out.add(ref)
    return join(Value(found.labels, frozenset(out), found.consts, exact=found.exact), *given)


def shown(run: Run, frame: Frame, value: Value, site: int) -> Labels:
    """The labels that a value shows when it is made into text."""
    parts = [value]
    for obj in value.objects():
        if obj.kind == "inst":
            method = find_method(run, obj.cls, "__str__") or find_method(run, obj.cls, "__repr__")
            formatting = find_method(run, obj.cls, "__format__")
            if formatting is not None:
                parts.append(_call.call(run, frame, of(bind(formatting, of(obj))), _call.Args((CLEAN,)), site))
            if method is not None:
                parts.append(_call.call(run, frame, of(bind(method, of(obj))), _call.Args(()), site))
            elif formatting is None and _errors.ARGS in obj.fields and is_exception(run, obj.cls):
                parts.append(labelled(flat(obj.fields[_errors.ARGS])))
            elif formatting is None and shows_fields(run, obj.cls):
                hidden = _fields.hidden_fields(run, obj.cls)
                fields_shown = (
                    [value for name, value in obj.fields.items() if name not in hidden] if hidden else [of(obj)]
                )
                parts.append(labelled(join_labels([flat(value) for value in (*fields_shown, obj.elem)])))
        else:
            parts.append(labelled(flat(of(obj))))
    return join(*(labelled(p.labels) for p in parts)).labels
