"""What a client of the web tells a program of the requests that it makes: the functions that it calls around each one
(`event_hooks={"response": [f]}`), and the request that a response or an error belongs to.
"""

from __future__ import annotations

from typing import Final

from tools_check import _call, _eval, _models
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    Ext,
    Func,
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
