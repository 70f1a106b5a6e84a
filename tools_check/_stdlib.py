"""Functions of Python's own library that hand on what they are given in a way of their own: heaps, packed numbers, weak
references, records made at run time, pipes between tasks."""

from __future__ import annotations

import re
from typing import Final

from tools_check import _attributes, _call, _classes, _errors, _eval, _hooks, _opened, _outside
from tools_check._ir import is_node
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    DATA,
    EMPTY,
    Cls,
    Ext,
    Func,
    Labels,
    Obj,
    Partial,
    Value,
    const,
    flat,
    join,
    join_labels,
    labelled,
    of,
)

# -- containers


def pushed(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`heapq.heappush(heap, x)` and `bisect.insort(items, x)`; some give an item back."""
    items = args.get(0, "a") or EMPTY
    for obj in items.objects():
        run.write(frame, obj, None, args.get(1, "x") or EMPTY)
    return _eval.iterate(run, frame, items) if name.endswith(("pushpop", "replace", "pop")) else EMPTY


def picked(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`heapq.nlargest(n, items)`, `difflib.get_close_matches(word, items)`: some of the items, and of nothing else."""
    obj = run.new(frame, "list")
    obj.exact = False
    values = args.positional if name.endswith("merge") else [args.get(1, "iterable") or args.get(-1, "possibilities")]
    obj.elem = join(*(_eval.iterate(run, frame, value) for value in values))
    key = args.get(-1, "key")
    if key is not None:
        _call.call(run, frame, key, _call.Args((obj.elem,)), _eval.here(frame))
    return of(obj)


def added_up(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`sum(numbers)`: text is refused; lists are put together where the start is one."""
    item = _eval.iterate(run, frame, args.get(0, "iterable"))
    start = args.get(1, "start")
    if not item.objects() and (start is None or not start.objects()):
        return CLEAN
    return join(item, start or EMPTY)


def folded(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`functools.reduce(f, items, start)`: item by item where they are known, else what two steps give."""
    func, items, start = args.get(0, "function") or EMPTY, args.get(1, "iterable") or EMPTY, args.get(2, "initial")
    known = _call.known_items(items)
    if known is not None and len(known) <= 12:
        value, *rest = [*([start] if start is not None else []), *known] or [EMPTY]
        for item in rest:
            value = _call.call(run, frame, func, _call.Args((value, item)), site)
        return value
    item = _eval.iterate(run, frame, items)
    value = start if start is not None else item
    for _ in range(2):
        value = join(value, _call.call(run, frame, func, _call.Args((value, item)), site))
    return value


def named_record(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`namedtuple("Row", "label body")`, `NamedTuple("Row", [("label", str)])`: calling what it gives makes a record."""
    given = args.get(1, "field_names") or args.get(-1, "fields") or EMPTY
    names = [word for text in given.strings() for word in text.replace(",", " ").split()]
    for item in _call.known_items(given) or []:
        first = _eval.subscript(run, frame, item, const(0)) if item.objects() else item
        names += first.strings()
    if not names:
        return of(Ext("collections.namedtuple()"))
    return of(Partial(of(Ext("collections.namedtuple()")), (of(Ext(" ".join(names))),), ()))


def same_type(_run: Run, _frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`NewType("Id", int)`: at run time, the type that it is made of."""
    return args.get(1, "tp") or EMPTY


def record(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """A record made of a `namedtuple`: a tuple whose places have names."""
    first = args.get(0) or EMPTY
    names = next((ref.qname.split() for ref in first.refs if isinstance(ref, Ext)), list[str]())
    obj = run.new(frame, "tuple", tuple(names))
    given = args.positional[1:] if names else args.positional
    obj.fields.update(enumerate(given))
    obj.fields.update((names.index(name), value) for name, value in args.keywords if name in names)
    for spread in (args.star, args.dstar):
        if spread is not None:
            obj.elem = join(obj.elem, _eval.iterate(run, frame, spread), labelled(flat(spread)))
    return of(obj)


def record_names(made: Partial) -> list[str]:
    """The names of the places of what `namedtuple(...)` gave; none of any other callable."""
    if Ext("collections.namedtuple()") not in made.func.refs:
        return []
    return next(
        (ref.qname.split() for value in made.args[:1] for ref in value.refs if isinstance(ref, Ext)), list[str]()
    )


def places(obj: Obj) -> tuple[str, ...]:
    """The names of the places of a record that was made at run time; none of any other tuple."""
    names: object = obj.cls
    return tuple(str(name) for name in names) if is_node(names) else ()


def named_item(obj: Obj, name: str) -> Value | None:
    """What stands under a name in a record that was made at run time; None where it has no such name."""
    names = places(obj)
    return join(obj.fields.get(names.index(name), EMPTY), obj.elem) if name in names else None


# -- numbers


def packed(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`struct.unpack(format, data)`: numbers are numbers, only what `s` and `p` stand for is text."""
    return unpacked(run, frame, args.get(0, "format") or EMPTY, args.labels(), name)


def layout(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`struct.Struct(format)`."""
    obj = run.new(frame, "ext", "struct.Struct")
    obj.fields["[layout]"] = args.get(0, "format") or EMPTY
    return of(obj)


def packed_by(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, _site: int) -> Value:
    found = join(*(obj.fields.get("[layout]", EMPTY) for obj in receiver.objects()))
    return unpacked(run, frame, found, args.labels(), name)


def unpacked(run: Run, frame: Frame, given: Value, labels: Labels, name: str) -> Value:
    known = _eval.single(given)
    text = known[1] if known is not None else None
    text = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    if not isinstance(text, str):
        return labelled(labels, DATA)
    row = run.new(frame, "tuple")
    row.exact = False
    place = 0
    for count, kind in re.findall(r"(\d*)([a-zA-Z?])", text):
        if kind == "x":
            continue
        for _ in range(1 if kind in "sp" else min(int(count or 1), 64)):
            row.fields[place] = labelled(labels, DATA) if kind in "spc" else CLEAN
            place += 1
    if not name.endswith("iter_unpack"):
        return of(row)
    rows = run.new(frame, "list")
    rows.elem, rows.exact = of(row), False
    return of(rows)


def replaced_and_counted(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`re.subn(...)`: the text, and how often."""
    row = run.new(frame, "tuple")
    row.fields = {0: _outside.call(run, frame, name[:-1], args, site), 1: CLEAN}
    return of(row)


def replaced_by_pattern(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    return replaced_and_counted(run, frame, name, _call.Args((receiver, *args.positional), args.keywords), site)


# -- texts


def written_as_json(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    """`json.dumps(data, default=f)`: f says what stands for the things of the project in the data."""
    labels = [args.labels()]
    makers = args.get(-1, "default") or EMPTY
    for ref in (args.get(-1, "cls") or EMPTY).refs:
        made = _call.call(run, frame, of(ref), _call.NOTHING, site) if isinstance(ref, Cls) else EMPTY
        makers = join(makers, _attributes.attribute(run, frame, made, "default", site) if made.objects() else EMPTY)
    if any(isinstance(ref, Func | Partial) for ref in makers.refs):
        things = things_in(args.get(0, "obj") or EMPTY)
        given = _call.Args((of(*things) if things else args.get(0, "obj") or EMPTY,))
        labels.append(flat(_call.call(run, frame, makers, given, site)))
    shown = join_labels(labels)
    _opened.into_buffers(run, frame, args, shown)
    return labelled(shown, DATA)


def things_in(value: Value, depth: int = 3) -> list[Obj]:
    """The instances of the project in a value, and in the containers that it is made of."""
    out = [obj for obj in value.objects() if obj.kind == "inst"]
    if depth:
        out += [
            o for obj in value.objects() if obj.kind != "inst" for v in obj.children() for o in things_in(v, depth - 1)
        ]
    return out[:40]


def manager(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    """`multiprocessing.Manager()`."""
    return of(run.new(frame, "ext", "multiprocessing.managers.SyncManager"))


def managed(run: Run, frame: Frame, name: str, _receiver: Value, args: _call.Args, site: int) -> Value:
    """`manager.dict()`: a container that several processes share."""
    return _outside.call(run, frame, f"builtins.{name.rpartition('.')[2]}", args, site)


def managed_queue(run: Run, frame: Frame, _name: str, _receiver: Value, _args: _call.Args, _site: int) -> Value:
    return of(run.new(frame, "list"))


# -- references


def reference(_run: Run, _frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`weakref.ref(x)`: calling it gives x."""
    return of(Partial(of(Ext("copy.copy")), args.positional[:1], ()))


def getter(_run: Run, _frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`operator.attrgetter("a.b")`, `itemgetter`, `methodcaller`: what they give is read from what they are given."""
    return of(Partial(of(Ext(f"{name}()")), args.positional, args.keywords))


def got_attributes(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    *names, thing = args.positional or (EMPTY,)
    out: list[Value] = []
    for name in names:
        known = _eval.single(name)
        if known is None or not isinstance(known[1], str):
            return labelled(args.labels(), DATA)
        value = thing
        for part in known[1].split("."):
            value = _attributes.attribute(run, frame, value, part, site)
        out.append(value)
    return one_or_row(run, frame, out)


def got_items(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    *keys, thing = args.positional or (EMPTY,)
    return one_or_row(run, frame, [_eval.subscript(run, frame, thing, key) for key in keys])


def got_method(run: Run, frame: Frame, _name: str, args: _call.Args, site: int) -> Value:
    name, *rest = args.positional or (EMPTY,)
    known = _eval.single(name)
    if known is None or not rest:
        return labelled(args.labels(), DATA)
    method = _attributes.attribute(run, frame, rest[-1], str(known[1]), site)
    return _call.call(run, frame, method, _call.Args(tuple(rest[:-1]), args.keywords), site)


def one_or_row(run: Run, frame: Frame, values: list[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    row = run.new(frame, "tuple")
    row.fields.update(enumerate(values))
    return of(row)


# -- tasks, threads and logs


def pipe(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    """`create_memory_object_stream()`: what is put in at one end comes out at the other."""
    row = run.new(frame, "tuple")
    stream = of(run.new(frame, "list", STREAM))
    row.fields = {0: stream, 1: stream}
    return of(row)


STREAM: Final = "stream"


def entered(run: Run, frame: Frame, _name: str, _receiver: Value, args: _call.Args, _site: int) -> Value:
    """`stack.enter_context(thing)`: what `with thing as name` would bind."""
    return _call.enter(run, frame, args.get(0, "cm") or EMPTY)


def promised(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    """`loop.create_future()`: what is set there is what is waited for."""
    return of(run.new(frame, "future"))


def promised_by(run: Run, frame: Frame, _name: str, _receiver: Value, _args: _call.Args, _site: int) -> Value:
    return of(run.new(frame, "future"))


def called_later(run: Run, frame: Frame, _name: str, _receiver: Value, args: _call.Args, site: int) -> Value:
    """`stack.callback(f, x)`: f is called with x when the stack is left."""
    _call.call(run, frame, args.get(0, "callback") or EMPTY, args.rest(1), site)
    return args.get(0, "callback") or EMPTY


def called_with_rest(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`atexit.register(f, x)`, `weakref.finalize(thing, f, x)`: f is called with x some time."""
    first = 1 if name.endswith("finalize") else 0
    _call.call(run, frame, args.get(first, "func") or EMPTY, args.rest(first + 1), site)
    return EMPTY if first else args.get(0, "func") or EMPTY


def protocol(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    return _hooks.connected(run, frame, name, receiver, args, site)


def asked_by_rows(run: Run, frame: Frame, name: str, _receiver: Value, args: _call.Args, site: int) -> Value:
    """`db.create_function("f", 1, f)`: f is called with what stands in the rows."""
    labels = run.source(frame, site, name, "sql")
    functions = frozenset(
        r for r in (args.get(2, "func") or args.get(1, "callable") or EMPTY).refs if _call.is_callback(r)
    )
    _call.called_back(run, frame, functions, _call.Args((labelled(labels, DATA),)), site, fill=True)
    return EMPTY


def served(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`asyncio.start_server(f, host, port)`: f gets what whoever connects sends."""
    reader = run.new(frame, "ext", "asyncio.StreamReader")
    given = labelled(run.source(frame, site, name, "socket"), reader)
    writer = of(run.new(frame, "ext", "asyncio.StreamWriter"))
    _call.call(run, frame, args.get(0, "client_connected_cb") or EMPTY, _call.Args((given, writer)), site)
    return of(run.new(frame, "ext", "asyncio.Server"))


def answered(run: Run, frame: Frame, name: str, _receiver: Value, _args: _call.Args, site: int) -> Value:
    """`smtp.ehlo()`: a number, and what the server says."""
    labels = run.source(frame, site, name, "mail")
    run.event(frame, labels)
    row = run.new(frame, "tuple")
    row.fields = {0: CLEAN, 1: labelled(labels, DATA)}
    return of(row)


def print_error(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`traceback.print_exc(file=buffer)`."""
    shown = join_labels([flat(join(v, _errors.causes(v))) for v in (*frame.caught[-1:], *args.positional)])
    into = [value for value in (args.get(-1, "file"), *run.redirected) if value is not None]
    _opened.into_buffers(run, frame, _call.Args(tuple(into)), shown)
    return EMPTY


def log_to(run: Run, frame: Frame, name: str, args: _call.Args, _site: int) -> Value:
    """`logging.StreamHandler(buffer)`, `basicConfig(stream=buffer)`: where what is logged is written."""
    for value in (args.get(-1, "stream"), args.get(0) if name.endswith("Handler") else None):
        run.log_sinks += [obj for obj in (value or EMPTY).objects() if obj not in run.log_sinks]
    return of(run.new(frame, "ext", name))


def warned_into(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`warnings.catch_warnings(record=True)`: the list that takes the warnings."""
    if args.get(0, "record") is None:
        return EMPTY
    obj = run.new(frame, "list")
    run.log_sinks.append(obj)
    return of(obj)


def warned(run: Run, frame: Frame, _name: str, args: _call.Args, _site: int) -> Value:
    """`warnings.warn(text)`."""
    for sink in run.log_sinks if args.labels() else ():
        if sink.kind == "list":
            run.write(frame, sink, None, labelled(args.labels(), DATA))
    return EMPTY


def log_through(run: Run, _frame: Frame, _name: str, _receiver: Value, args: _call.Args, _site: int) -> Value:
    """`logger.addHandler(handler)`: a handler of the project gets what is logged."""
    for obj in (args.get(0, "hdlr") or EMPTY).objects():
        if obj.kind == "inst" and obj not in run.log_sinks:
            run.log_sinks.append(obj)
    return EMPTY


def logged(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`logger.info(text)`: nothing comes back, and the handlers get it."""
    labels = args.labels()
    if name.endswith("exception") or args.get(-1, "exc_info") is not None:
        labels = join_labels([labels, *(flat(join(v, _errors.causes(v))) for v in frame.caught[-1:])])
    if not labels:
        return EMPTY
    for sink in list(run.log_sinks):
        emit = _classes.find_method(run, sink.cls, "emit") if sink.kind == "inst" else None
        if emit is not None:
            record = run.new(frame, "ext", "logging.LogRecord")
            record.elem = labelled(labels, DATA)
            _call.call(run, frame, of(_classes.bind(emit, of(sink))), _call.Args((of(record),)), site)
        elif sink.kind == "ext":
            run.write(frame, sink, None, labelled(labels))
    return EMPTY


def logged_by(run: Run, frame: Frame, name: str, _receiver: Value, args: _call.Args, site: int) -> Value:
    return logged(run, frame, name, args, site)


LEVELS: Final = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")

# What a method of a class of Python's own calls of the class that inherits from it: the names or how they begin.
HOOKS: Final = {
    "html.parser.HTMLParser.feed": ("handle_", "unknown_decl"),
    "threading.Thread.start": ("run",),
    "multiprocessing.Process.start": ("run",),
    "ast.NodeVisitor.visit": ("visit_", "generic_visit"),
    "ast.NodeTransformer.visit": ("visit_", "generic_visit"),
    "json.JSONEncoder.encode": ("default",),
    "cmd.Cmd.onecmd": ("do_", "default"),
    "string.Formatter.format": ("get_value", "get_field", "format_field", "convert_field"),
}  # fmt: skip


def hooked(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    """Follow the methods of the project that a method of Python's own calls."""
    begins = HOOKS[name]
    given = _call.Args(star=labelled(args.labels(), DATA)) if args.values() else _call.NOTHING
    out: list[Value] = []
    for obj in receiver.objects():
        for owner in _classes.mro(run, obj.cls)[0] if obj.kind == "inst" else ():
            for method, value in sorted(run.class_env.get(owner, {}).items()):
                if method.startswith(begins) and any(isinstance(ref, Func) for ref in value.refs):
                    bound = _classes.bound(run, frame, value, of(obj), obj.cls, site)
                    out.append(_call.call(run, frame, bound, given, site))
    return join(*out, labelled(args.labels(), DATA))


CALLS: Final[dict[str, _outside.Special]] = {
    **dict.fromkeys(("heapq.heappush", "heapq.heappushpop", "heapq.heapreplace", "heapq.heappop"), pushed),
    **dict.fromkeys(("bisect.insort", "bisect.insort_left", "bisect.insort_right"), pushed),
    **dict.fromkeys(("heapq.nlargest", "heapq.nsmallest", "heapq.merge", "difflib.get_close_matches"), picked),
    "builtins.sum": added_up,
    "functools.reduce": folded,
    "collections.namedtuple": named_record,
    "typing.NamedTuple": named_record,
    "collections.namedtuple()": record,
    "struct.unpack": packed,
    "struct.unpack_from": packed,
    "struct.iter_unpack": packed,
    "struct.Struct": layout,
    "re.subn": replaced_and_counted,
    "weakref.ref": reference,
    "weakref.WeakMethod": reference,
    "operator.attrgetter": getter,
    "operator.itemgetter": getter,
    "operator.methodcaller": getter,
    "operator.attrgetter()": got_attributes,
    "operator.itemgetter()": got_items,
    "operator.methodcaller()": got_method,
    "anyio.create_memory_object_stream": pipe,
    "trio.open_memory_channel": pipe,
    "multiprocessing.Pipe": pipe,
    "traceback.print_exc": print_error,
    "traceback.print_exception": print_error,
    "atexit.register": called_with_rest,
    "weakref.finalize": called_with_rest,
    "json.dumps": written_as_json,
    "json.dump": written_as_json,
    "multiprocessing.Manager": manager,
    "asyncio.start_server": served,
    "asyncio.start_unix_server": served,
    "asyncio.Future": promised,
    "concurrent.futures.Future": promised,
    "warnings.catch_warnings": warned_into,
    "warnings.warn": warned,
    "typing.NewType": same_type,
    "logging.StreamHandler": log_to,
    "logging.basicConfig": log_to,
    **{f"logging.{level}": logged for level in LEVELS},
}

ANSWERED: Final = ("ehlo", "helo", "noop", "docmd", "verify", "vrfy", "expn", "rset", "mail", "rcpt", "data", "getreply",
                   "login", "starttls", "connect", "quit", "auth")  # fmt: skip
METHODS: Final[dict[str, _outside.SpecialMethod]] = {
    **{f"smtplib.SMTP.{name}": answered for name in ANSWERED},
    **dict.fromkeys(("struct.Struct.unpack", "struct.Struct.unpack_from", "struct.Struct.iter_unpack"), packed_by),
    "re.Pattern.subn": replaced_by_pattern,
    "contextlib.ExitStack.enter_context": entered,
    "contextlib.AsyncExitStack.enter_context": entered,
    "contextlib.AsyncExitStack.enter_async_context": entered,
    **{f"multiprocessing.managers.SyncManager.{kind}": managed for kind in ("dict", "list")},
    **{f"multiprocessing.managers.SyncManager.{kind}": managed_queue for kind in ("Queue", "JoinableQueue")},
    "contextlib.ExitStack.callback": called_later,
    "contextlib.AsyncExitStack.callback": called_later,
    "contextlib.AsyncExitStack.push_async_callback": called_later,
    "sqlite3.Connection.create_function": asked_by_rows,
    "sqlite3.Connection.create_collation": asked_by_rows,
    "asyncio.AbstractEventLoop.create_future": promised_by,
    **{
        f"asyncio.AbstractEventLoop.{way}": protocol
        for way in (
            "create_connection",
            "create_server",
            "create_unix_connection",
            "create_unix_server",
            "create_datagram_endpoint",
            "subprocess_exec",
            "subprocess_shell",
            "connect_read_pipe",
        )
    },
    "logging.Logger.addHandler": log_through,
    **{f"logging.Logger.{level}": logged_by for level in LEVELS},
    **dict.fromkeys(HOOKS, hooked),
}
