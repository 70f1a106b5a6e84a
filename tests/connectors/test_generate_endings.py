"""How an answer of a model ends, and what is said of each end: whole, cut, refused, broken off."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from connectors.generate import Question, Written
from registry import Foreign, ToolFailed
from registry.egress import strip_egress
from tests.support.generation import GIVEN, HOSTILE, LINK, PROVIDERS, Provider, both, made, told_of
from tests.support.loops import in_loop
from tests.support.models import (
    OPENAI_CALL,
    anthropic_lines,
    as_anthropic,
    as_openai,
    block,
    call_block,
    chunk,
    message_start,
    openai_lines,
    stopped,
    streamed,
    text_block,
)
from tests.support.servers import dripping, response, site
from tests.support.told import ask

REFUSALS: dict[str, tuple[str, bytes, str]] = {
    "openai refuses": ("openai", as_openai("", refusal=HOSTILE), "model_refused"),
    "openai filters": ("openai", as_openai(HOSTILE, reason="content_filter"), "model_filtered"),
    "anthropic refuses": (
        "anthropic",
        as_anthropic(
            text_block(0, HOSTILE),
            reason="refusal",
            stop_details={"type": "refusal", "category": "cyber", "explanation": HOSTILE},
        ),
        "model_refused",
    ),
}
SENTENCES = {
    "model_refused": "The model refused to write this. Ask for something else.",
    "model_filtered": "The model service withheld the answer by its filter of contents. Ask for something else.",
}


@pytest.mark.parametrize(("name", "answer", "code"), REFUSALS.values(), ids=REFUSALS)
@in_loop
async def test_a_refusal_is_a_refusal_and_its_words_are_withheld(name: str, answer: bytes, code: str) -> None:
    told, _ = await told_of(PROVIDERS[name], answer, texts=GIVEN)

    assert (told.code, told.own, told.foreign) == (code, f"Refused ({code}): {SENTENCES[code]}", ())


ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": HOSTILE}}
SPLIT = json.dumps({"error": {"message": HOSTILE, "code": 502}})
BROKEN: dict[str, tuple[str, bytes, str, str]] = {
    "openai asks for a tool": (
        "openai",
        as_openai(HOSTILE, reason="tool_calls", calls=OPENAI_CALL),
        "The model asked for a tool, of which it has none; nothing was called.",
        HOSTILE + json.dumps(OPENAI_CALL[0]),
    ),
    "openai asks for a tool and says that it did not": (
        "openai",
        as_openai(HOSTILE, reason="stop", calls=OPENAI_CALL),
        "The model asked for a tool, of which it has none; nothing was called.",
        HOSTILE + json.dumps(OPENAI_CALL[0]),
    ),
    "openai asks for a function": (
        "openai",
        streamed(openai_lines([chunk({"function_call": {"name": HOSTILE}}), chunk({}, "function_call")])),
        "The model asked for a tool, of which it has none; nothing was called.",
        json.dumps({"name": HOSTILE}),
    ),
    "openai breaks off": ("openai", as_openai(HOSTILE, reason=None), "The answer of the model breaks off.", HOSTILE),
    "openai breaks off in an event": (
        "openai",
        streamed(openai_lines([chunk({"content": HOSTILE})], done=False) + 'data: {"choices": [{"index": 0, "del'),
        "The answer of the model breaks off.",
        HOSTILE,
    ),
    "openai fails in the middle": (
        "openai",
        streamed(openai_lines([chunk({"content": "The"})], done=False) + f"data: {SPLIT}\n\n"),
        "The answer of the model breaks off.",
        f"The\n{SPLIT}",
    ),
    "openai ends in another way": (
        "openai",
        as_openai(HOSTILE, reason="a reason of the future"),
        "The answer of the model ended in a way that is not known here.",
        HOSTILE,
    ),
    "openai says nothing": ("openai", streamed("data: [DONE]\n\n"), "The answer of the model breaks off.", ""),
    "anthropic asks for a tool": (
        "anthropic",
        as_anthropic(text_block(0, HOSTILE), call_block(1), reason="tool_use"),
        "The model asked for a tool, of which it has none; nothing was called.",
        HOSTILE + json.dumps(call_block(1)[0]["content_block"]) + '{"path": "/"}',
    ),
    "anthropic asks for a tool of the server": (
        "anthropic",
        as_anthropic(block(0, {"type": "server_tool_use", "id": "x", "name": HOSTILE, "input": {}})),
        "The model asked for a tool, of which it has none; nothing was called.",
        json.dumps({"type": "server_tool_use", "id": "x", "name": HOSTILE, "input": {}}),
    ),
    "anthropic pauses": (
        "anthropic",
        as_anthropic(text_block(0, HOSTILE), reason="pause_turn"),
        "The model paused in the middle of its answer.",
        HOSTILE,
    ),
    "anthropic breaks off": (
        "anthropic",
        as_anthropic(text_block(0, HOSTILE), reason=None),
        "The answer of the model breaks off.",
        HOSTILE,
    ),
    "anthropic fails in the middle": (
        "anthropic",
        streamed(anthropic_lines([message_start(), *text_block(0, "The"), ERROR])),
        "The answer of the model breaks off.",
        f"The\n{json.dumps(ERROR)}",
    ),
    "anthropic fails at once": (
        "anthropic",
        streamed(anthropic_lines([ERROR, *stopped("end_turn")])),
        "The answer of the model breaks off.",
        json.dumps(ERROR),
    ),
    "anthropic ends in another way": (
        "anthropic",
        as_anthropic(text_block(0, HOSTILE), reason=HOSTILE),
        "The answer of the model ended in a way that is not known here.",
        HOSTILE,
    ),
}


@pytest.mark.parametrize(("name", "answer", "says", "detail"), BROKEN.values(), ids=BROKEN)
@in_loop
async def test_an_answer_that_does_not_end_well_is_a_failure_and_what_came_of_it_is_fenced(
    name: str, answer: bytes, says: str, detail: str
) -> None:
    told, asked = await told_of(PROVIDERS[name], answer)

    assert (told.code, told.own) == ("failed", f"The tool failed.\n{says}")
    assert told.foreign == (detail,)
    assert len(asked) == 1


@both()
@in_loop
async def test_what_is_left_of_a_broken_answer_passes_the_egress_strip_as_well(provider: Provider) -> None:
    broken = {
        "gpt-5": as_openai(LINK, reason=None),
        "claude-opus-4-8": as_anthropic(text_block(0, LINK), reason=None),
    }

    told, _ = await told_of(provider, broken[provider.name], "person")

    assert told.foreign == (strip_egress(LINK),)


@both()
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "401 Unauthorized", "500 Oops", "503 Busy"])
@in_loop
async def test_what_a_service_says_of_a_failure_passes_the_egress_strip_as_well(
    provider: Provider, status: str
) -> None:
    """A service repeats what it was sent, and whoever wrote a text of the question knows that."""
    given = [{"origin": "issue 7", "text": LINK}]
    person, _ = await told_of(provider, response(LINK.encode(), status=status), "person", texts=given)
    program, _ = await told_of(provider, response(LINK.encode(), status=status), "program", texts=given)

    assert (person.code, program.code) == ("failed", "failed")
    assert "SEKRIT" not in person.outcome.text
    assert all(text in (strip_egress(LINK), "") for text in person.foreign)
    assert all(text in (LINK, "") for text in program.foreign)


class Broken:
    """A model of our own that fails with what it read."""

    name = "broken"

    async def write(self, question: Question) -> Written:
        raise ToolFailed("It broke.", Foreign(LINK))


@in_loop
async def test_a_failure_names_the_texts_that_it_may_repeat() -> None:
    given = [{"origin": "issue 7", "text": LINK}]

    told = await ask(made(Broken(), "person"), "ai_generate", prompt="Sum it up.", texts=given)

    assert (told.own, told.foreign) == ("The tool failed.\nIt broke.", (strip_egress(LINK),))
    assert '"model broken + issue 7"' in told.outcome.text


def short_of_its_length(body: bytes) -> bytes:
    return response(body, length=len(body) + 50)


def without_its_last_chunk(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body)


@both()
@pytest.mark.parametrize("cut", [short_of_its_length, without_its_last_chunk])
@in_loop
async def test_a_connection_that_breaks_is_a_failure_even_after_the_last_event(
    provider: Provider, cut: Callable[[bytes], bytes]
) -> None:
    body = provider.text("The lamp is off.").partition(b"\r\n\r\n")[2]

    told, _ = await told_of(provider, cut(body))

    assert told.code == "failed"
    assert "The server's answer is not valid HTTP. The request may have been carried out all the same." in told.own
    assert "lamp" not in told.outcome.text


@both()
@in_loop
async def test_a_stream_that_never_ends_is_given_up_in_time_for_a_word_about_it(provider: Provider) -> None:
    async with site(dripping(b"HTTP/1.1 200 OK\r\n\r\ndata: ")) as web:
        told = await ask(made(provider.make(web)), "ai_generate", within_s=3.0, prompt="a")

    assert (told.code, told.foreign) == ("failed", ())
    assert "The server did not finish its answer within" in told.own
