"""The kit's assertions: over a true registry they pass, and over a core that breaks a promise they fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from registry import Outcome, ToolInput, catalog
from registry import _dispatch as dispatching
from registry import _render as rendering
from registry._fence import FenceKey, Segment, compose
from registry._render import settle
from registry.testing import (
    assert_inputs_not_named,
    assert_own_words,
    assert_registry_declares,
    assert_withstands_corpus,
    fake_caller,
)
from registry.testing._samples import sample_arguments
from tests.support.deployments import Text, deploy, tool
from tests.support.third_party import REGISTRY, done


class Hard(ToolInput):
    """An input of which no arguments can be made from the schema."""

    code: str = Field(pattern="^[0-9]{3}-[a-z]{3}$")


def first_digit(request: Hard) -> str:
    return request.code[:1]


def test_a_registry_that_does_what_it_declares_passes() -> None:
    assert_registry_declares(REGISTRY)
    assert_registry_declares([tool(done, first_digit, takes=Hard)], arguments={"tool": {"code": "123-abc"}})


def test_the_corpus_stays_inside_for_every_tool_of_a_registry() -> None:
    assert_withstands_corpus(REGISTRY)


def test_the_kit_runs_where_an_event_loop_runs() -> None:
    async def inside() -> None:
        assert_registry_declares([tool(done, "web")])

    asyncio.run(inside())


def test_no_handler_of_the_author_runs() -> None:
    def handler(_: ToolInput) -> str:
        pytest.fail("a real handler was called")

    assert_registry_declares([tool(handler), tool(handler, "web", name="page")])


def test_a_dispatcher_that_forgets_the_fence_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(segments: Any, *, key: FenceKey) -> str:
        return "\n".join(segment.text for segment in segments)

    monkeypatch.setattr(rendering, "compose", bare)

    with pytest.raises(AssertionError, match="Tool 'page': foreign text is not in one fence"):
        assert_registry_declares([tool(done, "web", name="page")])


def test_a_dispatcher_that_fences_own_words_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_fenced(segments: Any, *, key: FenceKey) -> str:
        return compose([Segment(text=segment.text, origins=("x",)) for segment in segments], key=key)

    monkeypatch.setattr(rendering, "compose", all_fenced)

    with pytest.raises(AssertionError, match="Tool 'page': own words do not come out as they are"):
        assert_registry_declares([tool(done, name="page")])


def test_a_fence_that_edits_fails_with_the_name_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def edited(segments: Any, *, key: FenceKey) -> str:
        return compose([Segment(text=s.text.replace("\x1b", ""), origins=s.origins) for s in segments], key=key)

    monkeypatch.setattr(rendering, "compose", edited)

    with pytest.raises(AssertionError, match="fail-18 of the corpus does not come out of its fence byte for byte"):
        assert_withstands_corpus([tool(done, "web")])


def test_a_structured_half_outside_of_its_envelope_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from registry.testing import _kit as kit

    def without_an_envelope(outcome: Outcome) -> dict[str, str]:
        return {"outcome": outcome.code, "text": outcome.text}

    monkeypatch.setattr(kit, "outcome_body", without_an_envelope)

    with pytest.raises(AssertionError, match="of the corpus leaves the envelope of its structured half"):
        assert_withstands_corpus([tool(done, "web")])


def test_an_undeclared_foreign_text_that_is_shown_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(returned: Any, declared: Any, origins: Any, key: Any) -> Any:
        return (
            settle(returned, declared or "web", origins, key)
            if not isinstance(returned, str)
            else settle(returned, declared, origins, key)
        )

    monkeypatch.setattr(dispatching, "settle", lenient)

    with pytest.raises(AssertionError, match="declares False, and foreign text is shown"):
        assert_registry_declares([tool(done)])


def test_an_origin_that_cannot_be_worked_out_from_a_guess_asks_for_arguments() -> None:
    def origin(request: Hard) -> str:
        return {"123-abc": "web"}[request.code]

    hard = tool(done, origin, takes=Hard)

    with pytest.raises(AssertionError, match=r"no arguments can be made from its schema\. Give some"):
        assert_registry_declares([hard])
    assert_registry_declares([hard], arguments={"tool": {"code": "123-abc"}})


def test_a_read_tool_that_declares_false_and_reads_a_file_fails() -> None:
    def reads(_: ToolInput) -> str:
        return Path(__file__).read_text()

    with pytest.raises(
        AssertionError, match=r"declares untrusted_output=False and opened:\n  tool: open .*test_kit.py"
    ):
        assert_own_words([tool(reads)])
    assert assert_own_words([tool(reads, "the disk")]) == ()


def test_a_real_handler_that_may_change_something_is_not_run_and_said_so() -> None:
    def handler(_: ToolInput) -> str:
        pytest.fail("a real handler was called")

    assert assert_own_words([tool(handler, effect="write"), tool(handler, takes=Hard, name="hard")]) == (
        "Tool 'tool' was not run: its effect is 'write', and only a 'read' is run unasked.",
        "Tool 'hard' was not run: no arguments can be made from its schema. Give some.",
    )


# -- inputs that a governed tool must not have -----------------------------------------------------------------------


class Where(ToolInput):
    predicate: str


class Governed(ToolInput):
    """What a tool takes that lets a model name a measure, and not write a query."""

    measure: str
    by: tuple[str, ...] = ()


class Loose(ToolInput):
    measure: str
    filters: tuple[Where, ...] = ()


QUERIES = ("sql", "table", "predicate", "rows")


def test_an_input_that_lets_a_query_through_is_named_at_any_depth() -> None:
    assert_inputs_not_named([tool(done, takes=Governed)], *QUERIES)
    with pytest.raises(AssertionError, match="Tool 'tool' takes an input named 'predicate', which it must not"):
        assert_inputs_not_named([tool(done, takes=Loose)], *QUERIES)


# -- the rest ------------------------------------------------------------------------------------------------------


def test_a_fake_caller_has_the_grants_that_it_is_given() -> None:
    deployment = deploy(tool(done, name="a"), tool(done, name="b"))

    assert [t.name for t in catalog(deployment, fake_caller("b", "c")).tools] == ["b"]


class Sampled(ToolInput):
    """One field of each kind that a schema has."""

    text: str = Field(min_length=9, max_length=12)
    short: str = Field(max_length=2)
    number: int = Field(gt=3, lt=9, multiple_of=2)
    low: float = Field(le=-1)
    many: list[int] = Field(min_length=2)
    pair: tuple[str, bool]
    either: int | None
    nested: Governed
    mapping: dict[str, int]


def test_sample_arguments_fit_the_input_they_are_made_for() -> None:
    made = sample_arguments(tool(done, takes=Sampled))

    assert made is not None
    assert Sampled.model_validate(made).number == 4
    assert sample_arguments(tool(done, takes=Text)) == {"text": "example"}
    assert sample_arguments(tool(done, takes=Hard)) is None
