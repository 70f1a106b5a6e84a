"""Follows statements: modules, function bodies, branches, loops, exceptions; one abstract pass, joins where
paths meet."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

from tools_check import (
    _attributes,
    _call,
    _classes,
    _errors,
    _eval,
    _match,
    _models,
    _names,
    _narrow,
    _offered,
    _operators,
    _types,
)
from tools_check._ir import Node
from tools_check._link import Module
from tools_check._run import STEPS_PER_ENTRY, Frame, Run, says_more
from tools_check._values import (
    DATA,
    EMPTY,
    Cls,
    Ext,
    Func,
    Import,
    Obj,
    Value,
    is_foreign,
    join,
    labelled,
    of,
    order,
    sorted_refs,
)  # fmt: skip

BROAD: Final = frozenset({"builtins.Exception", "builtins.BaseException", "builtins.ExceptionGroup"})


def run_module(run: Run, module: Module) -> None:
    """Run a module's top level once. Each statement has a budget of its own: a hundred decorated functions are a hundred
    entries, and none of them may vanish because those before it were costly.
    """
    if module.state != "new":
        return
    module.state = "running"
    frame = Frame(module, None, None)
    saved, run.stack = run.stack, []
    budget = (run.steps, run.limit, run.exhausted, run.ended)
    run.stack.append(frame)
    try:
        for statement in module.ir.body:
            run.steps, run.limit, run.exhausted, run.ended = 0, STEPS_PER_ENTRY // 4, False, False
            falls = block(run, frame, (statement,))
            if run.exhausted and not run.ended:
                run.cut.add(module.path)
            if not falls:
                break
    finally:
        run.stack = saved
        run.steps, run.limit, run.exhausted, run.ended = budget
        module.state = "done"


def block(run: Run, frame: Frame, body: tuple[Node, ...]) -> bool:
    """Follow statements in order; False when none of the ways falls out at the end."""
    for statement in body:
        if not run.spend():
            return True
        frame.ordinal = statement[0]
        if run.elsewhere is not None:
            run.elsewhere.reached.add((frame.module.path, statement[0]))
        handler = STATEMENTS.get(statement[1])
        if handler is not None and not handler(run, frame, statement):
            return False
    return True


# -- simple statements: (run, frame, statement) -> whether the next one is reached


def on_expr(run: Run, frame: Frame, s: Node) -> bool:
    _eval.evaluate(run, frame, s[2])
    return True


def on_assign(run: Run, frame: Frame, s: Node) -> bool:
    value = _eval.evaluate(run, frame, s[3])
    for target in s[2]:
        assign(run, frame, target, value)
        if target[0] in ("n", "a"):
            name = target[1 if target[0] == "n" else 2]
            _offered.held(run, name, value)
            if s[3][0] == "C" and run.frameworks is not None and _offered.holds(name):
                _offered.looped(run, frame, s[3])
    return True


def on_aug(run: Run, frame: Frame, s: Node) -> bool:
    target = s[2]
    op = s[3].replace("Assign", "")
    old = _eval.evaluate(run, frame, target)
    mine = _operators.in_place(run, frame, op, old, _eval.evaluate(run, frame, s[4])) if old.objects() else None
    if mine is not None:
        assign(run, frame, target, mine)
        return True
    value = _eval.evaluate(run, frame, ("b", op, target, s[4]))
    grown = [obj for obj in old.objects() if obj.kind in ("list", "set", "dict")]
    for obj in grown:
        right = _eval.evaluate(run, frame, s[4])
        if obj.kind == "dict":
            _models.taken_in(run, frame, obj, right)
        else:
            run.write(frame, obj, None, join(_eval.iterate(run, frame, right), labelled(right.labels)))
    if grown:
        return True
    assign(run, frame, target, value)
    return True


def on_ann(run: Run, frame: Frame, s: Node) -> bool:
    if s[4] is None:
        return True
    value = _eval.evaluate(run, frame, s[4])
    if value.is_empty() or (value.exact and not value.objects() and value.consts == frozenset({("NoneType", None)})):
        value = join(value, _types.typed(run, frame, s[3]))
    assign(run, frame, s[2], value)
    if s[2][0] in ("n", "a"):
        _offered.held(run, s[2][1 if s[2][0] == "n" else 2], value)
    return True


def on_return(run: Run, frame: Frame, s: Node) -> bool:
    if s[2] is not None:
        value = _eval.evaluate(run, frame, s[2])
        frame.returns = join(frame.returns, value)
        if run.seeking and len(run.stack) == 1 and run.coarse() and is_foreign(value):
            run.ended = True
    return False


def on_raise(run: Run, frame: Frame, s: Node) -> bool:
    if s[2] is None:
        for value in frame.caught[-1:]:
            add_event(frame, None, value)
        return False
    value = _eval.evaluate(run, frame, s[2])
    cause = _eval.evaluate(run, frame, s[3]) if s[3] is not None else join(*frame.caught[-1:])
    _errors.raised_from(run, frame, value, cause)
    kind: Any = None
    for ref in sorted_refs(value):
        if (isinstance(ref, Obj) and ref.kind == "inst") or (isinstance(ref, Obj) and ref.kind == "ext"):
            kind = ref.cls
        elif isinstance(ref, Cls):
            kind = ref
        elif isinstance(ref, Ext):
            kind = ref.qname
    add_event(frame, ("raised", kind), value)
    if any(isinstance(r, Obj) and r.kind == "failure" for r in sorted_refs(value)):
        add_event(frame, ("raised", "registry.ToolFailed"), value)
    return False


def add_event(frame: Frame, kind: Any, value: Value) -> None:
    have = frame.events.get(kind)
    frame.events[kind] = value if have is None else join(have, value)


def on_if(run: Run, frame: Frame, s: Node) -> bool:
    _eval.evaluate(run, frame, s[2])
    before = frame.vars
    outer = frame.path
    ends: list[dict[str, Value]] = []
    for positive, body in ((True, s[3]), (False, s[4])):
        frame.vars = dict(before)
        frame.token += 1
        frame.path = (*outer, frame.token)
        possible = _narrow.narrow(run, frame, s[2], positive=positive)
        if possible and block(run, frame, body):
            ends.append(frame.vars)
    frame.path = outer
    return meet(frame, before, ends)


def meet(frame: Frame, before: dict[str, Value], ends: list[dict[str, Value]]) -> bool:
    """Continue with what is known on every way that goes on."""
    if not ends:
        frame.vars = before
        return False
    frame.vars = join_vars(ends)
    return True


def join_vars(ends: list[dict[str, Value]]) -> dict[str, Value]:
    if len(ends) == 1:
        return ends[0]
    first, *rest = ends
    out = dict(first)
    for other in rest:
        for name, value in other.items():
            have = out.get(name)
            if have is None:
                out[name] = value
            elif have is not value:
                out[name] = join(have, value)
    return out


def on_for(run: Run, frame: Frame, s: Node) -> bool:
    iterated = _eval.evaluate(run, frame, s[3])
    item = _eval.iterate(run, frame, iterated)
    if not _eval.is_known_empty(iterated, item):
        loop(run, frame, s[4], target=s[2], item=item)
    return loop_else(run, frame, s[5])


def on_while(run: Run, frame: Frame, s: Node) -> bool:
    loop(run, frame, s[3], test=s[2])
    _narrow.narrow(run, frame, s[2], positive=False)
    return loop_else(run, frame, s[4])


def loop_else(run: Run, frame: Frame, body: tuple[Node, ...]) -> bool:
    """The `else` of a loop, which a `break` passes by."""
    before = dict(frame.vars)
    falls = block(run, frame, body)
    if body:
        frame.vars = join_vars([before, frame.vars]) if falls else before
    return True


def loop(
    run: Run,
    frame: Frame,
    body: tuple[Node, ...],
    *,
    target: Node | None = None,
    item: Value = EMPTY,
    test: Node | None = None,
) -> None:
    """Two passes over a body: what one pass writes the second one reads."""
    outer = frame.path
    for _ in range(2):
        before = frame.vars
        frame.vars = dict(before)
        frame.token += 1
        frame.path = (*outer, frame.token)
        if target is not None:
            assign(run, frame, target, item)
        if test is not None:
            _eval.evaluate(run, frame, test)
            _narrow.narrow(run, frame, test, positive=True)
        block(run, frame, body)
        frame.vars = join_vars([before, frame.vars])
    frame.path = outer


def on_with(run: Run, frame: Frame, s: Node) -> bool:
    entered: list[Value] = []
    for item, target in s[2]:
        value = _eval.evaluate(run, frame, item)
        entered.append(value)
        if target is not None:
            assign(run, frame, target, _call.enter(run, frame, value))
        else:
            _call.enter(run, frame, value)
    before = dict(frame.vars)
    saved, frame.events = frame.events, {}
    buffers = [obj.elem for v in entered for obj in v.objects() if obj.kind == "ext" and obj.cls in REDIRECTS]
    with run.printing_into(buffers):
        falls = block(run, frame, s[3])
    raised, frame.events = frame.events, saved
    for event, value in raised.items():
        add_event(frame, event, value)
    error = caught_value(list(raised.values()))
    swallowed = [_operators.leave(run, frame, value, error) for value in reversed(entered)]
    if any(swallowed) and not falls:
        frame.vars = join_vars([before, frame.vars])
    return falls or any(swallowed)


REDIRECTS: Final = frozenset({"contextlib.redirect_stdout", "contextlib.redirect_stderr"})


def on_try(run: Run, frame: Frame, s: Node) -> bool:
    _, _, body, handlers, orelse, final = s
    saved, frame.events = frame.events, {}
    before = dict(frame.vars)
    given = frame.returns
    outer = frame.path
    frame.token += 1
    frame.path = (*outer, frame.token)
    falls = block(run, frame, body)
    raised, frame.events = frame.events, saved
    after_body = frame.vars
    if falls:
        falls = block(run, frame, orelse)
    ends = [frame.vars] if falls else []
    everything = False
    for kind, name, handler_body in handlers:
        frame.token += 1
        frame.path = (*outer, frame.token)
        frame.vars = join_vars([dict(before), after_body])
        caught, broad = select(run, frame, kind, raised)
        everything = everything or broad
        if name:
            frame.vars[name] = caught
        frame.caught.append(caught)
        if block(run, frame, handler_body):
            ends.append(frame.vars)
        frame.caught.pop()
    if not everything:
        for event, value in raised.items():
            add_event(frame, event, value)
    frame.path = outer
    live = meet(frame, after_body, ends)
    if final:
        inside, frame.returns = frame.returns, given
        ended = not block(run, frame, final)
        if not ended:  # a `finally` that returns gives nothing of what the body would have
            frame.returns = join(frame.returns, inside)
        return not ended and live
    return live


def select(run: Run, frame: Frame, kind: Node | None, raised: dict[Any, Value]) -> tuple[Value, bool]:
    """What the name in `except kind as name` may hold, and whether the clause takes everything."""
    if kind is None:
        return caught_value(list(raised.values())), True
    types = _eval.evaluate(run, frame, kind)
    refs = set(types.refs)
    for obj in types.objects():
        refs |= obj.everything().refs
    picked: list[Value] = []
    broad = False
    for ref in sorted(refs, key=order):
        if isinstance(ref, Ext):
            name = run.catalog.resolve(ref.qname)
            if name in BROAD:
                return caught_value(list(raised.values())), True
            quiet = name in run.catalog.quiet_errors or (name in SELDOM_QUOTING and ("raised", name) in raised)
            for event, value in raised.items():
                if event is None:
                    if not quiet:
                        picked.append(value)
                elif (
                    event[1] == name
                    or event[1] is None
                    or (isinstance(event[1], Cls) and name in _classes.mro(run, event[1])[1])
                ) or (isinstance(event[1], str) and not quiet and not event[1].startswith("builtins.")):
                    picked.append(value)
        elif isinstance(ref, Cls):
            for event, value in raised.items():
                if event is not None and (
                    event[1] == ref or (isinstance(event[1], Cls) and ref in _classes.mro(run, event[1])[0])
                ):
                    picked.append(value)
    if not refs and raised:
        picked = list(raised.values())
    known = sorted(
        n for ref in refs if isinstance(ref, Ext) and run.catalog.knows_fields(n := run.catalog.resolve(ref.qname))
    )
    if known and picked:  # what such an error is made of besides its text: `error.code`
        picked.append(of(*(run.new(frame, "ext", name) for name in known)))
    if refs and all(isinstance(ref, Ext) and run.catalog.resolve(ref.qname) in FAILURES for ref in refs):
        caught = caught_value(picked)
        names = sorted(run.catalog.resolve(ref.qname) for ref in refs)
        made = frozenset(
            o for o in caught.objects() if ("registry.ToolFailed" if o.kind == "failure" else o.cls) in names
        )
        some = [of(run.new(frame, "ext", name)) for name in names]
        return join(Value(caught.labels, made | {DATA}), *some), broad
    return caught_value(picked), broad


# Where code of the project raises one of these itself, what is caught is that; libraries raise them in their own words.
SELDOM_QUOTING: Final = frozenset({"builtins.RuntimeError", "builtins.NotImplementedError", "builtins.AssertionError"})

# Failures of ours: what they say in their own words is judged where they are made.
FAILURES: Final = frozenset({"registry.ToolFailed", "registry.IngressRefused"})


def caught_value(values: list[Value]) -> Value:
    """The exception object."""
    value = join(*values) if values else EMPTY
    return Value(value.labels, value.refs | {DATA}, frozenset())


def on_def(run: Run, frame: Frame, s: Node) -> bool:
    index: int = s[2]
    definition = frame.module.ir.defs[index]
    if definition.owner >= 0 and _classes.kind_of(definition) == "setter":
        if any(node[0] == "a" and node[2] == "setter" for node in definition.decorators):
            setter = Func(
                frame.module.name, index, frame.env.parent if frame.env is not None else None, None, frame.owner
            )
            bind_name(run, frame, _operators.SETTER + definition.name, of(setter))
        return True
    func = Func(frame.module.name, s[2], frame.env, None, frame.owner if definition.owner >= 0 else None)
    if definition.owner >= 0 and frame.owner is not None and frame.env is not None:
        func = Func(frame.module.name, s[2], frame.env.parent, None, frame.owner)
    if frame.env is not None and definition.owner < 0:
        run.closures[(frame.module.name, s[2])] = frame.env
    value = of(func)
    # Inside a function that registers tools each of them is work of its own: the last one must not vanish because the
    # first ones were costly.
    with run.aside() if run.entry and definition.decorators and definition.parent >= 0 else nullcontext():
        for node in reversed(definition.decorators):
            value = _call.decorate(run, frame, node, value, func)
    bind_name(run, frame, definition.name, value)
    return True


def on_class(run: Run, frame: Frame, s: Node) -> bool:
    value = _classes.define(run, frame, s[2])
    index: int = s[2]
    bind_name(run, frame, frame.module.ir.classes[index].name, value)
    return True


def on_import(run: Run, frame: Frame, s: Node) -> bool:
    for name, alias in s[2]:
        shown = alias or name.partition(".")[0]
        bind_name(run, frame, shown, of(_names.module_ref(run, name if alias else shown)))
        if not alias and "." in name:
            module = run.project.module(name)
            if module is not None and frame.env is None:
                run_module(run, module)  # often imported for what it registers, and never named again
    return True


def on_from(run: Run, frame: Frame, s: Node) -> bool:
    module = run.project.absolute(frame.module, s[2], s[3])
    for name, alias in s[4]:
        if name == "*":
            _names.star_import(run, frame, module)
        else:
            bind_name(run, frame, alias or name, of(Import(module, name)))
    return True


def on_global(_run: Run, frame: Frame, s: Node) -> bool:
    frame.globals.update(s[2])
    return True


def on_nonlocal(_run: Run, frame: Frame, s: Node) -> bool:
    frame.nonlocals.update(s[2])
    return True


def on_del(run: Run, frame: Frame, s: Node) -> bool:
    """`del things[key]`."""
    for target in s[2]:
        for part in target[1] if target[0] == "t" else (target,):
            if part[0] != "s":
                continue
            base, key = _eval.evaluate(run, frame, part[1]), _eval.evaluate(run, frame, part[2])
            known = _eval.single(key)
            for obj in base.objects() if known is not None and len(base.refs) == 1 else ():
                assert known is not None
                run.remove(frame, obj, known[1])
    return True


def on_assert(run: Run, frame: Frame, s: Node) -> bool:
    _eval.evaluate(run, frame, s[2])
    if s[3] is not None:
        add_event(frame, ("raised", "builtins.AssertionError"), _eval.evaluate(run, frame, s[3]))
    _narrow.narrow(run, frame, s[2], positive=True)
    return True


def on_type(run: Run, frame: Frame, s: Node) -> bool:
    bind_name(run, frame, s[2], _eval.evaluate(run, frame, s[3]))
    return True


def _match_statement(run: Run, frame: Frame, s: Node) -> bool:
    return _match.on_match(run, frame, s)


STATEMENTS: Final = {
    "e": on_expr, "=": on_assign, "aug": on_aug, "ann": on_ann, "r": on_return, "raise": on_raise, "if": on_if,
    "for": on_for, "while": on_while, "with": on_with, "try": on_try, "match": _match_statement, "def": on_def,
    "class": on_class, "import": on_import, "from": on_from, "global": on_global, "nonlocal": on_nonlocal,
    "assert": on_assert, "del": on_del, "type": on_type,
}  # fmt: skip


# -- binding


def bind_name(run: Run, frame: Frame, name: str, value: Value) -> None:
    """Bind a name where Python would."""
    if name in frame.globals or frame.env is None:
        env = frame.module.env
        if frame.env is None and frame.module.state != "done":
            env[name] = value
            for obj in value.objects():
                share(obj)
            return
        old = env.get(name, EMPTY)
        merged = join(old, value)
        if merged is not old and says_more(old, merged):
            run.version += 1
        for obj in value.objects():
            share(obj)
        env[name] = merged
        return
    if name in frame.nonlocals:
        env_up = frame.env.parent
        while env_up is not None:
            if name in env_up.vars:
                old = env_up.vars[name]
                merged = join(old, value)
                if len(merged.labels) != len(old.labels) or merged.refs != old.refs:
                    run.version += 1
                    run.impure_inside(env_up)
                env_up.vars[name] = merged
                return
            env_up = env_up.parent
        return
    frame.env.vars[name] = value


def share(obj: Obj, depth: int = 0) -> None:
    """What a module variable holds lives as long as the program."""
    if obj.shared or depth > 5:
        return
    obj.shared = True
    for child in obj.children():
        for inner in child.objects():
            share(inner, depth + 1)


def assign(run: Run, frame: Frame, target: Node, value: Value) -> None:
    """Store a value in a target."""
    tag = target[0]
    if tag == "n":
        bind_name(run, frame, target[1], value)
    elif tag in ("t", "l"):
        unpack(run, frame, target[1], value)
    elif tag == "a":
        _attributes.store_attribute(run, frame, target, value)
    elif tag == "s":
        _attributes.store_item(run, frame, target, value)
    elif tag == "*":
        obj = run.new(frame, "list")
        obj.elem = _eval.iterate(run, frame, value)
        assign(run, frame, target[1], of(obj))


def unpack(run: Run, frame: Frame, targets: tuple[Node, ...], value: Value) -> None:
    """`a, *b = value`."""
    starred = next((i for i, t in enumerate(targets) if t[0] == "*"), None)
    for i, target in enumerate(targets):
        if target[0] == "*":
            obj = run.new(frame, "list")
            obj.elem = _eval.iterate(run, frame, value)
            assign(run, frame, target[1], of(obj))
        elif starred is not None and i > starred:
            assign(run, frame, target, _eval.iterate(run, frame, value))
        else:
            assign(run, frame, target, _eval.subscript(run, frame, value, _eval.number(i)))


# -- functions
