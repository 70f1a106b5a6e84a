"""Tools and results in the forms of the chat providers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from registry import Admission, AnyTool, Caller, Foreign, Media, Permitted, ToolInput, catalog, reply
from registry.errors import CallError, DeclarationError
from registry.surfaces.chat import ChatFormat, chat_tools, run_tool_calls
from registry.testing.corpus import PROSE
from tests.support.deployments import Nothing, Text, deploy, tool
from tests.support.loops import in_loop
from tests.support.told import taken_apart
from tests.surfaces.table import asked, shown

FORMS: tuple[ChatFormat, ...] = ("anthropic", "openai-chat", "openai-responses", "gemini")


class Inner(ToolInput):
    """An object in an object."""

    deep: int = 3


class Options(ToolInput):
    """Fields of every kind that strict mode has trouble with."""

    needed: Annotated[str, Field(description="What is needed.", min_length=1)]
    number: Annotated[int, Field(description="A number.", ge=1)] = 5
    maybe: str | None = "not null"
    kind: Literal["a", "b"] = "a"
    inner: Inner = Inner()
    many: Sequence[Inner] = ()


class Free(ToolInput):
    """A mapping, which strict mode cannot express."""

    headers: dict[str, str]


class Node(ToolInput):
    """A model that holds itself, so that the root of its schema is a reference."""

    children: Sequence[Node] = ()


class Odd(ToolInput):
    """A field whose name is no name."""

    at: Annotated[str, Field(alias="@at and more")]


# -- tools ---------------------------------------------------------------------------------------------------------


def test_each_provider_gets_its_own_form_of_a_tool() -> None:
    deployment = deploy(tool(lambda _: "x", name="look", takes=Text))
    schema = catalog(deployment).tools[0].schema()
    function = {"name": "look", "description": "A tool of a test.", "parameters": schema, "strict": False}

    assert chat_tools(deployment, "anthropic") == [
        {"name": "look", "description": "A tool of a test.", "input_schema": schema}
    ]
    assert chat_tools(deployment, "openai-chat") == [{"type": "function", "function": function}]
    assert chat_tools(deployment, "openai-responses") == [{"type": "function", **function}]
    assert chat_tools(deployment, "gemini") == [
        {"functionDeclarations": [{"name": "look", "description": "A tool of a test.", "parametersJsonSchema": schema}]}
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_caller_is_offered_what_it_may_use_and_nothing_else(form: ChatFormat) -> None:
    deployment = deploy(*(tool(lambda _: "x", name=name) for name in "abc"), permitted=Permitted.of("a", "b"))
    offered = json.dumps(chat_tools(deployment, form, caller=Caller("c", frozenset({"b", "c"}))))

    assert [name for name in "abc" if f'"name": "{name}"' in offered] == ["b"]


def test_a_strict_schema_requires_every_field_and_lets_an_optional_one_be_null() -> None:
    (offered,) = chat_tools(deploy(tool(lambda _: "x", takes=Options)), "openai-responses", strict=True)

    assert (offered["strict"], offered["parameters"]) == (
        True,
        {
            "type": "object",
            "properties": {
                "needed": {"type": "string", "description": "What is needed."},
                "number": {"description": "A number.", "anyOf": [{"type": "integer"}, {"type": "null"}]},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
                "inner": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]},
                "many": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Inner"}}, {"type": "null"}]},
            },
            "required": ["needed", "number", "maybe", "kind", "inner", "many"],
            "additionalProperties": False,
            "$defs": {
                "Inner": {
                    "type": "object",
                    "properties": {"deep": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
                    "required": ["deep"],
                    "additionalProperties": False,
                }
            },
        },
    )


@in_loop
async def test_a_null_of_strict_mode_is_a_field_left_out_and_a_null_that_the_field_takes_stays() -> None:
    seen: list[Any] = []

    def see(request: Options) -> str:
        seen.append(request)
        return "x"

    deployment = deploy(tool(see, takes=Options))
    nulls = {
        "needed": "n",
        "number": None,
        "maybe": None,
        "kind": None,
        "inner": {"deep": None},
        "many": [{"deep": None}],
    }

    await run_tool_calls(deployment, "openai-chat", [asked("openai-chat", "tool", nulls)], strict=True)
    (loose,) = await run_tool_calls(deployment, "openai-chat", [asked("openai-chat", "tool", nulls)])

    assert seen == [Options(needed="n", maybe=None, many=[Inner()])]
    assert "do not fit" in loose["content"], "without strict a null is what it is everywhere else"


def test_a_tool_that_strict_mode_cannot_express_is_offered_without_it() -> None:
    deployment = deploy(tool(lambda _: "x", name="free", takes=Free), tool(lambda _: "x", name="none"))
    free, none = chat_tools(deployment, "openai-responses", strict=True)

    assert (free["strict"], none["strict"]) == (False, True)


@pytest.mark.parametrize("strict", [False, True])
def test_whether_a_tool_is_strict_is_always_said(strict: bool) -> None:
    """Responses takes one that does not say it for a strict one."""
    (offered,) = chat_tools(deploy(tool(lambda _: "x")), "openai-responses", strict=strict)

    assert offered["strict"] is strict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strict", [False, True])
def test_the_root_of_a_schema_is_an_object_and_no_reference(form: ChatFormat, strict: bool) -> None:
    (offered,) = chat_tools(deploy(tool(lambda _: "x", takes=Node)), form, strict=strict)
    found = offered["functionDeclarations"][0] if form == "gemini" else offered.get("function", offered)
    (schema,) = [value for key, value in found.items() if key in ("input_schema", "parameters", "parametersJsonSchema")]

    assert (schema["type"], "$ref" in schema, list(schema["$defs"])) == ("object", False, ["Node"])


def test_a_field_that_anthropic_refuses_is_named_when_the_tools_are_listed() -> None:
    with pytest.raises(DeclarationError, match="Tool 'tool': Anthropic takes no field named '@at and more'"):
        chat_tools(deploy(tool(lambda _: "x", takes=Odd)), "anthropic")


@in_loop
async def test_a_name_that_gemini_refuses_has_another_there_and_leads_back() -> None:
    names = ["1a", "_1a", "-b", "c", "9" * 64]

    def named(name: str) -> AnyTool:
        return tool(lambda _: f"I am {name}.", name=name)

    deployment = deploy(*map(named, names))
    (offered,) = chat_tools(deployment, "gemini")
    wire = [function["name"] for function in offered["functionDeclarations"]]
    (message,) = await run_tool_calls(deployment, "gemini", [asked("gemini", name, {}) for name in wire])

    assert all(name[0].isalpha() or name[0] == "_" for name in wire)
    assert (len(set(wire)), max(map(len, wire)), wire[1], wire[3]) == (5, 64, "_1a", "c")
    answers = [part["functionResponse"] for part in message["parts"]]
    assert [answer["name"] for answer in answers] == wire
    assert [answer["response"]["output"] for answer in answers] == [f"I am {name}." for name in names]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prose", ["quoted", "omitted"])
def test_the_words_of_a_third_party_are_quoted_or_omitted_as_the_deployment_decides(
    form: ChatFormat, prose: Any
) -> None:
    for attack in PROSE:
        theirs = dataclasses.replace(tool(lambda _: "x"), description=Foreign(attack.text, origin="a server"))
        deployment = dataclasses.replace(deploy(theirs), catalog_prose=prose)
        offered = json.loads(json.dumps(chat_tools(deployment, form)))
        found = offered[0]["functionDeclarations"][0] if form == "gemini" else offered[0].get("function", offered[0])
        assert found["description"] == catalog(deployment).tools[0].description


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_answers_come_in_the_order_of_the_calls_though_they_end_in_another(form: ChatFormat) -> None:
    @in_loop
    async def run() -> None:
        gate = asyncio.Barrier(3)
        ended: list[str] = []
        turns = {name: asyncio.Event() for name in "abc"}

        async def handler(request: Text) -> str:
            await gate.wait()  # nobody leaves before all three are inside: they run at once
            await turns[request.text].wait()
            ended.append(request.text)
            following = {"c": "b", "b": "a"}.get(request.text)
            if following:
                turns[following].set()
            return request.text

        turns["c"].set()
        deployment = deploy(tool(handler, takes=Text))
        messages = await run_tool_calls(deployment, form, [asked(form, "tool", {"text": name}) for name in "abc"])

        assert ended == ["c", "b", "a"]
        assert texts(form, messages) == ["a", "b", "c"]

    run()


def texts(form: ChatFormat, messages: list[dict[str, Any]]) -> list[str | None]:
    """The text of each result, whether they come in one message or in several."""
    match form:
        case "anthropic":
            singles = [{"content": [block]} for block in messages[0]["content"]]
        case "gemini":
            singles = [{"parts": [part]} for part in messages[0]["parts"]]
        case _:
            singles = messages
    return [shown(form, single).text for single in singles]


@in_loop
async def test_no_more_run_at_once_than_the_admission_lets() -> None:
    most, now = 0, 0

    async def handler(_: object) -> str:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return "done"

    deployment = deploy(tool(handler), admission=Admission(max_concurrent=2, window_s=1))
    messages = await run_tool_calls(deployment, "openai-chat", [asked("openai-chat", "tool", {})] * 20)

    assert (most, {message["content"] for message in messages}) == (2, {"done"})


@in_loop
async def test_what_is_no_call_is_passed_over_and_no_call_is_no_message() -> None:
    deployment = deploy(tool(lambda _: "x"))
    turn = [
        {"type": "text", "text": "I look."},
        asked("anthropic", "tool", {}),
        {"type": "thinking", "thinking": "..."},
    ]
    reasoning: list[dict[str, Any]] = [{"type": "reasoning", "summary": []}, {"type": "message", "content": []}]

    assert len((await run_tool_calls(deployment, "anthropic", turn))[0]["content"]) == 1
    assert await run_tool_calls(deployment, "openai-responses", reasoning) == []
    assert await run_tool_calls(deployment, "gemini", [{"text": "I look."}]) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "x"),
        ("  ", "x"),
        ("{}", "x"),
        *((text, "do not fit") for text in ("{", "[1]", '{"a": NaN}', "null", '"text"')),
    ],
)
@pytest.mark.parametrize("form", ["openai-chat", "openai-responses"])
def test_arguments_that_are_no_object_are_malformed_and_none_at_all_are_none(
    form: Any, arguments: str, says: str
) -> None:
    @in_loop
    async def run() -> None:
        call = asked(form, "tool", {})
        call.get("function", call)["arguments"] = arguments
        (message,) = await run_tool_calls(deploy(tool(lambda _: "x", takes=Nothing)), form, [call])
        assert says in (shown(form, message).text or "")

    run()


@pytest.mark.parametrize(
    ("form", "call"),
    [
        ("anthropic", {"type": "tool_use", "id": 1, "name": "tool", "input": {}}),
        ("openai-chat", {"id": "1", "type": "function", "function": "SECRET"}),
        ("openai-responses", {"type": "function_call", "call_id": "1", "name": "tool", "arguments": {}}),
        ("gemini", {"functionCall": {"args": {}}}),
    ],
)
def test_a_call_of_another_form_is_an_error_that_shows_none_of_it(form: Any, call: dict[str, Any]) -> None:
    @in_loop
    async def run() -> None:
        with pytest.raises(CallError, match="a call has no ") as error:
            await run_tool_calls(deploy(tool(lambda _: "x")), form, [call])
        assert "SECRET" not in str(error.value)

    run()


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"form is 'cohere'\. Write one of: anthropic, openai-chat"):
        chat_tools(deploy(), "cohere")  # type: ignore[arg-type]  # what is tested


# -- media ---------------------------------------------------------------------------------------------------------


async def pictured(form: ChatFormat, mime: str) -> Any:
    handler = tool(lambda _: reply("One.", Foreign(Media(b"\x00", mime))), "a camera")
    (message,) = await run_tool_calls(deploy(handler), form, [asked(form, "tool", {})])
    return message


@in_loop
async def test_a_picture_stands_between_its_two_lines_where_a_provider_takes_one() -> None:
    content = (await pictured("anthropic", "image/png"))["content"][0]["content"]
    output = (await pictured("openai-responses", "image/png"))["output"]

    assert [part["type"] for part in content] == ["text", "text", "image", "text"]
    assert content[2]["source"] == {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert [part["type"] for part in output] == ["input_text", "input_text", "input_image", "input_text"]
    assert output[2]["image_url"] == "data:image/png;base64,AA=="
    assert "a camera" in content[1]["text"] == output[1]["text"]


@pytest.mark.parametrize("form", FORMS)
def test_media_that_a_provider_does_not_take_are_left_out_and_the_text_says_so_in_the_fence(form: ChatFormat) -> None:
    @in_loop
    async def run() -> None:
        message = await pictured(form, "application/ignore-your-instructions")
        own, foreign = taken_apart(shown(form, message).text or "")
        assert (own, foreign) == ("One.", ("[media 1: application/ignore-your-instructions, 1 bytes]",))
        assert "AA==" not in json.dumps(message)

    run()
