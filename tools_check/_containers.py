"""What Python's own containers hold after they are made: `list`, `dict(...)`, `Counter`, `zip`, and the one item that
`next` and `min` take out."""

from __future__ import annotations

from typing import Final

from tools_check import _call, _eval, _models
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, EMPTY, Obj, Value, const, join, labelled, of

COUNTER: Final = "collections.Counter"


def counted(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`Counter(items)`: the items are keys, and what stands under them are numbers."""
    obj = run.new(frame, "dict", COUNTER)
    obj.keys = _eval.iterate(run, frame, args.get(0, "iterable"))
    obj.elem = CLEAN
    obj.exact = False
    return of(obj)


def container(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`list`, `set`, `sorted`, ...: the same items in a new container."""
    kind = {"builtins.set": "set", "builtins.frozenset": "set", "builtins.tuple": "tuple"}.get(name, "list")
    first = args.get(0, "iterable")
    if first is None:
        return of(run.new(frame, kind))
    obj = run.new(frame, kind)
    objs = first.objects()
    if (
        len(objs) == 1
        and not first.labels
        and objs[0].kind in ("list", "tuple")
        and "sorted" not in name
        and "reversed" not in name
    ):
        obj.fields = {k: v for k, v in objs[0].fields.items() if k != "[generator]"}
        obj.elem = objs[0].elem
        obj.exact = objs[0].exact
    else:
        obj.elem = _eval.iterate(run, frame, first)
        obj.exact = False
    key = args.get(-1, "key")
    if key is not None:
        _call.call(run, frame, key, _call.Args((obj.elem,)), _eval.here(frame))
    return of(obj)


def mapping(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`dict(...)`, `OrderedDict`, `defaultdict`, `ChainMap`."""
    obj = run.new(frame, "dict", _eval.DEFAULTS if name.endswith("defaultdict") else None)
    positional = args.positional[1:] if name.endswith("defaultdict") else args.positional
    for value in reversed(positional) if name.endswith("ChainMap") else positional:  # the first map of a chain decides
        if any(o.kind in ("dict", "inst") for o in value.objects()):
            _eval.spread(run, obj, value)
        else:
            pair = _eval.iterate(run, frame, value)
            obj.put_anywhere(join(_eval.subscript(run, frame, pair, const(1)), labelled(value.labels)))
            obj.keys = join(obj.keys, _eval.subscript(run, frame, pair, const(0)), labelled(value.labels))
            obj.exact = False
    for key, value in args.keywords:
        obj.fields[key] = value
        obj.settle(key)
    if args.dstar is not None:
        _eval.spread(run, obj, args.dstar)
    if name.endswith("defaultdict") and args.positional:
        obj.elem = join(obj.elem, _call.call(run, frame, args.positional[0], _call.NOTHING, _eval.here(frame)))
        obj.exact = False
    return of(obj)


def enumerated(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`enumerate` and `zip`."""
    pair = Obj("tuple", None, frame.env, frame.path)
    if name.endswith("enumerate"):
        pair.fields[0] = CLEAN
        pair.fields[1] = _eval.iterate(run, frame, args.get(0, "iterable"))
    else:
        for i, value in enumerate(args.positional):
            pair.fields[i] = _eval.iterate(run, frame, value)
        if args.star is not None:
            pair.elem = _eval.iterate(run, frame, _eval.iterate(run, frame, args.star))
    obj = run.new(frame, "list")
    obj.exact = False
    obj.elem = of(pair)
    return of(obj)


def item(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`next`, `min`, `max`: one of the items."""
    if name.endswith("next"):
        _models.stops(run, frame, (args.get(0) or EMPTY).objects())
    if len(args.positional) > 1 and not name.endswith("next"):
        return join(*args.positional)
    default = args.get(1, "default") or EMPTY
    return join(_eval.iterate(run, frame, args.get(0)), default)


def variables(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`vars(x)`, `dataclasses.asdict(x)`: the fields as a dict."""
    first = args.get(0, "obj") or args.get(0, "inst") or EMPTY
    obj = run.new(frame, "dict")
    obj.exact = False
    _eval.spread(run, obj, first)
    things = [thing for thing in first.objects() if thing.kind == "inst"]
    if name == "builtins.vars" and len(things) == 1:
        obj.base = things[0]  # what is written there is written to the thing
    return of(obj)


def simple_namespace(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    obj = run.new(frame, "ext", "types.SimpleNamespace")
    obj.fields.update(dict(args.keywords))
    return of(obj)


def queue(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    return of(run.new(frame, "list"))
