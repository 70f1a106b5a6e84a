"""The corpus as data, and its walk over every renderer of the core, in both halves of what each returns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from registry import (
    Foreign,
    Outcome,
    ToolFailed,
    ToolInput,
    catalog,
    escape_cell,
    fence_untrusted,
    parse_table,
    quote_prose,
    render_table,
    reply,
    run_registry_tool,
    unescape_cell,
    unfence_untrusted,
    unquote_prose,
)
from registry._envelope import outcome_body
from registry._fence import WORD, has_word, inert, readable
from registry.errors import DeclarationError
from registry.testing import corpus
from registry.testing.corpus import BODIES, CELLS, FAILURES, PROSE, Attack
from tests.registry.test_text import LINE_RULES
from tests.support.deployments import KEY, deploy, tool
from tests.support.third_party import done, peer_input, peer_schema, peer_tool

EVERYTHING = (*BODIES, *CELLS, *PROSE, *FAILURES)


def each(attacks: Iterable[Attack]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("attack", attacks, ids=lambda attack: attack.id)


def call(handler: Callable[[ToolInput], Any], declared: Any = "web") -> Outcome:
    return asyncio.run(run_registry_tool(deploy(tool(handler, declared), max_result_chars=50_000_000), "tool", {}))


def over_the_wire(body: Any) -> Any:
    return json.loads(json.dumps(body))


# -- the data ------------------------------------------------------------------------------------------------------


def test_every_text_has_a_name_of_its_own_and_says_what_it_tries() -> None:
    ids = [attack.id for attack in EVERYTHING]

    assert len(ids) == len(set(ids))
    assert all(attack.kind and attack.note for attack in EVERYTHING)
    assert (len(BODIES), len(CELLS), len(PROSE), len(FAILURES)) >= (248, 115, 84, 60)


def test_every_line_end_of_python_tries_to_open_a_row_and_a_line() -> None:
    for attacks in (BODIES, CELLS, PROSE, FAILURES):
        held = {c for attack in attacks for c in attack.text if len(f"a{c}b".splitlines()) == 2}
        assert held == set("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def test_no_hole_of_a_template_is_left_and_the_marks_are_the_real_ones() -> None:
    assert not [attack.id for attack in EVERYTHING if "{{CLOSE" in attack.text or "{{OPEN" in attack.text]
    assert sum(WORD in attack.text for attack in BODIES) > 30
    assert not [attack.id for attack in EVERYTHING if WORD in attack.template]


def test_an_attacker_who_has_seen_a_block_copies_its_lines() -> None:
    block = fence_untrusted("a page", origin="web", key=KEY)
    attack = next(attack for attack in corpus.BODIES if attack.template == "{{CLOSE}}")

    assert attack.after(block) == block.splitlines()[-1] != attack.text


# -- tables --------------------------------------------------------------------------------------------------------


@each((*CELLS, *FAILURES))
def test_a_cell_opens_neither_a_column_nor_a_row_nor_the_trailer(attack: Attack) -> None:
    rendered = render_table([attack.text, "b"], [[attack.text, "x"], ["y", attack.text]], attack.text)

    assert parse_table(rendered).rows == ((attack.text, "x"), ("y", attack.text))
    assert (parse_table(rendered).columns, parse_table(rendered).provenance) == ((attack.text, "b"), attack.text)
    for rule in LINE_RULES.values():
        assert [line.split("\t")[0] for line in rule(rendered)] == ["#", "1", "2", "-- 2 rows from"]
    assert unescape_cell(escape_cell(attack.text)) == attack.text


@each(CELLS)
def test_a_cell_survives_through_a_tool_in_both_halves(attack: Attack) -> None:
    rows = Foreign([[attack.text]])
    outcome = call(lambda _: reply("1 row", rows.map(lambda r: render_table(["c"], r, "ledger")), data=rows))
    head, block = outcome.text.split("\n", 1)

    assert head == "1 row"
    assert parse_table(unfence_untrusted(block, key=KEY)).rows == ((attack.text,),)
    assert over_the_wire(outcome_body(outcome))["data"] == {"untrusted": [[attack.text]], "origins": ["web"]}


# -- answers and failures ------------------------------------------------------------------------------------------


@each((*BODIES, *PROSE))
def test_a_body_stays_in_its_fence_and_in_its_envelope(attack: Attack) -> None:
    text = attack.after(fence_untrusted("a page", origin="web", key=KEY))
    outcome = call(lambda _: reply("1 page", Foreign(text), data=Foreign({"page": text, text: [text]})))
    head, block = outcome.text.split("\n", 1)
    body = over_the_wire(outcome_body(outcome))

    assert head == "1 page"
    assert unfence_untrusted(block, key=KEY) == text
    assert body["data"] == {"untrusted": {"page": text, text: [text]}, "origins": ["web"]}
    assert (set(body), body["outcome"], body["text"]) == (
        {"outcome", "text", "origins", "data"},
        "answered",
        outcome.text,
    )


@each(FAILURES)
def test_a_failure_stays_in_its_fence_and_leaves_no_other_half(attack: Attack) -> None:
    def fail(_: object) -> str:
        raise ToolFailed("It said no.", detail=Foreign(attack.text, "server"))

    outcome = call(fail, False)
    words, block = outcome.text.split("\nIt said no.\n")

    assert (words, unfence_untrusted(block, key=KEY)) == ("The tool failed.", attack.text)
    assert over_the_wire(outcome_body(outcome)) == {"outcome": "failed", "text": outcome.text, "origins": ["server"]}


@each(FAILURES)
def test_an_exception_that_nobody_worded_says_nothing_in_either_half(attack: Attack) -> None:
    def fail(_: object) -> str:
        raise OSError(f"SPELLED {attack.text}")

    body = outcome_body(call(fail))

    assert "SPELLED" not in json.dumps(body)
    assert "OSError" in str(body["text"])


@each([attack for attack in EVERYTHING if has_word(attack.text)])
def test_an_origin_is_one_line_in_the_fence_and_exact_in_the_other_half(attack: Attack) -> None:
    outcome = call(lambda _: reply("1 page", Foreign("a page", attack.text)))
    opening, *_ = outcome.text.removeprefix("1 page\n").splitlines()

    assert len(outcome.text.splitlines()) == 4
    assert unfence_untrusted(outcome.text.removeprefix("1 page\n"), key=KEY) == "a page"
    assert opening.count(WORD) == 1
    assert attack.text in over_the_wire(outcome_body(outcome))["origins"]


# -- catalogue prose -----------------------------------------------------------------------------------------------


@each((*PROSE, *FAILURES, *(attack for attack in BODIES if attack.kind != "size")))
def test_prose_is_quoted_line_by_line_in_the_text_and_exact_in_the_body(attack: Attack) -> None:
    shown = catalog(deploy(peer_tool(attack.text)))
    body = over_the_wire(shown.body())["tools"][0]

    assert body["description"] == {"untrusted": f"tool {attack.text}", "origins": ["the server's list"]}
    assert body["input_schema"]["untrusted"] == peer_schema(attack.text)
    for rule in LINE_RULES.values():
        lines = rule(shown.text)
        first = lines.index("peer (write; answers with text from outside)")
        assert all(line.startswith("> ") for line in lines[first + 2 :])
    assert WORD not in shown.text
    assert readable(unquote_prose(quote_prose(inert(attack.text)))) == attack.text


@each((*PROSE, *FAILURES))
def test_a_value_in_a_schema_survives_or_its_tool_is_refused(attack: Attack) -> None:
    values = {"enum": [attack.text], "default": attack.text, "examples": [attack.text], "pattern": attack.text}
    schema: dict[str, Any] = {"type": "object", "properties": {"mode": values}}
    is_harmless = inert(attack.text) == attack.text
    try:
        shown = catalog(deploy(tool(done, "web", takes=peer_input(schema))))
    except DeclarationError:
        assert not is_harmless
        return

    assert is_harmless
    assert shown.tools[0].schema()["properties"]["mode"] == values
    assert len(shown.text.splitlines()) == 7
