"""Files that lie beside the code: their authors wrote them with it, unless the code that reads one also writes one."""

from __future__ import annotations

from typing import Final

from tools_check import _call
from tools_check._run import Frame, Run
from tools_check._values import (
    CLEAN,
    Data,
    Method,
    Value,
    of,
)  # fmt: skip

PACKAGED: Final = Data("package")


def is_packaged(args: _call.Args) -> bool:
    """Whether a path is built from `__file__` and constants alone: a file that came with the code."""
    return any(packaged(v) for v in args.values()) and all(packaged(v) or v.exact for v in args.values())


def packaged(value: Value) -> bool:
    return PACKAGED in value.refs or any("[package]" in o.fields for o in value.objects() if o.kind == "ext")


def resource(run: Run, frame: Frame, _name: str, _args: _call.Args, _site: int) -> Value:
    """`importlib.resources.files("package")`: a folder that came with the code."""
    obj = run.new(frame, "ext", "pathlib.Path")
    obj.fields["[package]"] = CLEAN
    return of(obj)


def came_with_code(run: Run, frame: Frame, path: Value) -> bool:
    """Whether a file is as its authors wrote it: it lies beside the code, and the code here writes none that do.

    Which of them it writes is not told apart: paths are joined without their texts.
    """
    return packaged(path) and frame.module.name not in run.rewriting


def rewritten(run: Run, frame: Frame) -> None:
    """Remember that a module keeps something of its own beside the code: notes that somebody told it."""
    if frame.module.name not in run.rewriting:
        run.rewriting.add(frame.module.name)
        run.version += 1


def is_package_path(value: Value) -> bool:
    """Whether a value is a path of a file that came with the code, or the folder of one."""
    return packaged(value) or any(
        isinstance(r, Method) and r.kind == "ext" and packaged(r.receiver) for r in value.refs
    )
