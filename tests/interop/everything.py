"""The server that the conformance suite asks for: our adapter over a registry of the suite's tools.

Tools, their listing and their results are ours. What our surface does not offer (resources, prompts, completion, requests to
the client while a tool runs) is scripted straight on the SDK's server: for those scenarios the suite tests the SDK, and that
our surface leaves room for it.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ConfigDict, Field

from registry import AnyTool, Media, ToolFailed, ToolInput, reply
from registry.surfaces._mcp_http import LOOPBACK, asgi, run
from registry.surfaces._uvicorn import listener
from registry.surfaces.mcp import mcp_server
from tests.support.deployments import Nothing, deploy, tool

Context: TypeAlias = Any
Script: TypeAlias = Callable[[Context, types.CallToolRequestParams], Awaitable[Any]]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"


class address(ToolInput):  # noqa: N801  # the name that the suite looks for
    """Has an anchor."""

    model_config = ConfigDict(json_schema_extra={"$anchor": "addressDef"})

    street: str = ""
    city: str = ""


# A field of the same name would hide the class.
Home = address


class Everything(ToolInput):
    """The keywords of JSON Schema 2020-12."""

    model_config = ConfigDict(
        json_schema_extra={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
        }
    )

    name: str = ""
    address: Home = Home()
    contactMethod: Literal["phone", "email"] = "email"  # noqa: N815  # the suite's name
    phone: str = ""
    email: str = ""


class Headed(ToolInput):
    """An argument that a client repeats in a header."""

    region: str = Field(default="", json_schema_extra={"x-mcp-header": "Region"})


def simple(_: Any) -> str:
    return "This is a simple text response for testing."


def fails(_: Any) -> str:
    raise ToolFailed("This tool intentionally returns an error for testing")


def tools() -> tuple[AnyTool, ...]:
    image, audio = Media(PNG, "image/png"), Media(WAV, "audio/wav")
    document = Media(b'{"test":"data","value":123}', "application/json")
    own: dict[str, Callable[[Any], Any]] = {
        "test_simple_text": simple,
        "test_image_content": lambda _: reply(image),
        "test_audio_content": lambda _: reply(audio),
        "test_embedded_resource": lambda _: reply(Media(b"This is an embedded resource content.", "text/plain")),
        "test_multiple_content_types": lambda _: reply("Multiple content types test:", image, document),
        "test_error_handling": fails,
    }
    return (
        *(tool(handler, name=name, takes=Nothing) for name, handler in own.items()),
        tool(simple, name="json_schema_2020_12_tool", takes=Everything),
        tool(simple, name="test_headers", takes=Headed),
    )


# -- what is scripted on the SDK's server --------------------------------------------------------------------------


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def logs(context: Context, _: Any) -> types.CallToolResult:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        note = types.LoggingMessageNotificationParams(level="info", data=line)
        if context.protocol_version < "2026":
            await context.session.send_notification(types.LoggingMessageNotification(params=note), context.request_id)
        await asyncio.sleep(0.05)  # the suite asks for the pause
    return said("logged")


async def progresses(context: Context, _: Any) -> types.CallToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(0.05)  # the suite asks for the pause
    return said("progressed")


async def ask_client(context: Context, request: types.ServerRequest, answer: type[Any]) -> Any:
    """Ask on the stream of the call itself: the client's other stream may not be open yet, and what is sent there is lost."""
    of_the_call = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(request, answer, metadata=of_the_call)


