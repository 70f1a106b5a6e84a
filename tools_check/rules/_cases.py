"""Beginnings that the cases of several rules share."""

from __future__ import annotations

from typing import Final

HEAD: Final = """\
import httpx
from registry import Foreign, ToolDef, ToolFailed, ToolInput, reply, refuse

class Page(ToolInput):
    url: str

"""
LINES: Final = HEAD.count("\n")


def tool(body: str, declaration: str = "untrusted_output=False") -> str:
    """A module whose one tool has a handler named `page`."""
    given = f", {declaration}" if declaration else ""
    return f'{HEAD}{body}\nTOOL = ToolDef(name="page", description="Reads.", input=Page, handler=page{given})\n'
