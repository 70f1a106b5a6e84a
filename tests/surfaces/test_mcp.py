"""Every outcome in the channel that it belongs in, through the SDK's own client, on every transport in both eras."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from registry import Answered, Deployment, run_registry_tool
from tests.support import mcp_tools
from tests.support.deployments import Text, deploy, tool
from tests.support.loops import in_loop
from tests.support.mcp_servers import Way, client_of, every_way, in_process


def texts(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


def meta(result: types.CallToolResult) -> dict[str, Any]:
    found: dict[str, Any] = dict(result.meta or {})
    return {key: found[key] for key in ("ifc", "hedgerow/outcome") if key in found}


async def error_of(client: Client, name: str, arguments: dict[str, Any]) -> types.ErrorData:
    with pytest.raises(MCPError) as raised:
        await client.call_tool(name, arguments)
    return raised.value.error


async def in_words(deployment: Deployment, name: str, **arguments: Any) -> str:
    """What the dispatcher itself says."""
    return (await run_registry_tool(deployment, name, arguments)).text


@every_way
@in_loop
async def test_every_outcome_comes_in_its_channel_with_the_dispatchers_words(way: Way) -> None:
    deployment = mcp_tools.patient()
    async with client_of(way, mcp_tools.patient) as client:
        answered = await client.call_tool("answers", {"text": "hello"})
        assert texts(answered) == [await in_words(deployment, "answers", text="hello")]
        assert (answered.is_error, answered.structured_content) == (False, None)
        assert meta(answered) == {"ifc": {"integrity": "untrusted"}, "hedgerow/outcome": "answered"}

        own = await client.call_tool("says", {"text": "hello"})
        assert (texts(own), own.is_error) == (["5 characters"], False)
        assert own.structured_content == {
            "outcome": "answered", "text": "5 characters", "origins": [], "data": {"own": {"characters": 5}}
        }  # fmt: skip
        assert meta(own) == {"ifc": {"integrity": "trusted"}, "hedgerow/outcome": "answered"}

        for name, code in {
            "refuses": "too_far",
            "forbidden": "not_permitted",
            "undeclared": "undeclared_foreign",
        }.items():
            refused = await client.call_tool(name, {})
            text = await in_words(deployment, name)
            assert (texts(refused), refused.is_error) == ([text], False)
            assert refused.structured_content == {"outcome": code, "text": text, "origins": []}

        for name in ("fails", "nested"):
            failed = await client.call_tool(name, {})
            assert (texts(failed), failed.is_error) == ([await in_words(deployment, name)], True)
            assert failed.structured_content is not None
            assert failed.structured_content["outcome"] == "failed"

        detailed = await client.call_tool("fails_with_detail", {"text": "ignore all that"})
        assert texts(detailed) == [await in_words(deployment, "fails_with_detail", text="ignore all that")]
        assert meta(detailed) == {"ifc": {"integrity": "untrusted"}, "hedgerow/outcome": "failed"}

        malformed = await error_of(client, "answers", {"text": 7, "more": mcp_tools.SECRET, mcp_tools.SECRET: 1})
        expected = await in_words(deployment, "answers", text=7, more=1, **{mcp_tools.SECRET: 1})
        assert malformed == types.ErrorData(code=-32602, message=expected, data={"outcome": "malformed"})

        unknown = await error_of(client, mcp_tools.SECRET, {})
        expected = await in_words(deployment, "nothing of this name")
        assert unknown == types.ErrorData(code=-32602, message=expected, data={"outcome": "unknown_tool"})


@every_way
@in_loop
async def test_media_stand_between_their_fenced_lines_and_their_bytes_in_no_text(way: Way) -> None:
    async with client_of(way, mcp_tools.patient) as client:
        result = await client.call_tool("shows", {})

    kinds = [block.type for block in result.content]
    assert kinds == ["text", "text", "image", "text", "text", "resource", "text"]
    image, resource = result.content[2], result.content[5]
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", b"\x89PNG")
    assert isinstance(resource, types.EmbeddedResource)
    assert isinstance(resource.resource, types.BlobResourceContents)
    assert base64.b64decode(resource.resource.blob) == b"{}"
    outcome = await run_registry_tool(mcp_tools.patient(), "shows", {})
    assert isinstance(outcome, Answered)
    lines = [line for part in outcome.media for line in (part.opening, part.closing)]
    assert texts(result) == [outcome.text, *lines]


@every_way
@in_loop
async def test_the_list_shows_what_is_permitted_with_the_declarations_hints(way: Way) -> None:
    async with client_of(way, mcp_tools.patient) as client:
        listed = {found.name: found for found in (await client.list_tools()).tools}

    def hints(name: str) -> tuple[Any, ...]:
        found = listed[name].annotations
        assert found is not None
        return found.read_only_hint, found.destructive_hint, found.open_world_hint, (listed[name].meta or {})["ifc"]

    assert set(listed) == {found.name for found in mcp_tools.tools()} - {"forbidden"}
    assert hints("answers") == (True, False, True, {"integrity": "untrusted"})
    assert hints("says") == (False, False, False, {"integrity": "trusted"})
    assert hints("refuses") == (False, True, False, {"integrity": "trusted"})
    assert listed["answers"].input_schema == {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False
    }  # fmt: skip


@every_way
@in_loop
async def test_the_structured_half_of_a_foreign_answer_is_in_its_envelope_when_it_is_asked_for(way: Way) -> None:
    async with client_of(way, mcp_tools.patient, structured=True) as client:
        answered = await client.call_tool("answers", {"text": "hello"})

    assert answered.structured_content == {
        "outcome": "answered",
        "text": texts(answered)[0],
        "origins": ["a stranger"],
        "data": {"untrusted": {"text": "hello"}, "origins": ["a stranger"]},
    }


@every_way
@in_loop
async def test_a_method_that_there_is_not_is_an_error_that_does_not_repeat_it(way: Way) -> None:
    class Unknown(types.Request[types.RequestParams | None, str]):
        method: str = mcp_tools.SECRET
        params: types.RequestParams | None = None

    async with client_of(way, mcp_tools.patient) as client:
        with pytest.raises(MCPError) as raised:
            await client.session.send_request(Unknown(), types.EmptyResult)

    assert raised.value.error.code == types.METHOD_NOT_FOUND
    assert mcp_tools.SECRET not in raised.value.error.model_dump_json()


def many() -> Deployment:
    return deploy(*(tool(mcp_tools.says, name=f"tool{number}", takes=Text) for number in range(250)))


@in_process
@in_loop
async def test_a_long_list_comes_in_pages_and_a_wrong_cursor_is_refused(way: Way) -> None:
    async with client_of(way, many) as client:
        names: list[str] = []
        sizes: list[int] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [found.name for found in page.tools]
            sizes.append(len(page.tools))
            cursor = page.next_cursor
            if cursor is None:
                break
        for wrong in ("-1", "251", "x", "\u0663", "1" * 30):
            with pytest.raises(MCPError, match="There is no page of this cursor"):
                await client.list_tools(cursor=wrong)

    assert (names, sizes) == ([f"tool{number}" for number in range(250)], [100, 100, 50])


@in_process
@in_loop
async def test_a_fault_of_the_surface_itself_says_nothing_either(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(mcp_tools.SECRET)

    monkeypatch.setattr("registry.surfaces.mcp.result_of", broken)
    monkeypatch.setattr("registry.surfaces.mcp.listed", broken)
    async with client_of(way, mcp_tools.patient) as client:
        result = await client.call_tool("says", {"text": "x"})
        with pytest.raises(MCPError) as raised:
            await client.list_tools()

    assert texts(result) == ["The tool failed. What went wrong is in the log of the server."]
    assert result.is_error
    assert raised.value.error == types.ErrorData(code=-32603, message="The tools could not be listed.")
