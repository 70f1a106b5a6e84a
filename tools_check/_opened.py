"""Files, processes and buffers of Python's own library: what comes out of them is foreign unless the file came with the code
or nothing of it is kept, and what is written into a buffer comes out of it again."""

from __future__ import annotations

from typing import Final

from tools_check import _beside, _call, _classes, _eval
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, DATA, EMPTY, Ext, Labels, Value, labelled, of, sorted_refs

BUFFERS: Final = frozenset(
    {"io.StringIO", "io.BytesIO", "tempfile.SpooledTemporaryFile", "tempfile.NamedTemporaryFile",
     "tempfile.TemporaryFile", "io.TextIOWrapper"}
)  # fmt: skip


def into_buffers(run: Run, frame: Frame, args: _call.Args, labels: Labels) -> None:
    """What is given to a function together with a buffer may be written into it: `json.dump(data, out)`."""
    if not labels:
        return
    for value in args.values():
        for obj in value.objects():
            if obj.kind == "ext" and obj.cls in BUFFERS:
                run.write(frame, obj, None, labelled(labels))
            elif obj.kind == "inst" and (write := _classes.find_method(run, obj.cls, "write")) is not None:
                bound = of(_classes.bind(write, of(obj)))
                _call.call(run, frame, bound, _call.Args((labelled(labels, DATA),)), _eval.here(frame))


def opened(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`open(path, mode)`: a file that is only written gives nothing back."""
    return open_path(run, frame, name, args.get(0, "file") or EMPTY, args.get(1, "mode"), site)


def open_path(run: Run, frame: Frame, name: str, path: Value, mode: Value | None, site: int) -> Value:
    modes = mode.strings() if mode is not None and mode.exact else ["r"] if mode is None else ["?"]
    obj = run.new(frame, "ext", "io.IOBase")
    if _beside.packaged(path) and any(not m.startswith("r") or "+" in m for m in modes):
        _beside.rewritten(run, frame)
    if all(m and m[0] in "wax" and "+" not in m for m in modes) or _beside.came_with_code(run, frame, path):
        obj.cls = "io.Written"
        return of(obj)
    labels = run.source(frame, site, f"{name}()" if "." not in name else name.removeprefix("builtins."), "file")
    run.event(frame, labels)
    return labelled(labels, obj)


def process(run: Run, frame: Frame, name: str, args: _call.Args, site: int) -> Value:
    """`subprocess.run` and its kin: what is not captured does not come back."""
    captured = args.dstar is not None
    for keyword, value in args.keywords:
        if keyword == "capture_output":
            captured = captured or not (value.exact and value.consts == frozenset({("bool", False)}))
        elif keyword in ("stdout", "stderr"):
            drained = all(
                isinstance(r, Ext) and r.qname.endswith(("DEVNULL", "sys.stdout", "sys.stderr"))
                for r in sorted_refs(value)
            )
            captured = captured or (not (value.refs and drained) and not (value.exact and not value.refs))
    short = name.rpartition(".")[2]
    if name.startswith("subprocess.Popen") or short.startswith("create_subprocess"):
        cls = "subprocess.Popen" if name.startswith("subprocess") else "asyncio.subprocess.Process"
    else:
        cls = "subprocess.CompletedProcess"
    obj = run.new(frame, "ext", cls)
    if not captured and short not in ("check_output", "getoutput"):
        obj.cls = "subprocess.Uncaptured"
        return of(obj)
    labels = run.source(frame, site, name, "subprocess")
    run.event(frame, labels)
    into_buffers(run, frame, _call.Args(tuple(v for k, v in args.keywords if k in ("stdout", "stderr"))), labels)
    return labelled(labels, obj)


def path_open(run: Run, frame: Frame, name: str, receiver: Value, args: _call.Args, site: int) -> Value:
    return open_path(run, frame, name, receiver, args.get(0, "mode"), site)


def path_read(run: Run, frame: Frame, name: str, receiver: Value, _args: _call.Args, site: int) -> Value:
    """`Path.read_text()`, `iterdir()` and their kin: foreign unless the file came with the code."""
    if _beside.came_with_code(run, frame, receiver):
        return CLEAN
    labels = run.source(frame, site, name, "file")
    if name not in run.catalog.quiet:
        run.event(frame, labels)
    short = name.rpartition(".")[2]
    if short in ("iterdir", "glob", "rglob", "walk"):
        return labelled(labels, run.new(frame, "ext", "pathlib.Path"))
    return labelled(labels, DATA)
