"""Stripped payloads in real renderers and a real browser: nothing is asked for, nothing points outside."""

import random

import pytest

from registry.egress import strip_egress
from tests.support.browser import PROGRAMS, Seen, install, show
from tests.support.egress import mutated, prefixes, rows
from tests.support.programs import needs

pytestmark = [needs(*PROGRAMS), pytest.mark.slow]
PAYLOADS = rows("payloads")


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    install()


def outside(seen: list[Seen]) -> list[Seen]:
    return [row for row in seen if row.requests or row.links]


def test_the_unfiltered_payloads_reach_outside_so_that_the_harness_can_see() -> None:
    """Every renderer is seen to load and to link, or a test that finds nothing would say nothing."""
    seen = show({row["id"]: row["text"] for row in PAYLOADS[::4] if row["expect"] == "strip"})
    renderers = {row.renderer for row in seen}
    assert len(renderers) == 8
    assert {row.renderer for row in seen if row.requests} == renderers
    assert {row.renderer for row in seen if row.links} == renderers
    assert len({row.id for row in outside(seen)}) > 40


def test_stripped_payloads_ask_for_nothing_and_point_nowhere() -> None:
    assert outside(show({row["id"]: strip_egress(row["text"]) for row in PAYLOADS})) == []


def test_what_a_reader_sees_before_the_end_asks_for_nothing_and_points_nowhere() -> None:
    live = {
        f"{row['id']} {number}": shown
        for row in PAYLOADS
        if len(row["text"]) < 1000
        for number, shown in enumerate(prefixes(row["text"]))
    }
    assert len(live) > 300
    assert outside(show(live)) == []


def test_mutated_payloads_of_a_fixed_seed_ask_for_nothing_and_point_nowhere() -> None:
    chance = random.Random(20)
    texts = [row["text"] for row in PAYLOADS if len(row["text"]) < 160]
    stripped = {f"mutated {number}": strip_egress(mutated(chance, texts)) for number in range(150)}
    assert outside(show(stripped)) == []


def test_every_failure_of_the_fuzzer_stays_mended() -> None:
    assert outside(show({row["id"]: strip_egress(row["text"]) for row in rows("fuzz")})) == []
