"""Follows calls of functions of the project: what is kept of a call is told again, and a body is followed once for each kind
of call; a function without a body gives what those that stand for it give."""

from __future__ import annotations

from typing import Any, Final

from tools_check import (
    _call,
    _classes,
    _cut,
    _elsewhere,
    _eval,
    _exec,
    _frameworks,
    _offered,
    _outside,
    _types,
)
from tools_check._ir import ASYNC, GENERATOR, LAMBDA, Def, Node, dotted, walk
from tools_check._link import Module
from tools_check._memo import Kept, Told, Write, keep, tell
from tools_check._run import MAX_DEPTH, Env, Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Func,
    Labels,
    Obj,
    Partial,
    Step,
    Value,
    join,
    labelled,
    of,
    with_labels,
    without_labels,
)  # fmt: skip

NOTHING_WRITTEN: Final[list[Write]] = []


def invoke(run: Run, frame: Frame, func: Func, args: _call.Args, site: int) -> Value:
    """Follow a function with these arguments; the answer is kept by what the arguments are."""
    module = run.project.module(func.module)
    if module is None:
        return EMPTY
    definition = module.ir.defs[func.at]
    if run.catalog.forced and f"{module.name}.{definition.qualname}" in run.catalog.forced:
        return _outside.call(run, frame, f"{module.name}.{definition.qualname}", args, site)
    if run.frameworks is not None:
        _frameworks.dispatched(run, frame, func, args)
        if _frameworks.toolkit_called(run, frame, func, args):
            return EMPTY  # how a framework keeps its tools is nobody's answer
    key = (func.key(), args.digest(coarse=run.coarse()), run.around())
    kept = run.memo.get(key)
    told = None
    if kept is not None and (not kept.spent or kept.spent * 2 >= run.share()):
        told = tell(kept, given(func, args)) if kept.arguments else Told(kept.value, NOTHING_WRITTEN, kept.events)
    if told is None:
        kept = invoke_fresh(run, frame, func, module, definition, args, key, site)
        told = Told(kept.value, NOTHING_WRITTEN, kept.events)
    assert kept is not None
    for target, place, stored in told.writes:
        run.merge(target, place, stored)
    value = told.value
    frame.called |= kept.called
    for kind, event in told.events.items():
        _exec.add_event(frame, kind, event)
    if value.labels:
        why = f"returned by {definition.name}()" if definition.name != "<lambda>" else "returned by the lambda"
        step = Step(frame.module.path, site, why)
        value = Value(
            {r: label.then(step) for r, label in value.labels.items()},
            value.refs,
            value.consts,
            exact=value.exact,
        )
    return value


def invoke_fresh(
    run: Run,
    frame: Frame,
    func: Func,
    module: Module,
    definition: Def,
    args: _call.Args,
    key: Any,
    site: int,
) -> Kept:
    mark = ("call", func.module, func.at, id(func.env))
    nested = run.active.get(mark, [])
    if len(nested) >= 2 or len(run.stack) > MAX_DEPTH or run.is_spent():
        if nested:
            nested[-1] = EMPTY
        if run.is_spent() or len(run.stack) > MAX_DEPTH:
            return Kept(value=labelled(args.labels(), DATA), events={}, called=set())
        return Kept(value=EMPTY, events={}, called=set())
    limit, share = run.limit, run.share()
    run.limit = run.steps + share
    run.visited.add((func.module, func.at))
    inner = Frame(module, definition, Env(func.env))
    inner.owner = func.owner
    inner.self_value = func.self_value
    bind_parameters(run, inner, func, definition, args)
    run.active.setdefault(mark, []).append(CLEAN)
    run.stack.append(inner)
    try:
        _exec.block(run, inner, run.body(definition))
    finally:
        run.stack.pop()
        run.active[mark].pop()
        run.limit = limit
    cut = run.is_spent() and not run.ended and run.steps < limit and bool(run.stack)
    value = inner.returns
    if definition.flags & GENERATOR:
        obj = run.new(frame, "list")
        obj.exact = False
        obj.elem = inner.yields
        obj.fields["[generator]"] = inner.returns
        if listens(definition):
            obj.keys = of(Partial(of(func), args.positional, args.keywords))
        value = of(obj)
    if cut:
        run.exhausted = False
        value = join(value, _cut.unfollowed(run, inner, frame, definition, args.labels(), site))
    elif inner.returns.is_empty() and not (definition.flags & GENERATOR):
        value = declared_result(run, inner, func, definition)
    if cut or (not inner.impure and not run.is_spent()):
        spent = share if cut else 0
        opened = inner.env.serial - 1 if inner.env is not None else 0
        kept = keep(value, inner.events, inner.called, inner.effects, given(func, args), inner.start, opened, spent)
        if kept is not None:
            run.keep(key, kept)
    return Kept(value=value, events=inner.events, called=inner.called)


