"""What a call gives: dispatches on what is called; functions of the project are followed, all else is
`_outside.py`'s."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tools_check import (
    _attributes,
    _beside,
    _classes,
    _construct,
    _eval,
    _frameworks,
    _hooks,
    _invoke,
    _kept,
    _models,
    _names,
    _offered,
    _opened,
    _outside,
    _spelled,
)
from tools_check._ir import Node, dotted
from tools_check._run import Frame, Run, definition_of
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    NO_LABELS,
    PLAIN_KINDS,
    Cls,
    Data,
    Ext,
    Func,
    Import,
    Labels,
    Method,
    Mod,
    Obj,
    Partial,
    Super,
    Value,
    Wrapped,
    flat,
    is_foreign,
    join,
    join_labels,
    labelled,
    of,
    sorted_refs,
)  # fmt: skip


class Args(NamedTuple):
    """The arguments of a call."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    star: Value | None = None
    dstar: Value | None = None

    def values(self) -> list[Value]:
        out = [*self.positional, *(v for _, v in self.keywords)]
        out.extend(v for v in (self.star, self.dstar) if v is not None)
        return out

    def labels(self) -> Labels:
        found = [labels for labels in (flat(v, handed=True) for v in self.values()) if labels]
        return join_labels(found) if found else {}

    def get(self, index: int, name: str = "") -> Value | None:
        """An argument by place or by name."""
        if 0 <= index < len(self.positional):
            return self.positional[index]
        for keyword, value in self.keywords:
            if keyword == name:
                return value
        return None

    def has_function(self) -> bool:
        return any(isinstance(ref, Func | Partial) for value in self.values() for ref in value.refs)

    def rest(self, start: int) -> Args:
        """The arguments after the first ones."""
        return Args(self.positional[start:], self.keywords, self.star, self.dstar)

    def digest(self, *, coarse: bool = False) -> Any:
        if coarse:
            return (
                tuple(v.kinds() for v in self.positional),
                tuple((k, v.kinds()) for k, v in self.keywords),
                self.star.kinds() if self.star else None,
                self.dstar.kinds() if self.dstar else None,
            )
        return (
            tuple(v.digest() for v in self.positional),
            tuple((k, v.digest()) for k, v in self.keywords),
            self.star.digest() if self.star else None,
            self.dstar.digest() if self.dstar else None,
        )


NOTHING: Final = Args()


def lookup_key(value: Value, name: str) -> Value:
    """An item of a `**mapping` by its name."""
    out: list[Value] = [labelled(value.labels)] if value.labels else []
    for obj in value.objects():
        if name in obj.fields:
            out.append(obj.fields[name])
        if not obj.is_firm(name):
            out.append(obj.elem)
    return join(*out)


def on_call(run: Run, frame: Frame, node: Node) -> Value:
    """Evaluate a call."""
    _, site, func_node, arg_nodes = node
    func = _eval.evaluate(run, frame, func_node)
    args = arguments(run, frame, arg_nodes)
    if func_node[0] == "a" and func.is_empty():
        func = _classes.by_name(run, func_node[2])
        if func.is_empty():
            func = _spelled.member(run, func_node[1], func_node[2], func)
    if func_node[0] == "a" and func_node[2] in WRITES and _beside.packaged(_eval.evaluate(run, frame, func_node[1])):
        _beside.rewritten(run, frame)
    if func_node[0] == "a" and func is CLEAN:  # a method that the catalogue knows to carry no words
        if is_clean_method(run, frame, func_node):
            run.event(frame, args.labels())
        return CLEAN
    if func_node[0] == "a" and _spelled.is_unknown(func):
        registrar = _spelled.called(run, func_node, args.values())
        if registrar is not None:
            return registrar
    result = call(run, frame, func, args, site, func_node)
    if func_node[0] == "a" and func_node[2] in INTO and arg_nodes:
        receiver = _eval.evaluate(run, frame, func_node[1])
        own = receiver.objects() and all(obj.cls in _opened.BUFFERS for obj in receiver.objects())
        labels = flat(receiver) if own else run.source(frame, site, f"{func_node[2]}()", "socket")
        _attributes.stain(run, frame, arg_nodes[0][2], labels)
    if arg_nodes and _spelled.last_name(func_node)[:1].isupper():
        _spelled.signed_in(run, func, arg_nodes, args, result)
    if run.frameworks is not None and arg_nodes:
        _offered.given(run, frame, node, func, args)
    if func_node[0] == "a" and not func.refs - {DATA} and not func.labels:
        labels = args.labels()
        if labels:
            _attributes.stain(run, frame, func_node[1], labels)
    return result


