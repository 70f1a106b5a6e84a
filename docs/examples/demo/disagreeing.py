"""A tool that declares own words and returns foreign text. mypy refuses it; `make demo` shows how."""

from registry import Foreign, MixedReply, ToolDef, ToolInput, reply


class Page(ToolInput):
    url: str


def page(request: Page) -> MixedReply:
    return reply("One page.", Foreign(f"What {request.url} says."))


PAGE = ToolDef(name="page", description="Read a page.", input=Page, handler=page, untrusted_output=False)
