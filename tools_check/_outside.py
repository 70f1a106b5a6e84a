"""What calling a function outside the files gives: Python's own first, then by the catalogue; unknown ones pass on what
they are given and leave a mark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tools_check import (
    _attributes,
    _beside,
    _call,
    _classes,
    _construct,
    _containers,
    _elsewhere,
    _errors,
    _eval,
    _exec,
    _formats,
    _frameworks,
    _hooks,
    _models,
    _names,
    _opened,
    _ours,
    _prompts,
    _shapes,
    _stdlib,
)
from tools_check._ir import SITE_BITS
from tools_check._lowering import NUMBER_SPEC
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Ext,
    Func,
    Method,
    Mod,
    Obj,
    Partial,
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
)  # fmt: skip


def call(run: Run, frame: Frame, qname: str, args: _call.Args, site: int) -> Value:
    """What calling a name outside gives."""
    qname = run.catalog.resolve(qname)
    if qname.startswith("registry."):
        ours = _ours.call_ours(run, frame, qname[9:], args, site)
        if ours is not None:
            return ours
    if args.keywords:
        _hooks.given(run, frame, qname, args, site)
    forced = qname in run.catalog.forced
    shape = shaped(run, frame, qname, args, site) if not forced else None
    if shape is not None:
        return shape
    special = (SPECIAL.get(qname) or _stdlib.CALLS.get(qname)) if not forced else None
    if special is not None:
        return special(run, frame, qname, args, site)
    made = _frameworks.constructed(run, frame, qname, args, site)
    if made is not None:
        return made
    entry = run.catalog.call(qname)
    if run.elsewhere is not None and entry.kind in ("unknown", "new") and run.elsewhere.is_absent(qname):
        run.elsewhere.asked.add((frame.module.path, site >> SITE_BITS))
        run.event(frame, _elsewhere.LABELS)
        _call.callbacks(run, frame, args, site, _call.Args((labelled(_elsewhere.LABELS, DATA),)))
        return labelled(_elsewhere.LABELS, DATA)
    if qname in run.catalog.opened and args.values():
        entry = replace(entry, kind="source")
    if entry.kind == "own":
        effect = run.catalog.effects.get(qname)
        if effect:
            run.event(frame, run.source(frame, site, qname, effect))
        if not run.catalog.is_silent(qname):
            run.event(frame, args.labels())
        return _models.made(run, frame, entry.returns, {}, None) if entry.returns else CLEAN
    if entry.kind == "source":
        if run.catalog.reads_prompts(entry.qname):
            _prompts.reached(run, frame, site, f"{qname}()", args.labels())
        labels = run.source(frame, site, qname, entry.origin)
        if qname not in run.catalog.quiet:
            run.event(frame, labels)
        _call.callbacks(run, frame, args, site, _call.Args((labelled(labels, DATA),)))
        _hooks.handed(run, frame, EMPTY, args, labels, site)
        return _models.made(run, frame, entry.returns, labels, None)
    labels = args.labels()
    if labels:
        _hooks.handed(run, frame, EMPTY, args, labels, site)
    if not run.catalog.is_silent(qname):
        run.event(frame, labels)
    _opened.into_buffers(run, frame, args, labels)
    result = [EMPTY if qname.startswith(_shapes.LOOKS_AT) else _call.callbacks(run, frame, args, site)]
    if entry.kind == "new":
        obj = run.new(frame, "ext", entry.returns or qname)
        obj.elem = labelled(labels)
        if _beside.is_packaged(args):
            obj.fields["[package]"] = CLEAN
        if args.positional and qname.startswith("builtins.") and _classes.is_exception_name(qname):
            _errors.made_of(run, frame, obj, qname, args.positional)
        origin = run.catalog.foreign_type(entry.returns or qname)
        if origin is not None:
            return join(with_labels(of(obj), run.source(frame, site, qname, origin)), *result)
        for _, value in args.keywords:
            if value.objects() or any(isinstance(r, Func) for r in sorted_refs(value)):
                obj.elem = join(obj.elem, labelled(flat(value)))
        return join(of(obj), *result)
    if entry.kind == "unknown":
        labels = join_labels([labels, run.unknown(frame, site, f"{qname}()")])
    value = _models.made(run, frame, entry.returns or class_of_maker(qname), labels, None)
    if _beside.is_packaged(args):
        value = join(value, of(_beside.PACKAGED))
    return join(value, *result)


MAKING: Final = re.compile(r"a?(?:from|create|connect|build)(?:_\w+)?|get_instance|a?init")


def class_of_maker(qname: str) -> str | None:
    """The class of which a method makes an instance: `QueryEngine.from_args`, `Store.connect`."""
    owner, _, method = qname.rpartition(".")
    return owner if owner.rpartition(".")[2][:1].isupper() and MAKING.fullmatch(method) else None


def shaped(run: Run, frame: Frame, qname: str, args: _call.Args, site: int) -> Value | None:
    """Callees that call, wait for or wrap their argument."""
    shape = _shapes.SHAPES.get(qname) or inherited(run, qname)
    if shape is not None:
        return apply(run, frame, shape, args, site)
    if qname in _shapes.TASKS or in_ancestors(run, qname, _shapes.TASKS):
        obj = run.new(frame, "future")
        obj.elem = _eval.awaited(run, args.get(0, "coro") or EMPTY)
        return of(obj)
    if qname in _shapes.TRANSPARENT_CALLS or in_ancestors(run, qname, _shapes.TRANSPARENT_CALLS):
        index = 1 if qname.endswith(".cast") else 0
        value = args.get(index) or args.get(-1, "main") or args.get(-1, "fut") or EMPTY
        return _eval.awaited(run, value)
    if qname in _shapes.GATHERS:
        obj = run.new(frame, "list")
        for i, value in enumerate(args.positional):
            obj.fields[i] = _eval.awaited(run, value)
        if args.star is not None:
            obj.elem = _eval.awaited(run, _eval.iterate(run, frame, args.star))
        if qname != "asyncio.gather":
            obj.elem = join(obj.elem, *(_eval.iterate(run, frame, v) for v in args.positional))
        elif args.get(-1, "return_exceptions") is not None:
            error = run.new(frame, "ext", "builtins.Exception")
            error.elem = labelled(flat(join(*frame.events.values())))
            obj.elem = join(obj.elem, of(error))
        return of(obj)
    return None


def in_ancestors(run: Run, qname: str, names: frozenset[str]) -> bool:
    owner, _, method = qname.rpartition(".")
    return any(f"{base}.{method}" in names for base in run.catalog.ancestors(owner))


def inherited(run: Run, qname: str) -> _shapes.Shape | None:
    owner, _, method = qname.rpartition(".")
    for base in run.catalog.ancestors(owner):
        found = _shapes.SHAPES.get(f"{base}.{method}")
        if found is not None:
            return found
    return None


def apply(run: Run, frame: Frame, shape: _shapes.Shape, args: _call.Args, site: int) -> Value:
    """Call the callable among the arguments as its shape says."""
    if shape.callee < 0:
        target = args.get(-1, "target")
        if target is not None:
            spread = args.get(-1, "args")
            _call.call(run, frame, target, _call.Args((), (), spread), site)
        return of(run.new(frame, "ext", "threading.Thread"))
    func = args.get(shape.callee, "func") or args.get(-1, "fn") or EMPTY
    if shape.gives == "first":
        return func
    if shape.gives in ("map", "filter"):
        items = tuple(_eval.iterate(run, frame, v) for v in args.positional[shape.first :])
        spread_item = _eval.iterate(run, frame, args.star) if args.star is not None else None
        given = _call.Args(items, (), spread_item)
        result = _call.call(run, frame, func, given, site) if func.refs or func.labels else join(*items)
        obj = run.new(frame, "list")
        obj.exact = False
        obj.elem = join(*items) if shape.gives == "filter" else _eval.awaited(run, result)
        return of(obj)
    saved, frame.events = frame.events, {}
    value = _eval.awaited(run, _call.call(run, frame, func, args.rest(shape.first), site))
    raised, frame.events = frame.events, saved
    for kind, event in raised.items():
        _exec.add_event(frame, kind, event)
    if shape.gives == "value":
        return value
    obj = run.new(frame, "future")
    obj.elem = value
    obj.fields["[error]"] = _exec.caught_value(list(raised.values()))
    return of(obj)


# -- Python's own functions: (run, frame, name, args, site) -> value

Special = Callable[[Run, Frame, str, "_call.Args", int], Value]


QUOTING: Final = frozenset({"builtins.int", "builtins.float", "builtins.complex"})


def clean(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """Numbers and truth values cannot carry an instruction; an error of `int("...")` quotes what was given."""
    if name in QUOTING:
        run.event(frame, args.labels())
    return CLEAN


def text(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`str`, `repr`, `format`, `ascii`."""
    first = args.get(0)
    if first is None:
        return CLEAN
    if name in ("builtins.repr", "builtins.ascii"):
        # A `Foreign` shows its class there and nothing of what it holds.
        first = Value(
            first.labels,
            frozenset(r for r in first.refs if not (isinstance(r, Obj) and r.kind == "foreign")),
            first.consts,
            exact=first.exact,
        )
    _eval.note_foreign(run, frame, first, "`str()`")
    spec = _eval.single(args.get(1) or EMPTY) if name == "builtins.format" else None
    if spec is not None and NUMBER_SPEC.fullmatch(str(spec[1])):
        return labelled(_formats.as_number(run, frame, first), DATA)
    if first.exact and not first.labels and len(first.consts) == 1:
        return const(str(next(iter(first.consts))[1])[:300])
    packed = [_beside.PACKAGED] if _beside.packaged(first) else []
    return labelled(_classes.shown(run, frame, first, site), DATA, *packed)