async def samples(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    asked = sampling((params.arguments or {}).get("prompt", ""), 100)
    answer = await ask_client(context, asked, types.CreateMessageResult)
    return said(f"LLM response: {answer.content.text}")


def elicits(message: str, properties: dict[str, Any], required: list[str]) -> Script:
    async def script(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = (params.arguments or {}).get("message", message)
        asked = elicitation(text, {"type": "object", "properties": properties, "required": required})
        answer = await ask_client(context, asked, types.ElicitResult)
        return said(f"Elicitation completed: action={answer.action}, content={answer.content}")

    return script


def elicitation(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str, most: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def asks(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    return elicitation(message, {"type": "object", "properties": {field: {"type": kind}}, "required": [field]})


ROOTS = types.ListRootsRequest()
NAME = asks("What is your name?", "name")
KEY = b"a key for the state of the suite"


def signed(state: str) -> str:
    return f"{state}.{hmac.new(KEY, state.encode(), 'sha256').hexdigest()}"


def verified(signed_state: str | None) -> str:
    state, _, _ = (signed_state or "").rpartition(".")
    if not hmac.compare_digest(signed(state).encode(), (signed_state or "").encode()):
        raise MCPError(types.INVALID_PARAMS, "The state does not verify.")
    return state


def rounds(*steps: dict[str, Any], state: bool = True, last: str = "done") -> Script:
    """Ask for each step's inputs in its turn."""

    async def script(_: Context, params: types.CallToolRequestParams) -> Any:
        given = params.input_responses or {}
        at = int(verified(params.request_state)) if params.request_state is not None else 0
        if set(steps[at]) <= set(given):
            at += 1
        if at < len(steps):
            return types.InputRequiredResult(input_requests=steps[at], request_state=signed(str(at)) if state else None)
        return said(f"{last}: {given}")

    return script


async def capability(context: Context, params: types.CallToolRequestParams) -> Any:
    """Ask for what the client has declared, and for nothing else."""
    declared = context.session.client_capabilities
    may_elicit = declared is not None and declared.elicitation is not None
    may_sample = declared is not None and declared.sampling is not None
    if params.input_responses:
        return said("done")
    wanted: dict[str, Any] = {
        **({"user_name": NAME} if may_elicit else {}),
        **({"ask": sampling("Hi", 50)} if may_sample else {}),
    }
    return types.InputRequiredResult(input_requests=wanted) if wanted else said("nothing to ask with")


async def needs_sampling(context: Context, _: Any) -> Any:
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        data: Any = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "It needs sampling.", data)
    return said("declared")


async def reconnects(context: Context, _: Any) -> types.CallToolResult:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(0.2)  # the client reconnects meanwhile
    return said("reconnected")


OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]
LEGACY = {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
TEXT = {"type": "string"}

SCRIPTS: dict[str, Script] = {
    "test_tool_with_logging": logs,
    "test_logging_tool": logs,
    "test_tool_with_progress": progresses,
    "test_streaming_elicitation": progresses,
    "test_sampling": samples,
    "test_missing_capability": needs_sampling,
    "test_reconnection": reconnects,
    "test_elicitation": elicits("", {"username": TEXT, "email": TEXT}, ["username", "email"]),
    "test_elicitation_sep1034_defaults": elicits(
        "Defaults",
        {
            "name": {**TEXT, "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {**TEXT, "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
        [],
    ),
    "test_elicitation_sep1330_enums": elicits(
        "Enums",
        {
            "untitledSingle": {**TEXT, "enum": OPTIONS},
            "titledSingle": {**TEXT, "oneOf": TITLED},
            "legacyEnum": LEGACY,
            "untitledMulti": {"type": "array", "items": {**TEXT, "enum": OPTIONS}},
            "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
        },
        [],
    ),
    "test_input_required_result_elicitation": rounds({"user_name": NAME}, state=False, last="Hello"),
    "test_input_required_result_sampling": rounds(
        {"capital_question": sampling("What is the capital of France?", 100)}, state=False
    ),
    "test_input_required_result_list_roots": rounds({"client_roots": ROOTS}, state=False),
    "test_input_required_result_request_state": rounds(
        {"confirm": asks("Please confirm", "ok", "boolean")}, last="state-ok"
    ),
    "test_input_required_result_multiple_inputs": rounds(
        {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    ),
    "test_input_required_result_multi_round": rounds(
        {"step1": asks("Step 1: What is your name?", "name")},
        {"step2": asks("Step 2: What is your favorite color?", "color")},
    ),
    "test_input_required_result_tampered_state": rounds({"confirm": asks("Please confirm", "ok", "boolean")}),
    "test_input_required_result_capabilities": capability,
}

STATIC: dict[str, Any] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=base64.b64encode(PNG).decode()
    ),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="watched"
    ),
}


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    found = [
        types.Resource(uri=uri, name=uri, description="For the suite.", mime_type=c.mime_type)
        for uri, c in STATIC.items()
    ]
    return types.ListResourcesResult(resources=found)


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    found = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[found])


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri in STATIC:
        return types.ReadResourceResult(contents=[STATIC[uri]])
    if uri.startswith("test://template/") and uri.endswith("/data"):
        id_ = uri.split("/")[3]
        text = f'{{"id":"{id_}","templateTest":true,"data":"Data for ID: {id_}"}}'
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def nothing(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


def prompt_of(name: str, *arguments: str) -> types.Prompt:
    found = [types.PromptArgument(name=argument, description="For the suite.", required=True) for argument in arguments]
    return types.Prompt(name=name, description="For the suite.", arguments=found)


PROMPTS = [
    prompt_of("test_simple_prompt"),
    prompt_of("test_prompt_with_arguments", "arg1", "arg2"),
    prompt_of("test_prompt_with_embedded_resource", "resourceUri"),
    prompt_of("test_prompt_with_image"),
    prompt_of("test_input_required_result_prompt"),
]


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=PROMPTS)


async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> Any:
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt" and "user_context" not in (params.input_responses or {}):
        asked = asks("What context should the prompt use?", "context")
        return types.InputRequiredResult(input_requests={"user_context": asked})
    contents: dict[str, list[Any]] = {
        "test_simple_prompt": [types.TextContent(text="This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            types.TextContent(text=f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            types.EmbeddedResource(
                resource=types.TextResourceContents(
                    uri=given.get("resourceUri", ""),
                    mime_type="text/plain",
                    text="Embedded resource content for testing.",
                )
            ),
            types.TextContent(text="Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [
            types.ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png"),
            types.TextContent(text="Please analyze the image above."),
        ],
        "test_input_required_result_prompt": [types.TextContent(text="With context.")],
    }
    if params.name not in contents:
        raise MCPError(types.INVALID_PARAMS, "Unknown prompt")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=c) for c in contents[params.name]])


