"""Tools of other frameworks, by the table `frameworks.toml`."""

from __future__ import annotations

from tools_check import _call
from tools_check._run import Frame, Run
from tools_check._values import Func, Value


def decorated(run: Run, frame: Frame, target: Value, args: _call.Args | None, value: Value, func: Func) -> bool:
    return False


def constructed(run: Run, frame: Frame, qname: str, args: _call.Args, site: int) -> Value | None:
    return None
