"""A tool whose author did not say who chose the bytes. mypy refuses it; `make demo` shows how."""

from registry import ToolDef, ToolInput


class Page(ToolInput):
    url: str


def page(request: Page) -> str:
    return f"What {request.url} says."


PAGE = ToolDef(name="page", description="Read a page.", input=Page, handler=page)
