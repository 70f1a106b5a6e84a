"""The cases that live in the rules, and the pages made from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools_check._cases import judge, run_case
from tools_check._finding import Case
from tools_check._pages import pages
from tools_check.rules import ALL, Rule

CASES = [
    pytest.param(rule, case, speaks, id=f"{rule.name}: {case.title}")
    for rule in ALL
    for speaks, group in ((True, rule.reported), (False, rule.silent))
    for case in group
]
PAGES = Path(__file__).parents[2] / "docs" / "reference" / "rules"


@pytest.mark.parametrize(("rule", "case", "speaks"), CASES)
def test_a_rule_speaks_where_it_must_and_is_silent_where_it_must(rule: Rule, case: Case, speaks: bool) -> None:
    assert judge(case, run_case(rule, case), speaks=speaks) == ""


def test_the_pages_of_the_rules_are_current() -> None:
    """Rewrite them with `python -m tools_check._pages docs/reference/rules`."""
    written = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert written == pages()