def printed(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`print(...)`: nothing comes back, and what is shown stands in the file that it is given."""
    shown = join_labels([_classes.shown(run, frame, value, site) for value in args.positional])
    _opened.into_buffers(run, frame, args, shown)
    if args.get(-1, "file") is None:
        _opened.into_buffers(run, frame, _call.Args(tuple(run.redirected)), shown)
    return CLEAN


def redirected(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`contextlib.redirect_stdout(buffer)`: it keeps the buffer for the time of its `with`."""
    obj = run.new(frame, "ext", name)
    obj.elem = args.get(0, "new_target") or EMPTY
    return of(obj)


def writer(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`csv.writer(file)`: it keeps the file that its methods write to."""
    obj = run.new(frame, "ext", name)
    obj.fields["[file]"] = args.get(0, "csvfile") or args.get(-1, "f") or EMPTY
    return of(obj)


def written(run: Run, frame: Frame, _name: str, receiver: Value, args: _call.Args, _site: int) -> Value:
    """`csv.writer(file).writerow(row)`."""
    files = [obj.fields.get("[file]", EMPTY) for obj in receiver.objects()]
    _opened.into_buffers(run, frame, _call.Args(tuple(files)), args.labels())
    return CLEAN


def get_attribute(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`getattr(o, name)`: by name when it is a constant, else any of the object's."""
    base, key = args.get(0) or EMPTY, args.get(1) or EMPTY
    default = args.get(2) or EMPTY
    names = key.strings()
    if names and key.exact:
        return join(*(_attributes.attribute(run, frame, base, n, site) for n in sorted(names)), default)
    out: list[Value] = [labelled(base.labels, DATA)] if base.labels else []
    for obj in base.objects():
        out.append(obj.everything())
        if obj.kind == "inst":
            for owner in _classes.mro(run, obj.cls)[0]:
                for n, value in sorted(run.class_env.get(owner, {}).items()):
                    if any(isinstance(r, Func) for r in sorted_refs(value)) and not n.startswith("__"):
                        out.append(_classes.bound(run, frame, value, of(obj), obj.cls, site))
        if obj.kind == "ext":
            out.append(of(Method("ext", f"{obj.cls}.getattr", of(obj))))
    for ref in sorted_refs(base):
        if isinstance(ref, Ext):
            out.append(of(Ext(run.catalog.any_source(ref.qname) or f"{ref.qname}.getattr")))
        if isinstance(ref, Cls):
            for n, value in sorted(run.class_env.get(ref, {}).items()):
                if any(isinstance(r, Func) for r in value.refs) and not n.startswith("__"):
                    out.append(_classes.class_member(run, frame, ref, n, site))
        if isinstance(ref, Mod):
            module = run.project.module(ref.name)
            out.extend(
                v for v in (module.env.values() if module else ()) if any(isinstance(r, Func | Cls) for r in v.refs)
            )
    if not out and not base.exact:
        return labelled(run.unknown(frame, site, "getattr() with a name that is not a constant"))
    return join(*out, default)


def members(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`inspect.getmembers(o)`: pairs of a name and what `getattr` gives for it."""
    pair = Obj("tuple", None, frame.env, frame.path)
    pair.fields[0] = CLEAN
    pair.fields[1] = get_attribute(run, frame, name, _call.Args((args.get(0, "object") or EMPTY, CLEAN)), site)
    obj = run.new(frame, "list")
    obj.exact = False
    obj.elem = of(pair)
    return of(obj)


def set_attribute(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    base, key, value = args.get(0) or EMPTY, args.get(1) or EMPTY, args.get(2) or EMPTY
    known = _eval.single(key)
    for obj in base.objects():
        run.write(frame, obj, known[1] if known else None, value)
    return EMPTY


def partial(_run: Run, _frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`functools.partial`."""
    if not args.positional:
        return EMPTY
    return of(Partial(args.positional[0], args.positional[1:], args.keywords))


def super_(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    owner = frame.owner
    me = frame.self_value
    if args.positional:
        owner = next((r for r in sorted_refs(args.positional[0]) if isinstance(r, Cls)), owner)
        me = args.get(1) or me
    if me is None and frame.definition is not None and frame.definition.name == "__new__":
        me = frame.vars.get(frame.definition.params[0].name) if frame.definition.params else None
    del run
    return of(Super(owner, me)) if owner is not None and me is not None else EMPTY


def type_of(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`type(x)`: a class of ours has no foreign name; `type(name, bases, names)` makes one."""
    if len(args.positional) == 3:
        thing = run.new(frame, "ext", "types.SimpleNamespace")
        thing.fields = {key: item for key, item, _ in _eval.items_of(args.positional[2])}
        thing.elem = join(*(o.elem for o in args.positional[2].objects()), labelled(args.positional[2].labels))
        bases = _eval.iterate(run, frame, args.positional[1])
        return of(thing, *(r for r in sorted_refs(bases) if isinstance(r, Cls)))
    classes = [o.cls for o in (args.get(0) or EMPTY).objects() if o.kind == "inst"]
    return of(DATA, *classes) if len(args.positional) == 1 else CLEAN


def replaced(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`dataclasses.replace(x, ...)` and `copy.replace`."""
    out: list[Value] = []
    first = args.get(0, "obj") or EMPTY
    for obj in first.objects():
        if obj.kind == "tool":
            out.append(_ours.tool(run, frame, args.rest(1), site, obj))
        else:
            copy = _models.copied(run, frame, obj)
            copy.fields.update(dict(args.keywords))
            out.append(of(copy))
    if not out:
        keywords = dict(args.keywords)
        if "untrusted_output" in keywords or "handler" in keywords:
            base = Obj("tool", None, frame.env, frame.path)
            base.shared = True
            base.fields["?"] = CLEAN
            return _ours.tool(run, frame, args.rest(1), site, base)
    return join(*out, labelled(first.labels))


def formatted_traceback(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`traceback.format_exc()`: the text of the exception that is being handled."""
    del run
    caught = [*frame.caught[-1:], *args.positional]
    return labelled(join_labels([args.labels(), *(flat(join(v, _errors.causes(v))) for v in caught)]), DATA)


def exc_info(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    obj = run.new(frame, "tuple")
    caught = join(*frame.caught[-1:])
    obj.fields = {0: CLEAN, 1: caught, 2: caught}
    return of(obj)


def imported(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`importlib.import_module(name)`."""
    first = args.get(0, "name") or args.get(-1, "module_name") or EMPTY
    names = first.strings()
    if not names:
        return labelled(run.unknown(frame, site, "a module imported by a computed name"))
    out: list[Value] = []
    for name in sorted(names):
        level = len(name) - len(name.lstrip("."))
        out.append(of(_names.module_ref(run, run.project.absolute(frame.module, level, name.lstrip(".")))))
    return join(*out)


def adapter(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`pydantic.TypeAdapter(X)`."""
    obj = run.new(frame, "ext", "pydantic.TypeAdapter")
    obj.fields["[adapts]"] = args.get(0, "type") or EMPTY
    return of(obj)


def adapt(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, _site: int) -> Value:
    """`TypeAdapter(X).validate_python(data)`."""
    if ".dump" in name:
        return labelled(args.labels(), DATA)
    labels = args.labels()
    run.event(frame, labels)
    types = [obj.fields.get("[adapts]", EMPTY) for obj in receiver.objects()]
    return (
        join(*(_construct.by_type(run, frame, known, labels) for known in types)) if types else labelled(labels, DATA)
    )


def literals(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`typing.get_args(Literal[...])`."""
    obj = run.new(frame, "tuple")
    first = args.get(0, "tp") or EMPTY
    obj.elem = Value(first.labels, frozenset({DATA}), first.consts, exact=bool(first.consts))
    return of(obj)


def set_context(run: Run, frame: Frame, _name: str, receiver: Value, args: _call.Args, _site: int) -> Value:
    """`ContextVar.set(value)`."""
    for obj in receiver.objects():
        run.write(frame, obj, "[value]", args.get(0) or EMPTY)
    return CLEAN


def get_context(_run: Run, _frame: Frame, _name: str, receiver: Value, args: _call.Args, _site: int) -> Value:
    return join(
        *(o.fields.get("[value]", EMPTY) for o in receiver.objects()),
        *(o.elem for o in receiver.objects()),
        args.get(0) or EMPTY,
    )


def exec_module(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`eval`, `exec`: what unknown code gives."""
    labels = join_labels([args.labels(), run.source(frame, site, name.removeprefix("builtins."), "exec")])
    run.event(frame, labels)
    for value in (*run.redirected, *args.positional[1:]):
        for obj in value.objects():
            run.write(frame, obj, None, labelled(labels))
    return labelled(labels, DATA)


def reflected(run: Run, frame: Frame, name: str, receiver: Value, _args: _call.Args, site: int) -> Value:
    """`MetaData.reflect(engine)`: the tables are as the database names them."""
    labels = run.source(frame, site, name, "sql")
    run.event(frame, labels)
    for obj in receiver.objects():
        run.write(frame, obj, None, labelled(labels))
    return CLEAN


def configuration(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """TOML and INI files are configuration, which is the owner's; text from elsewhere stays what it is."""
    labels = {r: la for r, la in args.labels().items() if la.origin != "file" or run.catalog.forced}
    run.event(frame, labels)
    return labelled(labels, DATA)


def field_default(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`Field(default)`, `field(default_factory=...)`: what the class variable stands for."""
    factory = args.get(-1, "default_factory") or args.get(-1, "factory")
    if factory is not None:
        return _call.call(run, frame, factory, _call.NOTHING, site)
    default = args.get(0, "default")
    if default is None or (default.exact and default.consts == frozenset({("str", "...")})):
        return EMPTY
    return default


def made_by_factory(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`Factory(list)`; what one makes of the instance itself is what the field is said to be."""
    if args.get(1, "takes_self") is not None:
        return EMPTY
    return _call.call(run, frame, args.get(0, "factory") or EMPTY, _call.NOTHING, site)


FIELDS: Final = (
    "pydantic.Field", "pydantic.fields.Field", "pydantic.PrivateAttr", "pydantic.v1.Field",
    "dataclasses.field",
    "attr.ib", "attr.attrib", "attrs.field", "attr.field", "msgspec.field", "sqlmodel.Field",
    "langchain_core.pydantic_v1.Field", "pydantic.v1.PrivateAttr",
)  # fmt: skip
CLEAN_BUILTINS: Final = (
    "len", "int", "float", "bool", "abs", "hash", "ord", "round", "isinstance", "issubclass", "callable", "id", "any",
    "all", "hasattr", "complex", "range", "pow", "divmod", "dir", "input",
)  # fmt: skip

SPECIAL: Final[dict[str, Special]] = {
    **{f"builtins.{name}": clean for name in CLEAN_BUILTINS},
    **dict.fromkeys(("builtins.int.from_bytes", "builtins.float.fromhex"), clean),
    **dict.fromkeys(("decimal.Decimal", "fractions.Fraction", "uuid.UUID", "ipaddress.IPv4Address"), clean),
    **{f"builtins.{name}": text for name in ("str", "repr", "format", "ascii")},
    **{
        f"builtins.{name}": _containers.container
        for name in ("list", "set", "frozenset", "tuple", "sorted", "reversed")
    },
    "collections.deque": _containers.container,
    "collections.Counter": _containers.counted,
    "builtins.print": printed,
    "contextlib.redirect_stdout": redirected,
    "contextlib.redirect_stderr": redirected,
    "csv.writer": writer,
    "csv.DictWriter": writer,
    "builtins.dict": _containers.mapping,
    "collections.OrderedDict": _containers.mapping,
    "collections.defaultdict": _containers.mapping,
    "collections.ChainMap": _containers.mapping,
    "types.MappingProxyType": _containers.mapping,
    "weakref.WeakValueDictionary": _containers.mapping,
    "weakref.WeakKeyDictionary": _containers.mapping,
    "weakref.WeakSet": _containers.container,
    "builtins.enumerate": _containers.enumerated,
    "builtins.zip": _containers.enumerated,
    "itertools.zip_longest": _containers.enumerated,
    "itertools.product": _containers.enumerated,
    "builtins.next": _containers.item,
    "builtins.anext": _containers.item,
    "builtins.min": _containers.item,
    "builtins.max": _containers.item,
    "builtins.getattr": get_attribute,
    "builtins.setattr": set_attribute,
    "builtins.object.__setattr__": set_attribute,
    "builtins.object.__getattribute__": get_attribute,
    "inspect.getmembers": members,
    "builtins.super": super_,
    "builtins.type": type_of,
    "builtins.vars": _containers.variables,
    "dataclasses.asdict": _containers.variables,
    "attr.asdict": _containers.variables,
    "attrs.asdict": _containers.variables,
    "dataclasses.astuple": _containers.container,
    "dataclasses.replace": replaced,
    "copy.replace": replaced,
    "functools.partial": partial,
    "functools.partialmethod": partial,
    "builtins.open": _opened.opened,
    "io.open": _opened.opened,
    "codecs.open": _opened.opened,
    "gzip.open": _opened.opened,
    "bz2.open": _opened.opened,
    "lzma.open": _opened.opened,
    "aiofiles.open": _opened.opened,
    "aiofiles.threadpool.open": _opened.opened,
    "anyio.open_file": _opened.opened,
    "smart_open.open": _opened.opened,
    "fsspec.open": _opened.opened,
    "subprocess.run": _opened.process,
    "subprocess.call": _opened.process,
    "subprocess.check_call": _opened.process,
    "subprocess.Popen": _opened.process,
    "asyncio.create_subprocess_exec": _opened.process,
    "asyncio.create_subprocess_shell": _opened.process,
    "traceback.format_exc": formatted_traceback,
    "traceback.format_exception": formatted_traceback,
    "sys.exc_info": exc_info,
    "sys.exception": formatted_traceback,
    "importlib.import_module": imported,
    "builtins.__import__": imported,
    "langchain_core.utils.guard_import": imported,
    "langchain_core.utils.utils.guard_import": imported,
    "transformers.utils.import_utils.import_module": imported,
    "pydantic.TypeAdapter": adapter,
    "importlib.resources.files": _beside.resource,
    "importlib_resources.files": _beside.resource,
    "typing.get_args": literals,
    "typing_extensions.get_args": literals,
    "builtins.eval": exec_module,
    "builtins.exec": exec_module,
    "runpy.run_path": exec_module,
    **{
        f"{m}.{n}": configuration
        for m in ("tomllib", "tomli", "toml", "tomlkit", "pytoml")
        for n in ("load", "loads", "parse")
    },
    **dict.fromkeys(FIELDS, field_default),
    **dict.fromkeys(("attr.Factory", "attrs.Factory"), made_by_factory),
    "types.SimpleNamespace": _containers.simple_namespace,
    "asyncio.Queue": _containers.queue,
    "queue.Queue": _containers.queue,
    "queue.SimpleQueue": _containers.queue,
    "asyncio.LifoQueue": _containers.queue,
    "asyncio.PriorityQueue": _containers.queue,
    "queue.LifoQueue": _containers.queue,
    "queue.PriorityQueue": _containers.queue,
    **{f"multiprocessing.{name}": _containers.queue for name in ("Queue", "JoinableQueue", "SimpleQueue")},
}


def made_class(run: Run, _frame: Frame, _name: str, _receiver: Value, _args: _call.Args, _site: int) -> Value:
    """`type.__new__(...)` in a metaclass: the class that is made just now."""
    return of(*run.making[-1:])


def itself(_run: Run, _frame: Frame, _name: str, receiver: Value, _args: _call.Args, _site: int) -> Value:
    """An instance of a class that was made at run time shows what the class has."""
    return receiver


def made_anew(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    """`super().__new__(cls)`, and `super().__call__()` in a metaclass."""
    return _construct.anew(run, frame, name, receiver, args, site)


SpecialMethod = Callable[[Run, Frame, str, Value, "_call.Args", int], Value]

SPECIAL_METHODS: Final[dict[str, SpecialMethod]] = {
    "builtins.type.__new__": made_class,
    "builtins.type.__call__": made_anew,
    "builtins.object.__new__": made_anew,
    "pathlib.Path.open": _opened.path_open,
    "sqlalchemy.MetaData.reflect": reflected,
    **{
        f"pathlib.Path.{n}": _opened.path_read
        for n in ("read_text", "read_bytes", "iterdir", "glob", "rglob", "walk", "readlink")
    },
    **{f"csv.{kind}.{n}": written for kind in ("writer", "DictWriter") for n in ("writerow", "writerows")},
    "pydantic.TypeAdapter.validate_python": adapt,
    "pydantic.TypeAdapter.validate_json": adapt,
    "pydantic.TypeAdapter.dump_python": adapt,
    "pydantic.TypeAdapter.dump_json": adapt,
    "contextvars.ContextVar.set": set_context,
    "types.SimpleNamespace.__call__": itself,
    "contextvars.ContextVar.get": get_context,
}
