"""Every shape of a tool that the type checkers must refuse. Checked, never run.

Each wrong line carries the code of its refusal; under `warn_unused_ignores` a refusal that no longer comes is an error.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from registry import AnyTool, CatalogTool, Deployment, Foreign, MixedReply, OwnReply, ToolDef, ToolInput, reply
from registry.prompt import model_text, owner, prompt, stranger
from registry.prompt import own as own_words
from registry.surfaces.chat import chat_tools


class Page(ToolInput):
    url: str


class Issue(ToolInput):
    number: int


def text(request: Page) -> str:
    return request.url


def own(request: Page) -> OwnReply:
    return reply(request.url)


def mixed(request: Page) -> MixedReply:
    return reply(Foreign(request.url))


async def mixed_later(request: Page) -> MixedReply:
    return reply(Foreign(request.url))


def either_mixed(request: Page) -> str | MixedReply:
    return "text" if request.url else reply(Foreign("text"))


def other_model(request: Issue) -> str:
    return str(request.number)


def number(request: Page) -> int:
    return len(request.url)


def foreign(request: Page) -> Foreign[str]:
    return Foreign(request.url)


def origin_of_issue(request: Issue) -> str:
    return str(request.number)


def origin_number(request: Page) -> int:
    return len(request.url)


class Plain:
    url: str


# No declaration.
ToolDef(name="a", description="d", input=Page, handler=text)  # type: ignore[call-arg]

# A declaration that is not one.
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=True)  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=None)  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=1)  # type: ignore[arg-type]

# An origin of another model, or one that is no string.
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=origin_of_issue)  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=origin_number)  # type: ignore[arg-type]

# A handler of another model, or one that answers in no way known here.
ToolDef(name="a", description="d", input=Page, handler=other_model, untrusted_output=False)  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=other_model, untrusted_output="web")  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=number, untrusted_output=False)  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Page, handler=foreign, untrusted_output="web")  # type: ignore[arg-type]
ToolDef(name="a", description="d", input=Plain, handler=text, untrusted_output=False)  # type: ignore[arg-type, type-var]

# False beside a handler that returns foreign text.
ToolDef(name="a", description="d", input=Page, handler=mixed, untrusted_output=False)  # type: ignore[misc]
ToolDef(name="a", description="d", input=Page, handler=mixed_later, untrusted_output=False)  # type: ignore[misc]
ToolDef(name="a", description="d", input=Page, handler=either_mixed, untrusted_output=False)  # type: ignore[misc]

# Positional arguments, unknown fields, a wrong effect.
ToolDef("a", "d", Page, text, False)  # type: ignore[call-arg]
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=False, untrusted=1)  # type: ignore[call-arg]
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=False, effect="mutate")  # type: ignore[arg-type]


# Foreign text where own words are promised.
def promised(request: Page) -> OwnReply:
    return reply(Foreign(request.url))  # type: ignore[return-value]


def promised_data(request: Page) -> OwnReply:
    return reply("one", data=Foreign({"a": 1}))  # type: ignore[return-value]


# A foreign value is no string, and gives back no string.
page = Foreign("text", "web")
joined: str = "a" + page  # type: ignore[operator]
words: str = page.map(str.upper)  # type: ignore[assignment]
page.measure(str.upper)  # type: ignore[arg-type]
page.narrow(Plain)  # type: ignore[type-var]
page.narrow("Plain")  # type: ignore[arg-type]
len(page)  # type: ignore[arg-type]
page[0]  # type: ignore[index]
list(page)  # type: ignore[call-overload]
reply(1)  # type: ignore[call-overload]

# A part of a prompt that nobody wrote, and text of somebody else's as own words.
prompt("text")  # type: ignore[arg-type]
prompt(own_words("one"), page)  # type: ignore[arg-type]
owner(page)  # type: ignore[arg-type]
model_text(page)  # type: ignore[arg-type]
own_words(page)  # type: ignore[arg-type]
own_words("{name}", name="text")  # type: ignore[arg-type]
own_words(words)  # pyright: ignore[reportArgumentType]  # mypy takes a LiteralString for any str
stranger(1)  # type: ignore[arg-type]


# An input whose schema was worded by something that is nobody.
class NobodysInput(ToolInput):
    prose_origin = True  # type: ignore[assignment]


# A carrier of third-party prose without the setting, or under one that there is not.
def carried(tool: AnyTool) -> None:
    CatalogTool.under(tool)  # type: ignore[call-arg, arg-type]
    CatalogTool.under("shown", tool)  # type: ignore[arg-type]


# A chat in a form that there is not.
def offered(deployment: Deployment) -> None:
    chat_tools(deployment, "mistral")  # type: ignore[arg-type]
