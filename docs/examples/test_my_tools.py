"""The tests of an author of tools: two lines for the declarations, one for what a tool opens, one for the corpus."""

import asyncio
from pathlib import Path

import pytest

from docs.examples.first_tool import LIST_ISSUES
from registry import Deployment, ToolDef, ToolInput, render_table, run_registry_tool
from registry.testing import assert_registry_declares, assert_withstands_corpus, corpus, observe_ingress


class Nothing(ToolInput):
    """A tool that takes nothing."""


def motto(_: Nothing) -> str:
    return Path(__file__).read_text(encoding="utf-8").splitlines()[0]


MOTTO = ToolDef(name="motto", description="Say a motto.", input=Nothing, handler=motto, untrusted_output=False)


def test_every_tool_answers_as_it_declares() -> None:
    assert_registry_declares([LIST_ISSUES])
    assert_withstands_corpus([LIST_ISSUES])


def test_a_tool_that_reads_a_file_has_something_to_explain() -> None:
    with observe_ingress() as observed:
        asyncio.run(run_registry_tool(Deployment.single_user([MOTTO]), "motto", {}))

    assert [(found.tool, found.event) for found in observed.undeclared] == [("motto", "open")]


@pytest.mark.parametrize("attack", corpus.CELLS, ids=lambda attack: attack.id)
def test_no_cell_opens_a_line_of_my_own_table(attack: corpus.Attack) -> None:
    assert len(render_table(["name"], [[attack.text]], "ledger").splitlines()) == 3
