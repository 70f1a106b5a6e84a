"""Follows expressions: names, attributes, items, operators; what a call does is `_call.py`'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tools_check import (
    _attributes,
    _beside,
    _call,
    _classes,
    _elsewhere,
    _exec,
    _fields,
    _formats,
    _kept,
    _names,
    _narrow,
    _offered,
    _operators,
    _spelled,
    _types,
)
from tools_check._ir import SITE_BITS, SITE_MASK, Node
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
    Obj,
    Typed,
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


def evaluate(run: Run, frame: Frame, node: Node | None) -> Value:
    """What an expression may be."""
    if node is None:
        return EMPTY
    if run.ended or run.steps >= run.limit:  # `Run.spend`, where most of it is spent
        run.exhausted = True
        return EMPTY
    run.steps += 1
    handler = EXPRESSIONS.get(node[0])
    return handler(run, frame, node) if handler is not None else EMPTY


def number(value: int) -> Value:
    return const(value)


# -- names


def on_const(_run: Run, _frame: Frame, node: Node) -> Value:
    return const(node[1])


def on_name(run: Run, frame: Frame, node: Node) -> Value:
    return _names.lookup(run, frame, node[1])


# -- attributes and items

NONE: Final = const(None)


def on_attribute(run: Run, frame: Frame, node: Node) -> Value:
    base = evaluate(run, frame, node[1])
    if base is NONE and node[1][0] == "a":
        return EMPTY  # a field that is nothing so far as is seen, and is used: somebody fills it elsewhere
    found = _attributes.attribute(run, frame, base, node[2], node[3])
    kept = _kept.of_state(run, node[1], base, node[2])
    if kept is not None:
        return kept
    if found.is_empty() and _attributes.is_nothing(base) and not run.owners_of(node[2]):
        return _spelled.member(run, node[1], node[2], base)
    return _spelled.named_member(run, node[1], found)


# Read from a thing whose class is not known these are numbers in every library that has them.
PLAIN_CLEAN: Final = frozenset(
    {"status_code", "returncode", "rowcount", "lastrowid", "__class__", "errno", "exit_code", "exit_status", "file_size",
     "compress_size", "st_size", "st_mtime", "st_mode", "total_tokens", "prompt_tokens", "completion_tokens",
     "input_tokens", "output_tokens", "is_success", "is_error", "deleted_count", "modified_count", "matched_count",
     "inserted_count", "max_row", "max_column", "min_row", "min_column", "levelno", "lineno"}
)  # fmt: skip


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
    known = single(key) if run.state else None
    kept = _kept.of_state(run, node[1], base, known[1]) if known is not None else None
    value = subscript(run, frame, base, key) if kept is None else kept
    return _types.written_type(run, frame, base, key, value, node) if has_type(base) else value


def has_type(base: Value) -> bool:
    """Whether what stands before `[...]` may be a type."""
    return any(ref.__class__ in (Ext, Cls, Import) for ref in base.refs)


def without_consts(value: Value) -> Value:
    return Value(value.labels, value.refs | ({DATA} if value.consts else frozenset()), NO_CONSTS)


DEFAULTS: Final = "collections.defaultdict"


def subscript(run: Run, frame: Frame, base: Value | None, key: Value) -> Value:
    """What reading an item gives."""
    if base is None:
        return EMPTY
    out: list[Value] = []
    known = single(key)
    if base.labels and not (known is not None and is_stored_over(base, known[1])):
        out.append(labelled(base.labels))
    for ref in sorted_refs(base):
        if isinstance(ref, Obj):
            out.append(item_of(run, frame, ref, known[1] if known is not None else None, key, known is not None))
        elif isinstance(ref, Cls | Ext):
            if isinstance(ref, Cls) and _classes.is_enum(run, ref):
                out.append(CLEAN)
            else:
                out.append(of(ref))
        elif isinstance(ref, Method) and ref.kind == "ext":
            out.append(of(Method("ext", f"{ref.name}.item", ref.receiver)))
        elif isinstance(ref, Data) or (isinstance(ref, Method) and ref.kind == "data"):
            out.append(CLEAN)
    return join(*out)


STORED: Final = "stored"  # the class of a cell for what was stored into data of which only the labels are known


def is_stored_over(base: Value, key: Any) -> bool:
    """Whether what stands under a key of a stranger's data was put there by the program: `page["title"] = ours`."""
    return all(r.__class__ is Obj and r.cls == STORED and r.is_firm(key) for r in base.refs) and bool(base.refs)


