"""Pipelines: values go on raw, origins go along, and what can be known to be wrong is said before anything runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from registry import (
    Answered,
    Caller,
    Failed,
    Foreign,
    Media,
    Permitted,
    Refused,
    ToolFailed,
    ToolInput,
    fence_notice,
    fence_untrusted,
    refuse,
    reply,
    unfence_untrusted,
)
from registry.errors import PipelineError
from registry.pipeline import run_pipeline
from registry.testing import corpus
from tests.support.deployments import KEY, Text, deploy, tool
from tests.support.pipelines import ASK, COUNT, ECHO, WORDS, Asked, Nested, Number, data_of, made, opened, page, ran

ROOT = Path(__file__).parents[2]
BODIES = {attack.id: attack.text for attack in corpus.BODIES if len(attack.text) < 20_000}
# -- values and origins ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_foreign_text_through_an_own_words_tool_ends_fenced_and_exact_for_a_program(body: str) -> None:
    pipeline = made(
        {"id": "fetch", "tool": "page"},
        {"id": "note", "tool": "echo", "arguments": {"text": {"$ref": "fetch"}}},
    )
    result = ran(deploy(page(body), ECHO), pipeline)

    assert result.text == fence_untrusted(f"Noted: {body}", origin="web", key=KEY)
    assert unfence_untrusted(result.text, key=KEY) == f"Noted: {body}"
    assert result.origins == ("web",)
    assert opened(result) == (f"Noted: {body}", ("web",))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_template_for_a_model_fences_again_and_one_for_a_program_does_not(body: str) -> None:
    got: list[str] = []

    def ask(request: Asked) -> str:
        got.append(request.prompt)
        return "fine"

    def save(request: Text) -> str:
        got.append(request.text)
        return "saved"

    pipeline = made(
        {"id": "fetch", "tool": "page"},
        {"id": "ask", "tool": "ask", "arguments": {"prompt": {"$prompt": "Summarise: {fetch}\nIn one line."}}},
        {"id": "save", "tool": "save", "arguments": {"text": {"$text": "<<{fetch}>>"}}},
    )
    tools = tool(ask, "model", name="ask", takes=Asked), tool(save, False, name="save", takes=Text)
    result = ran(deploy(page(body), *tools), pipeline)

    block = fence_untrusted(body, origin="web", key=KEY)
    assert got == [f"{fence_notice()}\n\nSummarise: \n{block}\nIn one line.", f"<<{body}>>"]
    assert result.origins == ("web",)


def test_origins_of_all_that_went_into_a_value_join() -> None:
    one, two = tool(lambda r: "a", "one", name="one"), tool(lambda r: "b", "two", name="two")
    pipeline = made(
        {"id": "a", "tool": "one"},
        {"id": "b", "tool": "two"},
        {"id": "c", "tool": "echo", "arguments": {"text": {"$text": "{b}{a}"}}},
        {"id": "d", "tool": "echo", "arguments": {"text": {"$ref": "c"}}},
    )
    result = ran(deploy(one, two, ECHO), pipeline)

    assert opened(result) == ("Noted: Noted: ba", ("two", "one"))
    assert 'data from "two + one"' in result.text


def test_own_values_stay_own() -> None:
    pipeline = made(
        {"id": "a", "tool": "count", "arguments": {"number": 3}},
        {"id": "b", "tool": "echo", "arguments": {"text": {"$text": "{a} of {{3}}"}}},
    )
    result = ran(deploy(COUNT, ECHO), pipeline)

    assert (result.text, result.value, result.origins) == ("Noted: 3 of {3}", "Noted: 3 of {3}", ())


def test_a_value_is_bound_with_its_type() -> None:
    got: list[object] = []

    def take(request: Nested) -> str:
        got.append(request)
        return "taken"

    pipeline = made(
        {"id": "a", "tool": "data"},
        {
            "id": "b",
            "tool": "take",
            "arguments": {"inner": {"$ref": "a.inner"}, "names": {"$ref": "a.people[*].name"}},
        },
    )
    data = {"inner": {"number": 3}, "people": [{"name": "x"}, {"other": 1}, {"name": "y"}]}
    ran(deploy(data_of(data), tool(take, False, name="take", takes=Nested)), pipeline)

    assert got == [Nested(inner=Number(number=3), names=["x", "y"])]


PATHS: dict[str, tuple[Any, str, object]] = {
    "a whole value": ({"a": 1}, "s", {"a": 1}),
    "a key": ({"a": {"b": [1, 2]}}, "s.a.b[1]", 2),
    "from the end": ([1, 2, 3], "s[-1]", 3),
    "a slice": ([1, 2, 3], "s[1:]", [2, 3]),
    "a slice of nothing": ([1], "s[5:]", []),
    "each": ([{"a": 1}, {"a": 2}, {}], "s[*].a", [1, 2]),
    "each of an object": ({"a": 1, "b": 2}, "s.*", [1, 2]),
    "a quoted key": ({"a b": {"'": 1}}, "s['a b'][\"'\"]", 1),
    "several keys": ({"a": 1, "b": 2, "c": 3}, "s['a','c']", [1, 3]),
    "null": ({"a": None}, "s.a", None),
    "false": ({"a": False}, "s.a", False),
    "text that is json": ('{"a": [1, 2]}', "s.a[0]", 1),
    "text that is json in json": ({"body": '{"a": [{"b": "{\\"c\\": 4}"}]}'}, "s.body.a[0].b.c", 4),
    "text that is json and is not entered": ('{"a": 1}', "s", '{"a": 1}'),
    "json text found by a path stays text": ({"body": '{"a": 1}'}, "s.body", '{"a": 1}'),
    "a key that looks like a position": ({"0": "a"}, "s['0']", "a"),
}


@pytest.mark.parametrize(("data", "ref", "found"), PATHS.values(), ids=PATHS)
def test_a_reference_finds(data: Any, ref: str, found: object) -> None:
    source = tool(lambda request: reply(data=Foreign(data)), "web", name="source")
    result = ran(deploy(source), made({"id": "s", "tool": "source"}, result={"$ref": ref}))

    assert opened(result) == (found, ("web",))


LOST: dict[str, tuple[Any, str, str]] = {
    "a key that is not there": ({"a": 1}, "s.b", "finds nothing"),
    "a position that is not there": ([1], "s[1]", "finds nothing"),
    "a key of a number": ({"a": 1}, "s.a.b", "finds nothing"),
    "a key of null": (None, "s.a", "finds nothing"),
    "a text that is not json": (WORDS, "s.a", "leads into a text that is not JSON"),
    "a text that is not json on the way": ({"a": WORDS}, "s.a.b", "leads into a text that is not JSON"),
    "a text that is json of a text": (json.dumps(json.dumps({"a": 1})), "s.a", "finds nothing"),
    "a text that is too deep": ("[" * 100_000, "s[0]", "leads into a text that is not JSON"),
    "a text that is deep": ("[" * 900 + "]" * 900, "s[0]", "leads into a text that is not JSON"),
    "a text with a number that json has not": ("[NaN]", "s[0]", "leads into a text that is not JSON"),
    "a number that is too long": ("[" + "9" * 5000 + "]", "s[0]", "leads into a text that is not JSON"),
}


@pytest.mark.parametrize(("data", "ref", "why"), LOST.values(), ids=LOST)
def test_a_reference_that_finds_nothing_stops_the_pipeline_and_shows_nothing_of_the_value(
    data: Any, ref: str, why: str
) -> None:
    source = tool(lambda request: reply(data=Foreign(data)), "web", name="source")
    pipeline = made({"id": "s", "tool": "source"}, {"id": "use", "tool": "echo", "arguments": {"text": {"$ref": ref}}})
    result = ran(deploy(source, ECHO, max_result_chars=200_000), pipeline)

    assert result.stopped_at == "use"
    assert result.outcome.code == "failed"
    assert result.text == f"The pipeline stopped at step 'use'.\narguments.text: {ref!r} {why}."


def test_a_reply_without_data_is_bound_by_its_foreign_parts_and_not_by_our_head() -> None:
    """The same through a chain: foreign arguments fence the head as well, and it is still no part of the value."""

    def listed(request: Any) -> Any:
        return reply("2 issues", Foreign('["a",'), Foreign('"b"]'))

    def again(request: Text) -> Any:
        return reply(f"Again, {len(request.text)}:", Foreign(request.text))

    tools = tool(listed, "web", name="list"), tool(again, "again", name="again", takes=Text)
    pipeline = made(
        {"id": "one", "tool": "list"},
        {"id": "two", "tool": "again", "arguments": {"text": {"$ref": "one"}}},
        result=[{"$ref": "one[1]"}, {"$ref": "two[0]"}],
    )

    assert opened(ran(deploy(*tools), pipeline)) == (["b", "a"], ("web", "again"))


def test_a_part_without_text_is_no_value() -> None:
    source = tool(lambda request: reply("an image", Foreign(Media(b"x", "image/png"))), "web", name="source")

    assert opened(ran(deploy(source), made({"id": "s", "tool": "source"}, result={"$ref": "s"}))) == ("", ("web",))


def test_the_last_answer_is_the_result_as_its_tool_wrote_it() -> None:
    source = tool(lambda request: reply("1 issue", Foreign(WORDS)), "web", name="source")
    result = ran(deploy(source), made({"id": "s", "tool": "source"}))

    assert result.text == f"1 issue\n{fence_untrusted(WORDS, origin='web', key=KEY)}"
    assert opened(result) == (WORDS, ("web",))


def test_a_literal_means_what_stands_there() -> None:
    pipeline = made({"id": "a", "tool": "count", "arguments": {"number": 3}}, result={"$literal": {"$ref": "a"}})

    assert ran(deploy(COUNT), pipeline).value == {"$ref": "a"}


# -- inputs ----------------------------------------------------------------------------------------------------------


def test_inputs_are_own_or_foreign_as_they_are_given() -> None:
    pipeline = made(
        {"id": "a", "tool": "echo", "arguments": {"text": {"$ref": "inputs.task.title"}}},
        inputs=["task", "other"],
    )

    own = ran(deploy(ECHO), pipeline, task={"title": "x"}, other=Foreign("y", "mail"))
    foreign = ran(deploy(ECHO), pipeline, task=Foreign({"title": WORDS}, "webhook"), other="y")
    unnamed = ran(deploy(ECHO), pipeline, task=Foreign('{"title": "x"}'), other="y")

    assert (own.text, own.origins) == ("Noted: x", ())
    assert foreign.text == fence_untrusted(f"Noted: {WORDS}", origin="webhook", key=KEY)
    assert unnamed.origins == ("input task",)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "inputs: 'task' must be given."),
        ({"task": 1, WORDS: 1}, "inputs: 1 of the inputs that are given are none that the pipeline lists."),
    ],
)
def test_inputs_that_are_not_those_of_the_pipeline_are_refused(inputs: dict[str, Any], message: str) -> None:
    pipeline = made({"id": "a", "tool": "echo", "arguments": {"text": {"$ref": "inputs.task"}}}, inputs=["task"])

    with pytest.raises(PipelineError) as raised:
        ran(deploy(ECHO), pipeline, **inputs)
    assert str(raised.value) == message


@pytest.mark.parametrize("value", [{1}, object(), Foreign(b"x", "web"), {"a": float("nan")}])
def test_an_input_that_is_no_json_is_refused(value: Any) -> None:
    pipeline = made({"id": "a", "tool": "echo", "arguments": {"text": {"$ref": "inputs.task"}}}, inputs=["task"])

    with pytest.raises(PipelineError, match=r"^inputs: 'task' is not JSON"):
        ran(deploy(ECHO), pipeline, task=value)


def test_a_handler_that_changes_its_arguments_changes_no_value_of_the_pipeline() -> None:
    class Json(ToolInput):
        value: Any

    def spoil(request: Json) -> str:
        cast("list[object]", request.value).append("spoilt")
        return "done"

    pipeline = made(
        {"id": "a", "tool": "data"},
        {"id": "b", "tool": "spoil", "arguments": {"value": {"$ref": "a"}}},
        result={"$ref": "a"},
    )

    assert opened(ran(deploy(data_of([1]), tool(spoil, False, name="spoil", takes=Json)), pipeline)) == ([1], ("web",))


def test_a_block_in_an_own_value_of_a_prompt_is_a_failure_of_the_step() -> None:
    pipeline = made({"id": "a", "tool": "ask", "arguments": {"prompt": {"$prompt": "Say {inputs.x}"}}}, inputs=["x"])
    result = ran(deploy(ASK), pipeline, x=fence_untrusted("x", origin="web", key=KEY))

    assert result.text == (
        "The pipeline stopped at step 'a'.\narguments.prompt: a value that is our own holds a block of the fence."
    )


# -- when and for_each -----------------------------------------------------------------------------------------------

ITEMS = [{"n": 1, "open": True}, {"n": 2, "open": False}, {"n": 3, "open": True}]


def test_a_step_runs_for_each_item_that_its_condition_holds_for() -> None:
    pipeline = made(
        {"id": "list", "tool": "data"},
        {
            "id": "note",
            "tool": "echo",
            "for_each": {"$ref": "list.items", "max": 3},
            "when": {"$ref": "item.open", "equals": True},
            "arguments": {"text": {"$text": "{index}:{item.n}"}},
        },
    )
    result = ran(deploy(data_of({"items": ITEMS}), ECHO), pipeline)

    assert opened(result) == (["Noted: 0:1", "Noted: 2:3"], ("web",))
    assert result.text == fence_untrusted('["Noted: 0:1", "Noted: 2:3"]', origin="web", key=KEY)
    assert [len(step.outcomes) for step in result.steps] == [1, 2]


def test_more_items_than_the_bound_stop_the_pipeline_before_the_first() -> None:
    calls: list[object] = []

    def note(request: Any) -> str:
        calls.append(request)
        return "noted"

    noting = tool(note, False, name="note")
    pipeline = made(
        {"id": "list", "tool": "data"},
        {"id": "note", "tool": "note", "for_each": {"$ref": "list.items", "max": 2}},
    )
    result = ran(deploy(data_of({"items": ITEMS}), noting), pipeline)

    assert result.text == ("The pipeline stopped at step 'note'.\nfor_each: 'list.items' has 3 items, more than 2.")
    assert calls == []


def test_what_is_no_list_cannot_be_gone_through() -> None:
    pipeline = made({"id": "list", "tool": "data"}, {"id": "b", "tool": "data", "for_each": {"$ref": "list", "max": 2}})

    assert ran(deploy(data_of({"a": 1})), pipeline).text.endswith("for_each: 'list' is no list.")


CONDITIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "equal": ({"$ref": "s.state", "equals": "open"}, True),
    "not equal": ({"$ref": "s.state", "equals": "closed"}, False),
    "a number": ({"$ref": "s.count", "equals": 1}, True),
    "a number and its float": ({"$ref": "s.count", "equals": 1.0}, True),
    "true is not one": ({"$ref": "s.count", "equals": True}, False),
    "one is not true": ({"$ref": "s.yes", "equals": 1}, False),
    "a text is not its number": ({"$ref": "s.count", "equals": "1"}, False),
    "deep": ({"$ref": "s.deep", "equals": {"a": [1, None]}}, True),
    "deep with true for one": ({"$ref": "s.deep", "equals": {"a": [True, None]}}, False),
    "null equals null": ({"$ref": "s.deep.a[1]", "equals": None}, True),
    "nothing equals no null": ({"$ref": "s.gone", "equals": None}, False),
    "exists": ({"$ref": "s.state", "exists": True}, True),
    "null exists": ({"$ref": "s.deep.a[1]", "exists": True}, True),
    "is missing": ({"$ref": "s.gone", "exists": False}, True),
    "is not missing": ({"$ref": "s.state", "exists": False}, False),
    "a step that did not run is missing": ({"$ref": "skipped", "exists": False}, True),
    "a step that did not run equals nothing": ({"$ref": "skipped", "equals": None}, False),
}


@pytest.mark.parametrize(("when", "runs"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_holds_or_not(when: dict[str, Any], runs: bool) -> None:
    data = {"state": "open", "count": 1, "yes": True, "deep": {"a": [1, None]}}
    pipeline = made(
        {"id": "s", "tool": "data"},
        {"id": "skipped", "tool": "count", "arguments": {"number": 1}, "when": {"$ref": "s.gone", "exists": True}},
        {"id": "last", "tool": "count", "arguments": {"number": 7}, "when": when},
    )
    result = ran(deploy(data_of(data), COUNT), pipeline)

    assert (result.value, result.text) == ((7, "7") if runs else (None, "The last step did not run."))


def test_a_step_that_did_not_run_cannot_be_bound() -> None:
    pipeline = made(
        {"id": "a", "tool": "count", "arguments": {"number": 1}},
        {"id": "b", "tool": "count", "arguments": {"number": 1}, "when": {"$ref": "a", "equals": 2}},
        {"id": "c", "tool": "count", "arguments": {"number": {"$ref": "b"}}},
    )

    assert ran(deploy(COUNT), pipeline).text == (
        "The pipeline stopped at step 'c'.\narguments.number: 'b' refers to a step that did not run."
    )


# -- what stops it ---------------------------------------------------------------------------------------------------


def refusing(request: Any) -> Any:
    return refuse("no_such_page", "There is no such page.")


def failing(request: Any) -> Any:
    raise ToolFailed("The server said no.", detail=Foreign(WORDS, "server"))


def test_a_refusal_stops_the_pipeline_as_the_tool_worded_it() -> None:
    after: list[object] = []

    def late(request: Any) -> str:
        after.append(request)
        return "x"

    last = tool(late, False, name="last")
    pipeline = made({"id": "a", "tool": "no"}, {"id": "b", "tool": "last"})
    result = ran(deploy(tool(refusing, False, name="no"), last), pipeline)

    assert isinstance(result.outcome, Refused)
    assert (result.outcome.code, result.text) == ("no_such_page", "Refused (no_such_page): There is no such page.")
    assert (result.stopped_at, result.value, after) == ("a", None, [])
    assert [(step.id, [outcome.code for outcome in step.outcomes]) for step in result.steps] == [
        ("a", ["no_such_page"])
    ]


def test_a_failed_step_names_itself_and_its_detail_stays_fenced() -> None:
    result = ran(deploy(tool(failing, "web", name="bad")), made({"id": "a", "tool": "bad"}))

    assert isinstance(result.outcome, Failed)
    assert result.text == (
        "The pipeline stopped at step 'a'.\nThe tool failed.\nThe server said no.\n"
        f"{fence_untrusted(WORDS, origin='server', key=KEY)}"
    )
    assert result.origins == ("server",)


def test_arguments_that_turn_out_wrong_name_the_step_and_no_value() -> None:
    pipeline = made({"id": "a", "tool": "page"}, {"id": "b", "tool": "count", "arguments": {"number": {"$ref": "a"}}})
    result = ran(deploy(page(WORDS), COUNT), pipeline)

    assert result.text == (
        "The pipeline stopped at step 'b'.\nThe arguments do not fit the input of this tool; it was not called.\n"
        "- number: must be a whole number"
    )


def test_a_result_that_is_too_large_is_refused_and_not_shortened() -> None:
    pipeline = made({"id": "a", "tool": "page"}, result=[{"$ref": "a"}] * 3)
    result = ran(deploy(page("x" * 100), max_result_chars=250), pipeline)

    assert result.outcome.code == "result_too_large"
    assert "xxx" not in result.text


def test_a_result_that_refers_to_nothing_is_a_failure() -> None:
    result = ran(deploy(COUNT), made({"id": "a", "tool": "count", "arguments": {"number": 1}}, result={"$ref": "a.b"}))

    assert result.text == "The pipeline ran and has no result: result: 'a.b' finds nothing."


def test_each_call_has_its_permissions_and_its_audit() -> None:
    records: list[Any] = []
    deployment = deploy(page("x"), ECHO, permitted=Permitted.of("page"), audit=records.append)
    caller = Caller("ann", frozenset({"page"}))
    result = asyncio.run(run_pipeline(deployment, made({"id": "a", "tool": "page"}), caller=caller))

    assert isinstance(result.outcome, Answered)
    assert [(record.tool, record.caller) for record in records] == [("page", "ann")]