async def complete(_: Context, __: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park", "party"], total=3, has_more=False))


def everything() -> Server[Any]:
    server = mcp_server(deploy(*tools()))
    ours: Any = server.get_request_handler("tools/call")
    listed: Any = server.get_request_handler("tools/list")

    async def call(context: Context, params: types.CallToolRequestParams) -> Any:
        script = SCRIPTS.get(params.name)
        return await (script(context, params) if script is not None else ours.handler(context, params))

    async def listing(context: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        found: types.ListToolsResult = await listed.handler(context, params)
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        more = [types.Tool(name=name, description="For the suite.", input_schema=schema) for name in SCRIPTS]
        return types.ListToolsResult(tools=[*found.tools, *more])

    handlers: list[tuple[str, Any, Any]] = [
        ("tools/call", types.CallToolRequestParams, call),
        ("tools/list", types.PaginatedRequestParams, listing),
        ("resources/list", types.PaginatedRequestParams, list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, list_templates),
        ("resources/read", types.ReadResourceRequestParams, read_resource),
        ("resources/subscribe", types.SubscribeRequestParams, nothing),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, nothing),
        ("prompts/list", types.PaginatedRequestParams, list_prompts),
        ("prompts/get", types.GetPromptRequestParams, get_prompt),
        ("completion/complete", types.CompleteRequestParams, complete),
        ("logging/setLevel", types.SetLevelRequestParams, nothing),
    ]
    for method, params, handler in handlers:
        server.add_request_handler(method, params, handler)
    return server


def main() -> None:
    """Serve on a free port of loopback, and print it."""
    bound = listener("127.0.0.1", 0)
    app = asgi(
        everything(),
        path="/mcp",
        verify=None,
        oauth=None,
        allowed_hosts=LOOPBACK,
        allowed_origins=[f"http://localhost:{bound.getsockname()[1]}", f"http://127.0.0.1:{bound.getsockname()[1]}"],
        max_message_bytes=1_000_000,
        body_timeout_s=30,
        max_sessions=100,
        session_idle_s=60,
    )
    print(bound.getsockname()[1], flush=True)
    asyncio.run(run(app, bound, drain_s=1, max_connections=1000))
    sys.exit(0)


if __name__ == "__main__":
    main()
