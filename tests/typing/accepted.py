"""Every shape of a tool that the type checkers must accept. Checked, never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from registry import (
    AnyTool,
    Caller,
    CatalogProse,
    CatalogTool,
    Deployment,
    FenceKey,
    Foreign,
    Hex,
    Malformed,
    Media,
    MixedReply,
    Outcome,
    OwnReply,
    ToolDef,
    ToolInput,
    refuse,
    reply,
)
from registry.prompt import AnthropicPrompt, Message, model_text, owner, prompt, stranger
from registry.prompt import own as own_words
from registry.surfaces.chat import chat_tools, run_tool_calls


class Page(ToolInput):
    url: str


def text(request: Page) -> str:
    return request.url


async def text_later(request: Page) -> str:
    return request.url


def own(request: Page) -> OwnReply:
    if not request.url:
        return refuse("no_url", "There is no address in the request.")
    return reply("one", Media(b"", "image/png"), data={"count": 1})


async def own_later(request: Page) -> OwnReply:
    return reply("one")


def mixed(request: Page) -> MixedReply:
    if not request.url:
        return refuse("no_url", "There is no address in the request.")
    return reply("one page", Foreign("text", "web"), data=Foreign({"a": 1}))


async def mixed_later(request: Page) -> MixedReply:
    return reply("one page", Foreign("text"))


def either(request: Page) -> str | OwnReply:
    return "text" if request.url else refuse("no_url", "There is no address in the request.")


def either_mixed(request: Page) -> str | MixedReply:
    return "text" if request.url else reply(Foreign("text"))


def origin(request: Page) -> str:
    return request.url


def with_prefix(prefix: str, request: Page) -> str:
    return prefix + request.url


class Verdict(BaseModel):
    state: Literal["open", "closed"]
    commit: Hex


# The end of a flow: what a closed model says is ours.
def judged(request: Page) -> OwnReply:
    verdict = Foreign(request.url, "web").narrow(Verdict)
    return reply(f"The issue is {verdict.state}.", data=verdict)


class Handlers:
    def read(self, request: Page) -> MixedReply:
        return reply(Foreign(request.url))

    async def count(self, request: Page) -> str:
        return request.url


class CallableNow:
    def __call__(self, request: Page) -> str:
        return request.url


class CallableLater:
    async def __call__(self, request: Page) -> OwnReply:
        return reply(request.url)


handlers = Handlers()

# A bare string under either declaration.
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=text_later, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=text_later, untrusted_output="web")

# Own words under either declaration.
ToolDef(name="a", description="d", input=Page, handler=own, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=own, untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=own_later, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=own_later, untrusted_output=origin)
ToolDef(name="a", description="d", input=Page, handler=either, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=either, untrusted_output="web")

# Foreign text under an origin: a string, a function, a lambda whose parameter is inferred.
ToolDef(name="a", description="d", input=Page, handler=mixed, untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=mixed, untrusted_output=origin)
ToolDef(name="a", description="d", input=Page, handler=mixed, untrusted_output=lambda request: request.url)
ToolDef(name="a", description="d", input=Page, handler=mixed_later, untrusted_output=lambda request: request.url)
ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=lambda request: request.url)
ToolDef(name="a", description="d", input=Page, handler=text_later, untrusted_output=lambda request: request.url)
ToolDef(name="a", description="d", input=Page, handler=own, untrusted_output=lambda request: request.url)
ToolDef(name="a", description="d", input=Page, handler=either_mixed, untrusted_output="web")

# Bound methods, partials, callable objects, lambdas.
ToolDef(name="a", description="d", input=Page, handler=handlers.read, untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=handlers.count, untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=partial(with_prefix, "x"), untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=partial(with_prefix, "x"), untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=CallableNow(), untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=CallableLater(), untrusted_output=False)
ToolDef(name="a", description="d", input=Page, handler=CallableLater(), untrusted_output="web")
ToolDef(name="a", description="d", input=Page, handler=lambda request: request.url, untrusted_output=False)

# A description that a third party wrote, and every optional field.
ToolDef(name="a", description=Foreign("d", "peer"), input=Page, handler=text, untrusted_output="web")
ToolDef(
    name="a",
    description="d",
    input=Page,
    handler=text,
    untrusted_output=False,
    scope="pages",
    effect="read",
    dispatches=frozenset({"b"}),
)

# Tools are collected as AnyTool.
tools: list[AnyTool] = [
    ToolDef(name="a", description="d", input=Page, handler=text, untrusted_output=False),
    ToolDef(name="b", description="d", input=Page, handler=mixed, untrusted_output="web"),
]

# The exits of a foreign value.
page = Foreign("text", "web")
length: int = page.measure(len)
is_long: bool = page.measure(lambda value: len(value) > 10)
ratio: float = page.measure(lambda value: len(value) / 10)
word: str | None = page.one_of("open", "closed")
upper: Foreign[str] = page.map(str.upper)
lines: Foreign[list[str]] = page.map(str.splitlines)
program: str = page.for_program()
verdict: Verdict = page.narrow(Verdict)
state: Literal["open", "closed"] = page.narrow(Verdict).state
ToolDef(name="a", description="d", input=Page, handler=judged, untrusted_output=False)
both: Foreign[tuple[str, ...]] = Foreign.join([page, upper])

# A prompt: each part says who wrote it.
asked = prompt(
    own_words("You triage {count} issues.", count=3),
    owner(program),
    stranger("text", origin="web"),
    stranger(page),
    model_text(program),
)
messages: list[Message] = asked.openai(key=FenceKey.random())
arguments: AnthropicPrompt = asked.anthropic(key=FenceKey.random())


# An input that says who worded its schema.
class TheirInput(ToolInput):
    prose_origin = "a server"


class OurInput(ToolInput):
    prose_origin = False


# A carrier of prose, under the setting.
def shown(prose: CatalogProse, tool: AnyTool) -> str:
    return CatalogTool.under(prose, tool).description


# A turn of a chat.
async def turn(deployment: Deployment, caller: Caller) -> list[dict[str, Any]]:
    offered: list[dict[str, Any]] = chat_tools(deployment, "anthropic", caller=caller)
    return offered + await run_tool_calls(
        deployment, "openai-responses", [{"type": "function_call"}], caller=caller, argument_origins=("web",)
    )


# What an outcome holds, by its kind.
def told(outcome: Outcome) -> str | tuple[str, ...]:
    match outcome:
        case Malformed():
            return tuple(error.pointer for error in outcome.errors)
        case _:
            return outcome.text


remote_input: type[ToolInput] = ToolInput.from_schema({"type": "object"}, author="a remote server")


async def remote(request: ToolInput) -> MixedReply:
    return reply("Answered.", Foreign(str(request.model_dump(by_alias=True, exclude_unset=True))))


remote_tool = ToolDef(
    name="remote",
    description=Foreign("Says.", "a remote server"),
    input=remote_input,
    handler=remote,
    untrusted_output="a remote server",
)
collected_remote: tuple[AnyTool, ...] = (remote_tool,)
