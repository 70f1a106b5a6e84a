"""Methods whose effect is known without reading them: of plain data, of containers, of things outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tools_check import (
    _beside,
    _call,
    _classes,
    _construct,
    _containers,
    _elsewhere,
    _errors,
    _eval,
    _exec,
    _fields,
    _formats,
    _frameworks,
    _hooks,
    _ours,
    _outside,
    _prompts,
    _stdlib,
)
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Labels,
    Method,
    Obj,
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

# Methods of str, bytes and numbers that give a number or a truth value.
SCALAR: Final = frozenset(
    {"startswith", "endswith", "isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal", "isspace",
     "isupper", "islower",
     "isidentifier", "istitle", "isascii", "isprintable", "find", "rfind", "index", "rindex", "count",
     "__len__", "tell", "fileno", "isatty",
     "__contains__", "__eq__", "bit_length", "is_integer", "total_seconds", "is_dir", "is_file",
     "is_symlink", "exists", "stat", "timestamp", "toordinal", "weekday",
     "isoweekday", "error_count", "recv_exit_status", "count_documents",
     "estimated_document_count",
     "issubset", "issuperset", "isdisjoint", "__hash__", "__bool__", "hexdigest", "digest"}
)  # fmt: skip
# Of these names, those that give a number or a truth value in other classes too: a page's `find` gives what it found.
SCALAR_OUTSIDE: Final = SCALAR - {"find", "rfind", "index", "rindex", "stat", "digest"}
# Methods of str that do not fail on what the text says.
HARMLESS: Final = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold", "swapcase",
     "split", "rsplit",
     "splitlines", "partition", "rpartition", "replace", "join", "zfill", "ljust", "rjust", "center",
     "expandtabs",
     "removeprefix", "removesuffix", "append", "extend", "add", "items", "keys", "values", "get", "copy",
     "update"}
)  # fmt: skip
TAKES_OTHERS: Final = frozenset(
    {
        "join",
        "format",
        "format_map",
        "replace",
        "__add__",
        "__mod__",
        "removeprefix",
        "ljust",
        "rjust",
        "center",
        "translate",
        "append",
        "get",
        "pop",
        "setdefault",
    }
)


# Classes of Python that a class of a project may be one of: what they are made of is in them.
CONTAINERS: Final = frozenset(
    {"builtins.dict", "builtins.list", "builtins.set", "builtins.tuple", "builtins.str", "builtins.bytes",
     "collections.OrderedDict", "collections.UserDict", "collections.UserList", "collections.UserString",
     "collections.defaultdict", "collections.deque"}
)  # fmt: skip


def call_method(run: Run, frame: Frame, ref: Method, args: _call.Args, site: int) -> Value | None:
    """What calling a bound method gives."""
    receiver = ref.receiver
    match ref.kind:
        case "data":
            return data_method(run, frame, ref, args, site)
        case "list" | "tuple" | "set" | "dict" | "ctx" | "future" | "iterator":
            return join(*(container_method(run, frame, obj, ref.name, args, site) for obj in receiver.objects()))
        case "ext":
            return outside_method(run, frame, ref, args, site)
        case "foreign":
            return join(*(_ours.foreign_method(run, frame, obj, ref.name, args, site) for obj in receiver.objects()))
        case "reply" | "tool" | "number":
            return CLEAN
        case "handler":
            run.note("handler-bypass", frame, site, "handler")
            return CLEAN
        case "model":
            return validated(run, frame, ref, args)
        case "record":
            return record_method(run, frame, ref, args)
        case "typed":
            return receiver
        case "registrar":
            first = args.get(0) or EMPTY
            for item in _frameworks.functions_in(first):
                _frameworks.record(run, ref.name, item)
            return first
        case "init":
            _frameworks.outside_toolkit(run, frame, receiver, args, "__init__")
            for obj in receiver.objects():
                for name, value in args.keywords:
                    run.write(frame, obj, name, value)
                if not CONTAINERS.isdisjoint(_classes.mro(run, obj.cls)[1]):
                    run.write(frame, obj, None, labelled(args.labels()))
                if _classes.is_exception(run, obj.cls):
                    obj.elem = join(obj.elem, *args.positional)
                    _errors.told(run, frame, obj, args.positional)
            return EMPTY
        case _:
            return labelled(join_labels([flat(receiver), args.labels()]), DATA)


# What only a path has: text that some other library made a path of is read as one.
PATH_READS: Final = frozenset({"read_text", "read_bytes", "iterdir", "rglob"})
PLAIN: Final = frozenset(name for kind in (str, bytes, dict, list, set) for name in dir(kind))


def data_method(run: Run, frame: Frame, ref: Method, args: _call.Args, site: int) -> Value:
    """A method of a string, a number, or of a JSON-like value of which only the labels are known."""
    receiver = ref.receiver
    if ref.name == "handler" and _elsewhere.is_from(receiver.labels):
        run.note("handler-bypass", frame, site, "handler")
    if ref.name in SCALAR:
        return CLEAN
    if ref.name in PATH_READS and not receiver.objects():
        return outside_method(run, frame, Method("ext", f"pathlib.Path.{ref.name}", receiver), args, site)
    labels: list[Labels] = [receiver.labels]
    if ref.name not in PLAIN and _prompts.is_client(run, receiver.labels):
        _prompts.reached(run, frame, site, f"{ref.name}()", args.labels())
    known = _eval.single(receiver)
    if ref.name == "format" and known is not None and isinstance(known[1], str):
        for value in args.values():
            _eval.note_foreign(run, frame, value, "`.format()`")
        placed = _formats.by_fields(run, frame, known[1], args)
        if placed is not None:
            return labelled(placed, DATA)
    if ref.name in TAKES_OTHERS or receiver.labels:
        for value in args.values():
            _eval.note_foreign(run, frame, value, f"`.{ref.name}()`")
            if ref.name == "join":
                _eval.note_foreign(run, frame, _eval.iterate(run, frame, value), "`.join()`")
                items = flat(_eval.iterate(run, frame, value))
                keyed = bool(value.refs) and all(r.__class__ is Obj and r.kind == "dict" for r in value.refs)
                labels.append(items if keyed else join_labels([flat(value), items]))
            else:
                labels.append(_classes.shown(run, frame, value, site))
    if (
        ref.name in ("lower", "upper", "strip")
        and known is not None
        and isinstance(known[1], str)
        and not args.values()
    ):
        return const(getattr(known[1], ref.name)())
    if ref.name in CUTS and receiver.exact and not receiver.labels:
        return cut_at(run, frame, ref.name, receiver, args)
    merged = join_labels(labels)
    if merged:
        if ref.name not in HARMLESS:
            run.event(frame, merged)
        keep = [r for r in receiver.refs if isinstance(r, Obj) and r.kind == "ext"]
        out = labelled(merged, DATA, *keep)
        return (
            out
            if not any(args.values())
            else join(out, _call.callbacks(run, frame, args, site, _call.Args((labelled(merged),))))
        )
    if ref.name not in PLAIN and args.has_function():  # of a thing of which only this is known: it may call it
        return join(CLEAN, _call.callbacks(run, frame, args, site))
    return CLEAN


def heard(run: Run, frame: Frame, obj: Obj, sent: Value | None, thrown: Value | None, site: int) -> Value:
    """What a generator gives once something is sent to it, or thrown into it."""
    if not obj.keys.refs or not (flat(sent) if sent is not None else flat(thrown or EMPTY)):
        return EMPTY
    with run.sending(sent) if sent is not None else run.throwing(labelled(flat(thrown or EMPTY))):
        again = _call.call(run, frame, obj.keys, _call.NOTHING, site)
    return join(*(_eval.iterate_object(run, frame, other) for other in again.objects() if other.kind == "list"))


def stops(run: Run, frame: Frame, generators: list[Obj]) -> None:
    """A generator that ends raises what it returns: `except StopIteration as stop: stop.value`."""
    for obj in generators:
        if "[generator]" in obj.fields:
            ended = run.new(frame, "ext", "builtins.StopIteration")
            ended.fields["value"] = obj.fields["[generator]"]
            _exec.add_event(frame, ("raised", "builtins.StopIteration"), of(ended))


CUTS: Final = frozenset({"partition", "rpartition", "split", "rsplit"})


def cut_at(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args) -> Value:
    """The parts of constants: the name of a module and of its class, cut apart."""
    separators = (args.get(0, "sep") or EMPTY).const_values()
    limits = (args.get(1, "maxsplit") or EMPTY).const_values()
    obj = run.new(frame, "list")
    obj.exact = False
    if len(separators) != 1 or not isinstance(separators[0], str) or not separators[0] or not receiver.strings():
        obj.elem = CLEAN
        return of(obj)
    given: list[Any] = [separators[0]]
    if not name.endswith("partition") and len(limits) == 1 and isinstance(limits[0], int):
        given.append(limits[0])
    for text in sorted(receiver.strings()):
        for i, part in enumerate(getattr(text, name)(*given)):
            obj.fields[i] = join(obj.fields.get(i, EMPTY), const(part))
    return of(obj)


def container_method(run: Run, frame: Frame, obj: Obj, name: str, args: _call.Args, site: int) -> Value:
    """A method of a list, dict, set, deque or finished task."""
    if obj.kind == "future":
        return future_method(run, frame, obj, name, args, site)
    if obj.kind == "dict":
        return dict_method(run, frame, obj, name, args, site)
    first = args.get(0)
    if obj.cls == _stdlib.STREAM and name in ("send", "send_nowait") and first is not None:
        run.write(frame, obj, None, first)
        return EMPTY
    match name:
        case "append" | "add" | "appendleft" | "put" | "put_nowait":
            if first is not None:
                run.write(frame, obj, None, first)
            return EMPTY
        case "insert":
            run.write(frame, obj, None, args.get(1) or EMPTY)
            return EMPTY
        case "difference":
            return of(copied(run, frame, obj))
        case "intersection":
            return _eval.common(run, frame, of(obj), args.get(0))
        case "union":
            return _eval.combined(run, frame, of(obj), join(*args.positional))
        case "extend" | "update" | "extendleft" | "__iadd__":
            for value in args.positional:
                run.write(frame, obj, None, join(_eval.iterate(run, frame, value), labelled(value.labels)))
            return of(obj)
        case (
            "pop"
            | "popleft"
            | "get"
            | "get_nowait"
            | "__getitem__"
            | "__next__"
            | "send"
            | "receive"
            | "receive_nowait"
            | "recv"
        ):
            if name in ("__next__", "send"):
                stops(run, frame, [obj])
            if name == "send" and first is not None:
                return join(_eval.iterate_object(run, frame, obj), heard(run, frame, obj, first, None, site))
            return _eval.iterate_object(run, frame, obj)
        case "asend" if "[generator]" in obj.fields and first is not None:
            return join(_eval.iterate_object(run, frame, obj), heard(run, frame, obj, first, None, site))
        case "throw" | "athrow" if "[generator]" in obj.fields and first is not None:
            return join(_eval.iterate_object(run, frame, obj), heard(run, frame, obj, None, first, site))
        case "copy" | "__iter__" | "symmetric_difference" | "clone":
            return of(obj)
        case "index" | "count" | "qsize" | "__len__" | "issubset" | "issuperset" | "isdisjoint" | "empty":
            return CLEAN
        case "sort" | "reverse" | "clear" | "remove" | "discard" | "close" | "task_done":
            return EMPTY
        case "_replace" if names := _stdlib.places(obj):
            made = copied(run, frame, obj)
            made.fields.update((names.index(word), value) for word, value in args.keywords if word in names)
            return of(made)
        case "_asdict" if names := _stdlib.places(obj):
            made = run.new(frame, "dict")
            made.fields.update((word, _stdlib.named_item(obj, word) or EMPTY) for word in names)
            return of(made)
        case "_asdict" | "_replace":
            return of(obj)
        case _:
            return labelled(flat(of(obj)), DATA)


def future_method(run: Run, frame: Frame, obj: Obj, name: str, args: _call.Args, site: int) -> Value:
    """A method of a task, or of what an executor gives."""
    match name:
        case "result" | "get" | "get_result" | "value":
            return obj.elem
        case "exception":
            return obj.fields.get("[error]", EMPTY)
        case "set_result":
            run.write(frame, obj, None, args.get(0, "result") or EMPTY)
            return EMPTY
        case "set_exception":
            run.write(frame, obj, "[error]", args.get(0, "exception") or EMPTY)
            run.write(frame, obj, None, EMPTY)
            return EMPTY
        case "add_done_callback":
            _call.call(run, frame, args.get(0, "fn") or EMPTY, _call.Args((of(obj),)), site)
            return EMPTY
        case _:
            return EMPTY


def dict_method(run: Run, frame: Frame, obj: Obj, name: str, args: _call.Args, site: int) -> Value:
    """A method of a dict."""
    first = args.get(0)
    key = _eval.single(first) if first is not None else None
    match name:
        case "get" | "pop" | "setdefault" | "__getitem__":
            found = _eval.item_of(run, frame, obj, key[1] if key else None, first or EMPTY, key is not None)
            default = args.get(1) or EMPTY
            if name == "setdefault":
                run.write(frame, obj, key[1] if key else None, default)
                return join(found, default, of(*default.refs))
            if name == "pop" and key is not None:
                run.remove(frame, obj, key[1])
            if name == "get" and len(args.positional) < 2 and not obj.fields and obj.elem is EMPTY:
                return join(found, default)
            return join(found, default)
        case "items":
            pair = Obj("tuple", None, frame.env, frame.path)
            pair.fields[0] = _eval.iterate_object(run, frame, obj)
            pair.fields[1] = obj.everything()
            out = run.new(frame, "list")
            out.elem = of(pair)
            out.exact = False
            return of(out)
        case "most_common" if obj.cls == _containers.COUNTER:
            return dict_method(run, frame, obj, "items", _call.NOTHING, site)
        case "total" if obj.cls == _containers.COUNTER:
            return CLEAN
        case "update" | "subtract" if obj.cls == _containers.COUNTER:
            obj.keys = join(obj.keys, *(_eval.iterate(run, frame, value) for value in args.positional))
            obj.exact = False
            return EMPTY
        case "keys" | "elements":
            out = run.new(frame, "list")
            out.elem = _eval.iterate_object(run, frame, obj)
            return of(out)
        case "values" | "popitem":
            out = run.new(frame, "list")
            out.elem = obj.everything()
            return of(out)
        case "update" | "__setitem__":
            for value in args.positional:
                taken_in(run, frame, obj, value)
            for k, item in args.keywords:
                run.write(frame, obj, k, item)
            return EMPTY
        case "copy":
            return of(copied(run, frame, obj))
        case "clear" | "move_to_end":
            return EMPTY
        case _:
            del site
            return labelled(flat(of(obj)), DATA)


def taken_in(run: Run, frame: Frame, obj: Obj, value: Value) -> None:
    """`obj.update(value)`, `obj |= value`: what the other has for certain takes the place of what was there."""
    for other in value.objects():
        pairs = other.kind != "dict"
        run.write(frame, obj, None, _eval.iterate_object(run, frame, other) if pairs else other.elem)
        obj.keys = join(obj.keys, other.keys)
    if value.labels:
        run.write(frame, obj, None, labelled(value.labels))
        obj.keys = join(obj.keys, labelled(value.labels))
    for key, item, certain in _eval.items_of(value):
        if certain:
            run.write(frame, obj, key, item)
        else:
            run.merge(obj, key, item)


def copied(run: Run, frame: Frame, obj: Obj) -> Obj:
    """A shallow copy of a container."""
    out = run.new(frame, obj.kind, obj.cls)
    out.fields = dict(obj.fields)
    out.elem, out.keys, out.exact, out.over = obj.elem, obj.keys, obj.exact, obj.over
    return out


def record_method(run: Run, frame: Frame, ref: Method, args: _call.Args) -> Value:
    """`model_dump`, `_asdict` and their kin keep what the fields hold."""
    out: list[Value] = []
    for obj in ref.receiver.objects():
        if ref.name in ("model_dump_json", "json"):
            out.append(labelled(join_labels([flat(obj.elem), *map(flat, chosen(obj, args).values())]), DATA))
        elif ref.name in ("copy", "model_copy", "_replace"):
            made = copied(run, frame, obj)
            for name, value in args.keywords:
                if name == "update":
                    _eval.spread(run, made, value)
                else:
                    made.fields[name] = value
            out.append(of(made))
        else:
            made = Obj("dict", None, frame.env, frame.path)
            made.fields = chosen(obj, args)
            made.elem = obj.elem
            out.append(of(made))
    return join(*out)


def chosen(obj: Obj, args: _call.Args) -> dict[Any, Value]:
    """The fields that `model_dump(include=..., exclude=...)` writes out; those that nobody can name are all of them."""
    names = [names_in(args.get(-1, word)) for word in ("include", "exclude")]
    wanted = obj.fields.keys() if names[0] is None else obj.fields.keys() & names[0]
    return {name: value for name, value in obj.fields.items() if name in wanted and name not in (names[1] or ())}


def names_in(value: Value | None) -> set[str] | None:
    """The names in a set, list or dict of constants; None where they are not known."""
    objs = value.objects() if value is not None else []
    if len(objs) != 1 or objs[0].elem is not EMPTY or not objs[0].exact:
        return None
    if objs[0].kind == "dict":
        return {name for name in objs[0].fields if isinstance(name, str)}
    known = [_eval.single(item) for item in objs[0].fields.values()]
    return {str(found[1]) for found in known if found is not None} if all(known) else None


def validated(run: Run, frame: Frame, ref: Method, args: _call.Args) -> Value:
    """`Model.model_validate(data)`: every field from the data, by its type."""
    labels = args.labels()
    run.event(frame, labels)
    out: list[Value] = []
    for cls in sorted_refs(ref.receiver):
        if isinstance(cls, Cls) and _classes.is_settings(run, cls):
            out.append(_classes.typed_instance(run, cls))
        elif isinstance(cls, Cls) and ref.name in ("model_construct", "construct"):
            out.append(unchecked(run, frame, cls, args))
        elif isinstance(cls, Cls):
            out.append(_construct.validated_instance(run, frame, cls, labels))
    return join(*out)


def unchecked(run: Run, frame: Frame, cls: Cls, args: _call.Args) -> Value:
    """`Model.model_construct(**data)`: nothing is validated, whatever the types say."""
    obj = run.new(frame, "inst", cls)
    obj.fields[_classes.UNCHECKED] = CLEAN
    for name, _, _ in _fields.fields(run, cls):
        given = args.get(-1, name)
        obj.fields[name] = given if given is not None else _call.lookup_key(args.dstar or EMPTY, name)
    return of(obj)


def outside_method(run: Run, frame: Frame, ref: Method, args: _call.Args, site: int) -> Value:
    """A method of an object whose class is not among the files."""
    qname = run.catalog.resolve(ref.name)
    if args.keywords:
        _hooks.given(run, frame, qname, args, site)
    tool = _frameworks.made_by(run, frame, qname, args)
    if tool is not None:
        return tool
    _frameworks.outside_toolkit(run, frame, ref.receiver, args, qname.rpartition(".")[2])
    shaped = _outside.shaped(run, frame, qname, args, site)
    if shaped is not None:
        return shaped
    owner, _, method = qname.rpartition(".")
    receiver = ref.receiver
    if run.catalog.is_clean(owner, method):
        run.event(frame, flat(receiver))  # `raise_for_status` quotes the other side
        return CLEAN
    if method in SCALAR_OUTSIDE and not run.catalog.call(qname).listed:
        return CLEAN
    special = next(
        (f for name in (owner, *run.catalog.ancestors(owner)) if (f := special_method(f"{name}.{method}"))), None
    )
    if special is not None:
        return special(run, frame, qname, receiver, args, site)
    entry = run.catalog.call(qname)
    if run.waiting == (frame.module.path, site) and run.catalog.is_waited_for(entry):
        entry = replace(entry, kind="source", origin=entry.origin or owner)
    mine = flat(receiver, handed=True)
    foreign = any(r.kind == "foreign" for r in mine)
    if entry.kind == "own":
        effect = run.catalog.effects.get(entry.qname) or run.catalog.effects.get(qname)
        if effect:
            run.event(frame, run.source(frame, site, qname, effect))
        return of(run.new(frame, "ext", entry.returns)) if entry.returns else CLEAN
    theirs = args.labels()
    if theirs and run.catalog.reads_prompts(qname):
        _prompts.reached(run, frame, site, f"{entry.qname}()", theirs)
    if entry.returns == "registry.Foreign":
        labels = mine if foreign else run.source(frame, site, entry.qname, entry.origin)
        return made(run, frame, entry.returns, labels, None)
    given = run.source(frame, site, entry.qname, entry.origin) if entry.kind == "source" and not foreign else mine
    result: list[Value] = [_call.callbacks(run, frame, args, site, _call.Args((labelled(given),)))]
    if entry.kind == "source" and not foreign:
        labels = run.source(frame, site, entry.qname, entry.origin)
        if entry.qname not in run.catalog.quiet:
            run.event(frame, labels)
        _hooks.handed(run, frame, receiver, args, labels, site)
        result.append(made(run, frame, entry.returns, labels, None))
        return join(*result)
    labels = join_labels([mine, theirs])
    if entry.kind == "unknown" and not foreign:
        library = run.catalog.library(qname)
        if library is None or library.default == "unknown":
            labels = join_labels([labels, run.unknown(frame, site, f"{qname}()")])
    if owner == "pathlib.Path" and _beside.packaged(receiver) and all(value.exact for value in args.values()):
        return _beside.resource(run, frame, qname, args, site)
    if theirs and entry.kind != "source" and not run.catalog.is_immutable(qname):
        for obj in receiver.objects():
            run.write(frame, obj, None, labelled(theirs))
    if labels:
        _hooks.handed(run, frame, receiver, args, labels, site)
    if not run.catalog.is_silent(qname):
        run.event(frame, labels)
    result.append(made(run, frame, entry.returns or same_class(receiver, entry.kind), labels, None))
    return join(*result)


def special_method(qname: str) -> _outside.SpecialMethod | None:
    return _outside.SPECIAL_METHODS.get(qname) or _stdlib.METHODS.get(qname)


def same_class(receiver: Value, kind: str) -> str | None:
    """Methods of a library that only computes are taken to give more of the same (a frame, a builder)."""
    if kind != "pass":
        return None
    return next((str(o.cls) for o in receiver.objects() if o.kind == "ext"), None)


def made(run: Run, frame: Frame, cls: str | None, labels: Labels, elem: Value | None) -> Value:
    """A thing from outside: an instance of a class when it is known, else plain data."""
    if cls is None:
        return labelled(labels, DATA)
    if cls == "registry.Foreign":
        obj = run.new(frame, "foreign")
        obj.elem = labelled(labels, DATA)
        return of(obj)
    obj = run.new(frame, "ext", cls)
    if cls in HOLDERS:
        obj.elem = labelled(labels)
        return of(obj)
    if elem is not None:
        obj.elem = elem
    return with_labels(of(obj), labels)


# Facts of our connectors: what is foreign in them stands in fields of its own, which are `Foreign`.
HOLDERS: Final = frozenset({"connectors.ingress.Fetched", "connectors.ingress.Ran", "connectors.ingress.Walked"})