WRITES: Final = frozenset({"write_text", "write_bytes"})  # of a path; `open` is looked at for its mode


# Of a socket or a file: they fill the buffer that they are given.
INTO: Final = frozenset({"recv_into", "recvfrom_into", "readinto", "readinto1", "sock_recv_into"})


def is_clean_method(run: Run, frame: Frame, node: Node) -> bool:
    """Whether a method of a thing outside gives a number or a truth value, as the catalogue says."""
    base = _eval.evaluate(run, frame, node[1])
    found = any(obj.kind == "ext" and run.catalog.is_clean(str(obj.cls), node[2]) for obj in base.objects())
    if found:
        run.event(frame, flat(base))  # `raise_for_status` quotes the other side
    return found


def arguments(run: Run, frame: Frame, nodes: tuple[Node, ...]) -> Args:
    """Evaluate the arguments of a call."""
    positional: list[Value] = []
    keywords: list[tuple[str, Value]] = []
    star: Value | None = None
    dstar: Value | None = None
    for kind, keyword, node in nodes:
        value = _eval.evaluate(run, frame, node)
        if kind == 1:
            known = known_items(value) if star is None else None
            if known is not None:
                positional.extend(known)
            else:
                star = join(star, value) if star else value
        elif kind == 2:
            known_keys = known_mapping(value)
            if known_keys is not None:
                keywords.extend(known_keys)
                for word, item in known_keys:
                    _hooks.follows(run, word, item)
            else:
                dstar = join(dstar, value) if dstar else value
        elif keyword is not None:
            keywords.append((keyword, value))
            if keyword == "follow_redirects":
                _hooks.follows(run, keyword, value)
        elif star is not None:
            star = join(star, _wrapped_in_list(run, frame, value))
        else:
            positional.append(value)
    return Args(tuple(positional), tuple(keywords), star, dstar)


def _wrapped_in_list(run: Run, frame: Frame, value: Value) -> Value:
    obj = run.new(frame, "list")
    obj.elem = value
    return of(obj)


def known_items(value: Value) -> list[Value] | None:
    """The items of a list or tuple that is known item by item."""
    objs = value.objects()
    if len(objs) != 1 or value.labels or objs[0].kind not in ("list", "tuple") or objs[0].elem is not EMPTY:
        return None
    fields = objs[0].fields
    if list(fields) != list(range(len(fields))):
        return None
    return list(fields.values())


def known_mapping(value: Value) -> list[tuple[str, Value]] | None:
    """The items of a dict that is known key by key."""
    objs = value.objects()
    if len(objs) != 1 or value.labels or objs[0].kind != "dict" or objs[0].elem is not EMPTY or not objs[0].exact:
        return None
    if not all(isinstance(k, str) for k in objs[0].fields):
        return None
    return list(objs[0].fields.items())


def call(run: Run, frame: Frame, func: Value, args: Args, site: int, written: Node | str = "") -> Value:
    """What calling any of the referents gives; `written` is how the callee is spelled."""
    out: list[Value] = []
    resolved = False
    found = False
    several = len(func.refs) > 1
    for ref in sorted_refs(func):
        if found and isinstance(ref, Func):
            continue  # one callee that gives bytes of somebody else is enough
        value = call_one(run, frame, ref, args, site)
        if value is not None:
            resolved = True
            out.append(value)
            found = found or (several and run.dispatching is None and run.coarse() and is_foreign(value))
    if func.labels and not resolved:
        labels = join_labels([func.labels, args.labels()])
        run.event(frame, labels)
        out.append(labelled(labels, DATA))
        resolved = True
    if not resolved:
        name = written if isinstance(written, str) else dotted(written)
        if func.is_empty() and is_nested(run, frame):
            unknown = NO_LABELS
        elif run.waiting == (frame.module.path, site):  # what somebody is waited for is not computed here
            unknown = run.source(frame, site, name or "the call", "outside")
        else:
            unknown = run.unknown(frame, site, f"{name or 'the call'}()")
        labels = join_labels([args.labels(), unknown])
        out.append(labelled(labels, DATA))
        out.append(callbacks(run, frame, args, site))
    return join(*out)