def listens(definition: Def) -> bool:
    """Whether a generator does something with what it is sent, or with what is thrown into it."""
    heard = definition.heard
    if heard is None:
        plain = sum(1 for node in walk(definition.body) if len(node) > 2 and node[1] == "e" and node[2][:1] == ("y",))
        every = sum(1 for node in walk(definition.body) if node[0] == "y")
        heard = definition.heard = every > plain or any(
            len(node) > 1 and node[1] == "try" for node in walk(definition.body) if isinstance(node[0], int)
        )
    return heard


def given(func: Func, args: _call.Args) -> tuple[Value, ...]:
    """All values that a call hands to a function."""
    return (of(func), *args.values())


def declared_result(run: Run, frame: Frame, func: Func, definition: Def) -> Value:
    """What a function without a body of its own (a protocol, an abstract method) may give, by its
    annotation.
    """
    if not is_stub(definition):
        return EMPTY
    value = _types.typed(run, frame, definition.returns)
    if func.owner is not None and func.owner not in run.searched:
        run.searched.add(func.owner)
        load_users(run, func.owner)
    if func.owner is not None:
        inherited = [
            _classes.bind(method, _classes.typed_instance(run, child))
            for child in run.children.get(func.owner, [])[:30]
            if (method := _classes.find_method(run, child, definition.name)) is not None and method.owner != func.owner
        ]
        found = [*inherited, *implementers(run, func.owner, definition.name)]
        for implementation in found:
            value = join(value, call_with_types(run, frame, implementation))
        if not found and run.stack and is_left_open(run, func.owner, definition):
            value = with_labels(join(value, of(DATA)), left_open(run, frame, func.owner, definition))
    return value


NO_WORDS: Final = frozenset({"bool", "int", "float", "None", "NoReturn", "Never"})


def is_left_open(run: Run, owner: Cls, definition: Def) -> bool:
    """Whether a method is one of a protocol, or an abstract one, that gives words: somebody outside writes it."""
    returns = definition.returns
    if returns is not None and (dotted(returns) in NO_WORDS or returns == ("k", None)):
        return False
    return any((dotted(d) or "").endswith("abstractmethod") for d in definition.decorators) or any(
        base.rpartition(".")[2] == "Protocol" for base in _classes.mro(run, owner)[1]
    )


def left_open(run: Run, frame: Frame, owner: Cls, definition: Def) -> Labels:
    """What is waited for, or is called as what brings something in, is somebody else's; of the rest nothing is known."""
    module = run.project.module(owner.module)
    name = f"{module.ir.classes[owner.at].name}.{definition.name}" if module is not None else definition.name
    site = definition.ordinal << 10 | 1023
    if definition.flags & ASYNC or run.catalog.fetches(definition.name) or run.catalog.is_of_client(name):
        return run.source(frame, site, name, "outside")
    return run.unknown(frame, site, f"{name}()")


def load_users(run: Run, owner: Cls) -> None:
    """Look for what implements a class without bodies: in the modules that import it, and in those that
    import these.
    """
    names = [owner.module]
    for _ in range(2):
        names = sorted({user for name in names for user in run.project.users.get(name, ())})[:40]
        for name in names:
            module = run.project.module(name)
            if module is not None:
                _exec.run_module(run, module)


def is_stub(definition: Def) -> bool:
    """Whether a body says nothing: `...`, a docstring, `raise NotImplementedError`."""
    if definition.flags & LAMBDA:
        return False
    return all((s[1] == "e" and s[2][0] == "k") or s[1] == "raise" or s[1] == "pass" for s in definition.body)


def implementers(run: Run, owner: Cls, name: str) -> list[Func]:
    """The methods of classes that fit a protocol by having all of its methods."""
    if not any(base.rpartition(".")[2] == "Protocol" for base in _classes.mro(run, owner)[1]):
        return []
    wanted = {n for n, v in run.class_env.get(owner, {}).items() if any(isinstance(r, Func) for r in v.refs)}
    out: list[Func] = []
    for cls in sorted(run.class_env):
        if cls != owner and len(out) < 30 and wanted <= all_methods(run, cls):
            method = _classes.find_method(run, cls, name)
            if method is not None and method.owner != owner:
                out.append(_classes.bind(method, _classes.typed_instance(run, cls)))
    return out


def all_methods(run: Run, cls: Cls) -> set[str]:
    return {name for c in _classes.mro(run, cls)[0] for name in run.class_env.get(c, {})}