def item_of(run: Run, frame: Frame, obj: Obj, key: Any, key_value: Value, exact: bool) -> Value:
    match obj.kind:
        case "inst":
            getter = _classes.find_method(run, obj.cls, "__getitem__")
            if getter is not None:
                return _call.call(run, frame, of(_classes.bind(getter, of(obj))), _call.Args((key_value,)), here(frame))
            made = _operators.missing(run, frame, obj, key_value)
            if not made.is_empty():
                return join(obj.everything(), made)
            if _classes.shows_fields(run, obj.cls):
                if exact and isinstance(key, str):
                    return join(obj.fields.get(key, EMPTY), obj.elem)
                names = [f[0] for f in _fields.fields(run, obj.cls)]
                if exact and isinstance(key, int) and -len(names) <= key < len(names):
                    return join(obj.fields.get(names[key], EMPTY), obj.elem)
            return obj.everything()
        case "ext" if obj.cls == "contextvars.Context":
            return join(*(var.fields.get("[value]", EMPTY) for var in key_value.objects()))
        case "ext":
            return with_labels(of(obj), flat(obj.elem))
        case "foreign" | "reply" | "tool":
            return EMPTY
        case _:
            if obj.cls == DEFAULTS and key_value.labels:
                run.write(frame, obj, None, obj.elem)
                obj.keys = join(obj.keys, labelled(key_value.labels))  # reading an item makes its key
            if exact and key in obj.fields:
                return obj.fields[key] if obj.is_firm(key) else join(obj.fields[key], obj.elem)
            if exact and obj.exact and not isinstance(key, int):
                return obj.elem
            if exact and obj.exact and isinstance(key, int) and key >= 0 and obj.kind in ("list", "tuple"):
                return obj.elem if obj.elem is not EMPTY or obj.fields else EMPTY
            return obj.everything()


def is_known_empty(value: Value, item: Value) -> bool:
    """Whether a loop over the value never runs: containers of ours into which nothing was put on any way."""
    return (
        item.is_empty()
        and bool(value.refs)
        and all(r.__class__ is Obj and r.kind in ("list", "tuple", "set", "dict") and r.exact for r in value.refs)
    )


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
                    value = _call.call(run, frame, of(_classes.bind(method, of(obj))), _call.Args(()), here(frame))
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
        if part[0] == "nf":
            shown = _formats.as_number(run, frame, value)
        else:
            shown = value.labels if not value.objects() else _classes.shown(run, frame, value, here(frame))
        if shown:
            labels.append(shown)
        known = single(value)
        text = text + str(known[1]) if text is not None and known is not None and len(text) < 300 else None
    if labels:
        return labelled(join_labels(labels), DATA)
    return const(text) if text is not None else CLEAN


def on_number_format(run: Run, frame: Frame, node: Node) -> Value:
    return evaluate(run, frame, node[1])


def note_foreign(run: Run, frame: Frame, value: Value, how: str) -> None:
    """Foreign text that is made into a plain string by hand."""
    if any(obj.kind == "foreign" for obj in value.objects()) or _elsewhere.is_from(value.labels):
        run.note("foreign-format", frame, here(frame), how, flat(value))


def here(frame: Frame) -> int:
    """The site of the statement that is being followed."""
    return frame.ordinal << SITE_BITS | SITE_MASK


def on_binary(run: Run, frame: Frame, node: Node) -> Value:
    left = evaluate(run, frame, node[2])
    right = evaluate(run, frame, node[3])
    op = node[1]
    if left.refs or right.refs:
        mine = _operators.binary(run, frame, op, left, right)
        if mine is not None:
            return mine
    if op in ("FloorDivide", "Power", "LeftShift", "RightShift"):
        return CLEAN
    if op in ("Divide", "Subtract") and left.labels and not left.objects() and not right.objects():
        return CLEAN  # text has no such operation: what came in was a number
    if op == "BitOr" and all(isinstance(r, Cls | Ext | Typed) for r in (*left.refs, *right.refs)) and left.refs:
        return join(left, right)  # `int | None` in an annotation
    if op in ("Subtract", "BitAnd") and any(obj.kind == "set" for v in (left, right) for obj in v.objects()):
        return common(run, frame, left, right if op == "BitAnd" else None)
    if op in ("Add", "BitOr") and (left.objects() or right.objects()):
        if any(obj.kind == "foreign" for v in (left, right) for obj in v.objects()):
            note_foreign(run, frame, join(left, right), "`+`")
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
    shown = _formats.percent(run, frame, a[1], right) if op == "Modulo" and a and isinstance(a[1], str) else None
    if shown is None:
        shown = _classes.shown(run, frame, right, here(frame))
    labels = join_labels([_classes.shown(run, frame, left, here(frame)), shown])
    keep: list[Any] = [
        r for v in (left, right) for r in v.refs if isinstance(r, Obj) and r.kind in ("list", "ext", "set")
    ]
    if op == "Divide" and _beside.is_package_path(left) and right.exact:
        keep.append(_beside.PACKAGED)
    return labelled(labels, DATA, *keep)


def common(run: Run, frame: Frame, left: Value, right: Value | None) -> Value:
    """`a - b` and `a & b` over sets: what is in both is equal to something of ours where one of them is ours."""
    sides = [side for side in (left, right) if side is not None]
    ours = next((side for side in sides if not flat(side) and side.objects()), left)
    obj = run.new(frame, "set")
    obj.exact = False
    obj.elem = iterate(run, frame, ours)
    return of(obj)


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
        if kind == "dict":
            spread(run, obj, value)
            continue
        for o in value.objects():
            obj.elem = join(obj.elem, iterate_object(run, frame, o))
        if value.labels:
            obj.elem = join(obj.elem, labelled(value.labels))
    return of(obj)