def is_nested(run: Run, frame: Frame) -> bool:
    """Whether a function runs within itself: what the innermost one called gave nothing, and the outermost one sees it."""
    return sum(1 for outer in run.stack if outer.definition is frame.definition) > 1


def call_one(run: Run, frame: Frame, ref: Any, args: Args, site: int) -> Value | None:
    """What calling one referent gives; None when it cannot be called as far as is known."""
    match ref:
        case Func():
            _frameworks.made_here(run, frame, ref, args)
            variants = run.variants.get((ref.module, ref.at))
            run.called.add((ref.module, ref.at))
            result = _invoke.invoke(run, frame, ref, args, site)
            if variants is None:
                return result
            if ref.self_value is not None:  # `functools.singledispatchmethod`
                me = ref.self_value
                variants = of(*(_classes.bind(r, me) if isinstance(r, Func) else r for r in variants.refs))
            return join(result, call(run, frame, variants, args, site))
        case Ext():
            _kept.put(run, frame, args, site)
            result = _outside.call(run, frame, ref.qname, args, site)
            if run.frameworks is not None and args.has_function():
                _spelled.described(run, dict(args.keywords))
            return result
        case Method():
            return _models.call_method(run, frame, ref, args, site)
        case Cls():
            _frameworks.made_here(run, frame, ref, args)
            if run.frameworks is not None and args.has_function():
                _spelled.described(run, _spelled.given(run, ref, args.positional, args.keywords))
            return _construct.construct(run, frame, ref, args, site)
        case Partial():
            merged = Args((*ref.args, *args.positional), (*ref.keywords, *args.keywords), args.star, args.dstar)
            return call(run, frame, ref.func, merged, site)
        case Wrapped():
            inner = call(run, frame, ref.func, args, site)
            obj = run.new(frame, "ctx")
            obj.elem = _eval.iterate(run, frame, inner)
            obj.fields["[again]"] = of(Partial(ref.func, args.positional, args.keywords))
            return of(obj)
        case Obj():
            return call_object(run, frame, ref, args, site)
        case Import():
            return call(run, frame, _names.settle(run, ref), args, site)
        case Super():
            return of(ref)
        case Mod() | Data():
            return None
        case _:
            return None


def call_object(run: Run, frame: Frame, obj: Obj, args: Args, site: int) -> Value | None:
    """`instance(...)`."""
    if obj.kind == "inst":
        method = _classes.find_method(run, obj.cls, "__call__")
        if method is not None:
            run.called.add((method.module, method.at))
            return _invoke.invoke(run, frame, _classes.bind(method, of(obj)), args, site)
        for base in _classes.mro(run, obj.cls)[1]:
            return _models.call_method(run, frame, Method("ext", f"{base}.__call__", of(obj)), args, site)
    if obj.kind == "ext":
        return _models.call_method(run, frame, Method("ext", f"{obj.cls}.__call__", of(obj)), args, site)
    return None


def callbacks(run: Run, frame: Frame, args: Args, site: int, rest: Args | None = None) -> Value:
    """What the functions among the arguments may give, for a callee that may call them."""
    out: list[Value] = []
    for i, value in enumerate(args.positional):
        functions = frozenset(r for r in value.refs if is_callback(r))
        if functions:
            given = rest if rest is not None else args.rest(i + 1)
            out.append(called_back(run, frame, functions, given, site, fill=rest is not None))
    for _, value in args.keywords:
        functions = frozenset(r for r in value.refs if is_callback(r))
        if functions:
            out.append(called_back(run, frame, functions, rest or NOTHING, site, fill=rest is not None))
    return join(*out)


def called_back(run: Run, frame: Frame, functions: frozenset[Any], given: Args, site: int, *, fill: bool) -> Value:
    """What functions give that somebody else calls; `fill` when each parameter without a default gets the same."""
    if not fill or len(given.positional) != 1:
        return call(run, frame, Value(refs=functions), given, site)
    out: list[Value] = []
    for ref in sorted_refs(Value(refs=functions)):
        written = definition_of(run, ref) if isinstance(ref, Func) else None
        wanted = sum(p.kind == "p" and p.default is None for p in written.params) if written is not None else 1
        wanted -= isinstance(ref, Func) and ref.self_value is not None
        out.append(call(run, frame, of(ref), Args(given.positional * max(1, min(wanted, 8))), site))
    return join(*out)