def bind_parameters(run: Run, inner: Frame, func: Func, definition: Def, args: _call.Args) -> None:
    """Give every parameter its value: the argument, else the default, else its type."""
    positional = list(args.positional)
    if func.self_value is not None:
        positional.insert(0, func.self_value)
    keywords = dict(args.keywords)
    variables = inner.vars
    for param in definition.params:
        if param.kind == "*":
            obj = Obj("list", None, inner.env, ())
            for i, item in enumerate(positional):
                obj.fields[i] = item
            obj.elem = _eval.iterate(run, inner, args.star) if args.star else EMPTY
            positional = []
            variables[param.name] = of(obj)
            continue
        if param.kind == "**":
            obj = Obj("dict", None, inner.env, ())
            obj.fields.update(keywords)
            obj.elem = _eval.subscript(run, inner, args.dstar, CLEAN) if args.dstar else EMPTY
            if args.dstar:
                for source in args.dstar.objects():
                    obj.fields.update(source.fields)
                for name in keywords:
                    obj.settle(name)
            variables[param.name] = of(obj)
            continue
        value: Value | None = None
        if param.kind == "p" and positional:
            value = positional.pop(0)
        elif param.name in keywords:
            value = keywords.pop(param.name)
        if value is None and (args.star is not None or args.dstar is not None):
            spread = [_eval.iterate(run, inner, args.star)] if args.star and param.kind == "p" else []
            if args.dstar:
                spread.append(_call.lookup_key(args.dstar, param.name))
            value = join(*spread)
        if value is None and param.default is not None:
            value = _eval.evaluate(run, inner, param.default)
        if value is None:
            value = EMPTY
        _offered.held(run, param.name, value)
        variables[param.name] = refine(run, inner, value, param.annotation)


def refine(run: Run, inner: Frame, value: Value, annotation: Node | None) -> Value:
    """An argument of which nothing is known is what the annotation says."""
    if annotation is None:
        return value
    if value.refs - {DATA}:
        return value
    if value.exact and value.consts and not any(c[0] == "NoneType" for c in value.consts):
        return value
    typed = _types.parameter(run, inner, annotation)
    if value.labels and typed.refs and all(r.__class__ is Obj and r.kind == "ext" for r in typed.refs):
        return Value(value.labels, typed.refs)  # the annotation says what it is, which no label does
    return join(value, without_labels(typed) if value.labels else typed)


def call_with_types(
    run: Run, frame: Frame, func: Func, given: dict[str, Value] | None = None, *, outside: bool = False
) -> Value:
    """Follow a function with arguments of which only the types are known; `outside` when a model gives them, so that
    one without a type is plain data.
    """
    module = run.project.module(func.module)
    if module is None:
        return EMPTY
    definition = module.ir.defs[func.at]
    args = arguments_by_type(run, module, func, given, outside=outside)
    return invoke(run, frame, func, args, definition.ordinal << 10 | 1023)


def arguments_by_type(
    run: Run, module: Module, func: Func, given: dict[str, Value] | None = None, *, outside: bool = False
) -> _call.Args:
    """What a function is given of which only the types of its parameters are known."""
    definition = module.ir.defs[func.at]
    inner = Frame(module, definition, Env(func.env))
    inner.owner = func.owner
    keywords: list[tuple[str, Value]] = []
    positional: list[Value] = []
    skip = func.self_value is not None
    for param in definition.params:
        if skip:
            skip = False
            continue
        if param.kind in ("*", "**"):
            continue
        if given and param.name in given:
            value = given[param.name]
        else:
            value = _types.parameter(run, inner, param.annotation)
            if outside and value.is_empty():
                value = CLEAN
            if param.default is not None:
                if value.is_empty() and param.default in (("k", True), ("k", False)):
                    value = of(DATA)  # a flag without a type need not be what it is by default
                value = join(value, _eval.evaluate(run, inner, param.default))
            if run.elsewhere is not None and not outside and not _classes.is_ours_by_type(run, inner, param.annotation):
                value = _elsewhere.may_hold(value)
        if param.kind == "k":
            keywords.append((param.name, value))
        else:
            positional.append(value)
    star, dstar = None, None
    if outside:  # what a model gives besides: `**arguments` of a handler are not empty
        kinds = {param.kind for param in definition.params}
        star = of(anything("list")) if "*" in kinds else None
        dstar = of(anything("dict")) if "**" in kinds else None
    return _call.Args(tuple(positional), tuple(keywords), star, dstar)


def anything(kind: str) -> Obj:
    """A container of plain data of which nothing more is known."""
    obj = Obj(kind)
    obj.elem, obj.exact = CLEAN, False
    return obj
