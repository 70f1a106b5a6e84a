"""What a client of the web tells a program of the requests that it makes: the functions that it calls around each one
(`event_hooks={"response": [f]}`), and the request that a response or an error belongs to.
"""

from __future__ import annotations

from typing import Final

from tools_check import _call, _classes, _eval, _models
from tools_check._run import Frame, Run
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
    const,
    join,
    labelled,
    of,
    sorted_refs,
)  # fmt: skip

WORDS: Final = ("event_hooks", "hooks")
CLIENTS: Final = {"httpx": "httpx.Request", "requests": "requests.PreparedRequest"}
CALLABLES: Final = (Func, Partial, Method, Ext)


def given(run: Run, frame: Frame, qname: str, args: _call.Args, site: int) -> None:
    """Follow the functions that a client, or one call of it, is given to call."""
    for word, value in args.keywords:
        if word in WORDS:
            called(run, frame, qname.partition(".")[0], value, site)


def stored(run: Run, frame: Frame, base: Value, key: Value, value: Value) -> None:
    """`client.event_hooks["response"] = [f]`."""
    for ref in base.refs:
        if isinstance(ref, Method) and ref.kind == "ext" and ref.name.rpartition(".")[2] in WORDS:
            known = _eval.single(key)
            table = run.new(frame, "dict")
            table.fields = {known[1] if known is not None else "response": value}
            called(run, frame, ref.name.partition(".")[0], of(table), _eval.here(frame))


def assigned(run: Run, frame: Frame, base: Value, name: str, value: Value) -> None:
    """`client.event_hooks = {...}`."""
    for obj in base.objects() if name in WORDS else ():
        if obj.kind == "ext":
            called(run, frame, str(obj.cls).partition(".")[0], value, _eval.here(frame))


def called(run: Run, frame: Frame, library: str, table: Value, site: int) -> None:
    """Call each function of a table of hooks with what it stands for."""
    request = CLIENTS.get(library)
    if request is None:
        return
    for event in ("request", "response"):
        held = _eval.subscript(run, frame, table, const(event))
        found = join(held, *(_eval.iterate_object(run, frame, o) for o in held.objects() if o.kind != "inst"))
        functions = [
            r for r in sorted_refs(found) if isinstance(r, CALLABLES) or (isinstance(r, Obj) and r.kind == "inst")
        ]
        if not functions:
            continue
        thing = of(run.new(frame, "ext", request))
        if event == "response":
            labels = run.source(frame, site, f"{library}.Response", "http")
            thing = _models.made(run, frame, f"{library}.Response", labels, None)
        _call.call(run, frame, of(*functions), _call.Args((thing,)), site)


# How classes of a library are called whose methods the library calls with what it reads.
HANDLERS: Final = (
    "Handler",
    "Protocol",
    "Listener",
    "Callback",
    "Callbacks",
    "Target",
    "Observer",
    "Consumer",
    "Delegate",
)


def handed(run: Run, frame: Frame, receiver: Value, args: _call.Args, labels: Labels, site: int) -> None:
    """Follow what a library calls of the program once bytes go through it: functions that were stored in its thing
    (`client.on_message = f`), and the methods of a thing whose class is a handler of a library's kind.
    """
    given = _call.Args((labelled(labels, DATA),))
    for obj in receiver.objects():
        for name, value in list(obj.fields.items()) if obj.kind == "ext" else ():
            functions = frozenset(r for r in value.refs if isinstance(r, Func))
            if functions and isinstance(name, str) and name[:1] != "[":
                _call.called_back(run, frame, functions, given, site, fill=True)
    for obj in (o for value in args.values() for o in value.objects() if o.kind == "inst"):
        if obj.cls in run.handing or not is_handler(run, obj.cls):
            continue
        run.handing.append(obj.cls)
        heard(run, frame, obj, given, site)
        run.handing.pop()


def is_handler(run: Run, cls: Cls) -> bool:
    """Whether a class of the project is made to be called by a library."""
    return any(
        base.endswith(HANDLERS) and "." in base and base != "typing.Protocol" for base in _classes.mro(run, cls)[1]
    )


def heard(run: Run, frame: Frame, obj: Obj, given: _call.Args, site: int) -> None:
    """Call each method that a handler's class has in the project."""
    for owner in _classes.mro(run, obj.cls)[0]:
        for name, value in sorted(run.class_env.get(owner, {}).items()):
            functions = [r for r in sorted_refs(value) if isinstance(r, Func)]
            if functions and not name.startswith(("_", "=")):
                bound = _classes.bound(run, frame, of(*functions), of(obj), obj.cls, site)
                _call.called_back(run, frame, bound.refs, given, site, fill=True)


def connected(run: Run, frame: Frame, name: str, _receiver: Value, args: _call.Args, site: int) -> Value:
    """`loop.create_connection(Protocol, host, port)`: the protocol gets what the other side sends."""
    labels = run.source(frame, site, name, "socket")
    made = _call.call(run, frame, args.get(0, "protocol_factory") or EMPTY, _call.NOTHING, site)
    for obj in made.objects():
        if obj.kind == "inst":
            heard(run, frame, obj, _call.Args((labelled(labels, DATA),)), site)
    row = run.new(frame, "tuple")
    row.fields = {0: of(run.new(frame, "ext", "asyncio.Transport")), 1: made}
    return of(row)


def request_of(run: Run, frame: Frame, base: Value, name: str) -> Value | None:
    """`response.request`, `error.request`: how was asked is the program's, and so is for what, unless it followed a
    stranger's redirects on its way; None where it is no such thing.
    """
    kinds = [kind for o in base.objects() if o.kind == "ext" and (kind := run.catalog.part(str(o.cls), name))]
    if not kinds:
        return None
    out: list[Value] = []
    for kind in kinds:
        obj = run.new(frame, "ext", kind)
        obj.elem = labelled(base.labels)
        if kind == CLIENTS["httpx"] and not run.follows:
            obj.fields["url"] = CLEAN
        out.append(of(obj))
    return join(*out)


def follows(run: Run, name: str, value: Value) -> None:
    """Remember that some client of the program follows redirects (`follow_redirects=True`)."""
    if name == "follow_redirects" and not run.follows and value.consts != frozenset({("bool", False)}):
        run.follows = True
        run.version += 1