def is_callback(ref: Any) -> bool:
    """Whether a referent is a function of the project, or a method that puts things into a container of it."""
    return isinstance(ref, Func | Partial) or (isinstance(ref, Method) and ref.kind in PLAIN_KINDS)


def decorate(run: Run, frame: Frame, node: Node, value: Value, func: Func) -> Value:
    """A definition under one decorator."""
    named = node[2] if node[0] == "x" else node
    if named[0] == "a" and named[2] == "register" and is_variant(run, frame, named[1], value):
        return value
    target = _eval.evaluate(run, frame, named)
    args = arguments(run, frame, node[3]) if node[0] == "x" else None
    site = node[1] if node[0] == "x" else _eval.here(frame)
    if _frameworks.decorated(run, target, value, func):
        return value
    result = under(run, frame, target, args, value, func, site)
    _spelled.decorated(run, named, target, result, func)
    _offered.decorated(run, named, target, args, result, func)
    return result


def under(run: Run, frame: Frame, target: Value, args: Args | None, value: Value, func: Func, site: int) -> Value:
    """What a decorator makes of a definition."""
    out: list[Value] = []
    for ref in sorted_refs(target):
        if isinstance(ref, Ext):
            name = run.catalog.resolve(ref.qname)
            if name == "functools.wraps" and args is not None and args.positional:
                # A wrapper stands for the function that it wraps wherever a name is asked for.
                inner = [r for r in sorted_refs(args.positional[0]) if isinstance(r, Func)]
                if inner:
                    run.originals[(func.module, func.at, id(func.env))] = inner
            if name in ("contextlib.contextmanager", "contextlib.asynccontextmanager"):
                out.append(of(Wrapped("ctx", value)))
                continue
            out.append(value)
        elif isinstance(ref, Func):
            out.append(project_decorator(run, frame, ref, args, value, site))
        elif (isinstance(ref, Obj) and ref.kind == "inst") or isinstance(ref, Cls):
            made = call(run, frame, of(ref), args if args is not None else Args((value,)), site)
            wrapped = call(run, frame, made, Args((value,)), site) if args is not None else made
            out.append(wrapped if any(isinstance(r, Func | Obj) for r in wrapped.refs) else value)
        else:
            out.append(value)
    return join(*out) if out else value


def is_variant(run: Run, frame: Frame, generic: Node, value: Value) -> bool:
    """Whether `@generic.register` adds to a function of the project, which then gives what any of its variants gives."""
    functions = [ref for ref in sorted_refs(_eval.evaluate(run, frame, generic)) if isinstance(ref, Func)]
    for ref in functions:
        key = (ref.module, ref.at)
        run.variants[key] = join(run.variants.get(key, EMPTY), value)
    return bool(functions)


def project_decorator(run: Run, frame: Frame, ref: Func, args: Args | None, value: Value, site: int) -> Value:
    """A decorator of the project: what it gives for the function is what the name is bound to."""
    decorator = of(ref)
    if args is not None:
        decorator = call(run, frame, decorator, args, site)
    result = call(run, frame, decorator, Args((value,)), site)
    callable_refs = [r for r in result.refs if isinstance(r, Func | Partial | Wrapped | Obj)]
    return result if callable_refs else value


def enter(run: Run, frame: Frame, value: Value) -> Value:
    """What `with value as name` binds."""
    out: list[Value] = [labelled(value.labels)] if value.labels else []
    for ref in sorted_refs(value):
        if isinstance(ref, Obj) and ref.kind == "ctx":
            out.append(ref.elem)
        elif isinstance(ref, Obj) and ref.kind == "future":
            out.append(enter(run, frame, ref.elem))
        elif isinstance(ref, Obj) and ref.kind == "list" and "[generator]" in ref.fields:
            out.append(ref.elem)
        elif isinstance(ref, Obj) and ref.kind == "inst":
            for name in ("__enter__", "__aenter__"):
                method = _classes.find_method(run, ref.cls, name)
                if method is not None:
                    out.append(_invoke.invoke(run, frame, _classes.bind(method, of(ref)), NOTHING, _eval.here(frame)))
                    break
            else:
                out.append(of(ref))
        else:
            out.append(of(ref))
    return join(*out)