def on_logic(run: Run, frame: Frame, node: Node) -> Value:
    left = evaluate(run, frame, node[2])
    saved = frame.vars
    frame.vars = dict(saved)
    _narrow.narrow(run, frame, node[2], positive=node[1] == "And")
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
    values = [evaluate(run, frame, part) for part in node[1]]
    if len(values) == 2 and any(o.kind == "inst" for value in values for o in value.objects()):
        mine = _operators.compared(run, frame, node[2][0], *values)
        return mine if mine is not None and node[2][0] not in ("In", "NotIn") else CLEAN
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
            obj.settle(known[1])
        else:
            obj.put_anywhere(value)
            obj.keys = join(obj.keys, without_consts(key))
            obj.exact = False
    if run.frameworks is not None and "name" in obj.fields:
        _spelled.described(run, obj.fields)
        _offered.schema(run, frame, obj.fields)
    if run.frameworks is not None and obj.fields:
        _offered.mapped(run, frame, obj.fields)
    return of(obj)


def spread(run: Run, obj: Obj, value: Value) -> None:
    """`**value` into a dict: what it has for certain takes the place of what was there."""
    others = value.objects()
    for other in others:
        obj.put_anywhere(other.elem)
        obj.keys = join(obj.keys, other.keys)
        obj.exact = obj.exact and other.exact
    if value.labels:
        obj.put_anywhere(labelled(value.labels))
        obj.keys = join(obj.keys, labelled(value.labels))
    if not others:
        obj.exact = False
    for key, item, certain in items_of(value):
        if certain:
            obj.fields[key] = item
            obj.settle(key)
        else:
            if key not in obj.fields:
                obj.unsettle(key)
            obj.fields[key] = join(item, obj.fields.get(key, EMPTY))
    del run


def items_of(value: Value) -> list[tuple[Any, Value, bool]]:
    """The keys of the dicts that a value may be, what stands under each, and whether whichever it is has that key and
    nothing else there.
    """
    others = [other for other in value.objects() if other.kind in ("dict", "inst")]
    alone = not value.labels and len(others) == len(value.refs)
    names = others[0].fields if len(others) == 1 else {key: None for other in others for key in other.fields}
    return [
        (
            key,
            join(*(other.fields[key] for other in others if key in other.fields)),
            alone and all(other.is_firm(key) for other in others),
        )
        for key in list(names)
    ]


def on_ternary(run: Run, frame: Frame, node: Node) -> Value:
    evaluate(run, frame, node[2])
    out: list[Value] = []
    saved = frame.vars
    for positive, part in ((True, node[1]), (False, node[3])):
        frame.vars = dict(saved)
        if _narrow.narrow(run, frame, node[2], positive=positive):
            out.append(evaluate(run, frame, part))
    frame.vars = saved
    return join(*out)


def on_lambda(_run: Run, frame: Frame, node: Node) -> Value:
    return of(Func(frame.module.name, node[1], frame.env, None, frame.owner))


def on_comprehension(run: Run, frame: Frame, node: Node) -> Value:
    saved = frame.vars
    frame.vars = dict(saved)
    for target, iterated, conditions in node[4]:
        source = evaluate(run, frame, iterated)
        item = iterate(run, frame, source)
        if is_known_empty(source, item):
            frame.vars = saved
            return of(run.new(frame, {"l": "list", "s": "set", "d": "dict", "g": "list"}[node[1]]))
        _exec.assign(run, frame, target, item) if frame.env is not None else assign_local(run, frame, target, item)
        for condition in conditions:
            evaluate(run, frame, condition)
            _narrow.narrow(run, frame, condition, positive=True)
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
    if node[1][0] == "x":
        run.waiting = (frame.module.path, node[1][1])
    value = evaluate(run, frame, node[1])
    waits = _operators.methods(run, value, "__await__", EMPTY)
    if waits:  # what the generator that `__await__` gives returns is what was waited for
        given = join(*(_operators.called(run, frame, method) for method, _ in waits))
        ended = [obj.fields["[generator]"] for obj in given.objects() if "[generator]" in obj.fields]
        return join(*ended) if ended else given
    return awaited(run, value)


def awaited(_run: Run, value: Value) -> Value:
    futures = [o for o in value.objects() if o.kind == "future"]
    if not futures:
        return value
    rest = Value(value.labels, value.refs - frozenset(futures), value.consts)
    return join(rest, *(f.elem for f in futures))


def on_yield(run: Run, frame: Frame, node: Node) -> Value:
    frame.yields = join(frame.yields, evaluate(run, frame, node[1]))
    for error in run.thrown[-1:]:
        run.event(frame, error.labels)
    return run.sent[-1] if run.sent else EMPTY


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
    "nf": on_number_format, "b": on_binary, "o": on_logic, "cmp": on_compare, "!": on_not, "u": on_unary, "t": on_sequence,
    "l": on_sequence, "S": on_sequence, "d": on_dict, "?": on_ternary, "F": on_lambda, "C": on_comprehension,
    ":=": on_walrus, "w": on_await, "y": on_yield, "Y": on_yield_from, "*": on_star,
}  # fmt: skip
