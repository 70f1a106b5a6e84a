"""Every surface as one row: how to serve a deployment on it, and how to ask for a tool and take the answer apart.

A new surface is one row of `SURFACES`; `test_corpus_walk.py` then walks it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import httpx
from pydantic import JsonValue

from registry import Answered, Deployment, run_registry_tool
from registry._envelope import outcome_body
from registry.surfaces.chat import ChatFormat, run_tool_calls
from registry.surfaces.http import HttpSurface, Tokens
from tests.support.deployments import WAIT_S
from tests.support.http import TOKEN, listening, token


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a client was shown of one call."""

    kind: Literal["result", "error"]
    """Whether the surface calls it a result, or something that went wrong."""
    text: str | None
    """The text half; None where the surface sends none for such an outcome."""
    structured: JsonValue = None
    """The structured half: an envelope, or None where there is none."""
    rest: str = ""
    """Everything else that was sent, as JSON: no foreign byte may be in it."""


Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Shown]]
Surface: TypeAlias = Callable[[Deployment], AbstractAsyncContextManager[Ask]]


# -- in process ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def in_process(deployment: Deployment) -> AsyncGenerator[Ask]:
    """The dispatcher itself, which the others are compared with."""

    async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
        outcome = await run_registry_tool(deployment, name, arguments)
        is_result = isinstance(outcome, Answered) or outcome.code not in ERRORS
        body = outcome_body(outcome)
        return Shown(kind="result" if is_result else "error", text=outcome.text, structured=body.get("data"))

    yield ask


ERRORS = frozenset({"malformed", "failed", "shed", "timed_out", "unknown_tool"})


# -- chat ----------------------------------------------------------------------------------------------------------


def chat(form: ChatFormat) -> Surface:
    """A provider's form: a turn with one call, and the message that goes back."""

    @asynccontextmanager
    async def serve(deployment: Deployment) -> AsyncGenerator[Ask]:
        async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
            (message,) = await run_tool_calls(deployment, form, [asked(form, name, arguments)])
            return shown(form, json.loads(json.dumps(message)))

        yield ask

    return serve


def asked(form: ChatFormat, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A call as a provider writes it."""
    text = json.dumps(arguments)
    match form:
        case "anthropic":
            return {"type": "tool_use", "id": "call_1", "name": name, "input": dict(arguments)}
        case "openai-chat":
            return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": text}}
        case "openai-responses":
            return {"type": "function_call", "call_id": "call_1", "name": name, "arguments": text}
        case "gemini":
            return {"functionCall": {"id": "call_1", "name": name, "args": dict(arguments)}}


def shown(form: ChatFormat, message: dict[str, Any]) -> Shown:
    """Take a provider's message of a result apart. Two of the forms have no word for what went wrong."""
    match form:
        case "anthropic":
            (result,) = message["content"]
            text = result.pop("content", "")
            kind: Literal["result", "error"] = "error" if result.pop("is_error", False) else "result"
        case "openai-chat":
            text, kind = message.pop("content"), "result"
        case "openai-responses":
            text, kind = message.pop("output"), "result"
        case "gemini":
            response = message["parts"][0]["functionResponse"]["response"]
            key = "error" if "error" in response else "output"
            text, kind = response.pop(key), "error" if key == "error" else "result"
    return Shown(kind=kind, text=text, rest=json.dumps(message))


# -- HTTP ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def http(deployment: Deployment) -> AsyncGenerator[Ask]:
    """A real server in a thread, and a client of this loop."""
    surface = HttpSurface({"main": deployment}, tokens=Tokens([token()]), max_body_bytes=100_000, body_timeout_s=WAIT_S)
    with listening(surface) as port:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=2 * WAIT_S, verify=False, trust_env=False
        ) as client:

            async def ask(name: str, arguments: Mapping[str, Any]) -> Shown:
                response = await client.post(
                    f"/v1/instances/main/tools/{name}",
                    content=json.dumps(arguments),
                    headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
                )
                body: dict[str, Any] = response.json()
                text, structured = body.pop("text", None), body.pop("data", None)
                # Which origin: the same word stands in the text, where it is escaped.
                body.pop("origins", None)
                rest = json.dumps([body, list(response.headers.items())])
                is_result = response.status_code in (200, 403)
                return Shown(kind="result" if is_result else "error", text=text, structured=structured, rest=rest)

            yield ask


SURFACES: Mapping[str, Surface] = {
    "in process": in_process,
    "chat, Anthropic": chat("anthropic"),
    "chat, OpenAI Chat": chat("openai-chat"),
    "chat, OpenAI Responses": chat("openai-responses"),
    "chat, Gemini": chat("gemini"),
    "HTTP": http,
}
"""Every surface, by its name. The first is what the others are compared with."""

HAS_NO_WORD_FOR_ERRORS = frozenset({"chat, OpenAI Chat", "chat, OpenAI Responses"})
"""Surfaces on which every outcome is a result: the text alone says what went wrong."""

SENDS_NO_STRUCTURE = frozenset(name for name in SURFACES if name.startswith("chat"))
"""Surfaces on which a model is sent the text half alone."""

SAYS_NOTHING_OF = frozenset({("HTTP", "unknown_tool")})
"""Outcomes whose text a surface does not send, since it would tell an unknown tool from an instance that is not open."""

ECHOES_THE_NAME = frozenset({"chat, Gemini"})
"""Surfaces whose protocol knows an answer by the name that was asked for."""
