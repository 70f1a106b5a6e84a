"""Tools of other frameworks, by the table `frameworks.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tools_check import _call
from tools_check._run import Frame, Run
from tools_check._values import Func, Value


def decorated(run: Run, frame: Frame, target: Value, args: _call.Args | None, value: Value, func: Func) -> bool:
    return False


def constructed(run: Run, frame: Frame, qname: str, args: _call.Args, site: int) -> Value | None:
    return None


def words(extra: Mapping[str, Any]) -> re.Pattern[bytes]:
    """What a file that defines such a tool mentions."""
    return re.compile(rb"\btool")
