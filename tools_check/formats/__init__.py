"""How a report is printed, one file each; nothing here decides what is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tools_check._report import Report
from tools_check.formats import concise, full, github, json_, sarif

FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "full": full.render,
    "concise": concise.render,
    "json": json_.render,
    "jsonl": json_.render_lines,
    "github": github.render,
    "sarif": sarif.render,
}
