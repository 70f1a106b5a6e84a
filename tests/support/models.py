"""What services of models answer, as streams in the shapes of their published descriptions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.support.servers import response

EVENT_STREAM = (("Content-Type", "text/event-stream; charset=utf-8"),)


def streamed(lines: str) -> bytes:
    return response(lines.encode("utf-8", "surrogatepass"), headers=EVENT_STREAM)


# -- OpenAI --------------------------------------------------------------------------------------------------------


def chunk(delta: dict[str, Any] | None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk; without a delta it is the last, which holds the usage alone."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
    return {
        "id": "chatcmpl-123",
        "object": "chat.completion.chunk",
        "created": 1694268190,
        "model": "gpt-5",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": choices,
        "usage": None,
        **more,
    }


USAGE = {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29}


def openai_lines(events: Iterable[dict[str, Any]], *, done: bool = True) -> str:
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return f"{lines}data: [DONE]\n\n" if done else lines


def as_openai(*pieces: str, reason: str | None = "stop", refusal: str | None = None, calls: Any = None) -> bytes:
    """A whole stream."""
    events = [chunk({"role": "assistant", "content": "", "refusal": None})]
    events += [chunk({"content": piece}) for piece in pieces]
    events += [chunk({"refusal": refusal})] if refusal is not None else []
    events += [chunk({"tool_calls": calls})] if calls is not None else []
    events += [chunk({}, reason), chunk(None, usage=USAGE)] if reason is not None else []
    return streamed(openai_lines(events, done=reason is not None))


OPENAI_CALL = [
    {"index": 0, "id": "call_abc123", "type": "function", "function": {"name": "delete", "arguments": '{"path": "/"}'}}
]


def openai_problem(message: str, *, status: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return response(json.dumps(body).encode(), status=status, headers=(("Content-Type", "application/json"), *headers))


# -- Anthropic -----------------------------------------------------------------------------------------------------


def anthropic_lines(events: Iterable[dict[str, Any]]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def message_start() -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-opus-4-8",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 19, "output_tokens": 1},
    }
    return {"type": "message_start", "message": message}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def thinking_block(index: int, text: str) -> list[dict[str, Any]]:
    deltas = ({"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": text})
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def call_block(index: int) -> list[dict[str, Any]]:
    start: dict[str, Any] = {"type": "tool_use", "id": "toolu_01", "name": "delete", "input": {}}
    return block(index, start, {"type": "input_json_delta", "partial_json": '{"path": "/"}'})


def stopped(reason: str, **more: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}, {"type": "message_stop"}]


def as_anthropic(*blocks: list[dict[str, Any]], reason: str | None = "end_turn", **more: Any) -> bytes:
    """A whole stream."""
    events = [message_start(), *(event for block in blocks for event in block)]
    return streamed(anthropic_lines([*events, *(stopped(reason, **more) if reason is not None else [])]))


def anthropic_problem(kind: str, message: str, *, status: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}
    return response(json.dumps(body).encode(), status=status, headers=(("Content-Type", "application/json"), *headers))
