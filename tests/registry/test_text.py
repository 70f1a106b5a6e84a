"""Tables and quoted prose: nothing that a value spells opens a column, a line or a trailer, and all of it reads back."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from registry import escape_cell, parse_table, quote_prose, render_table, unescape_cell, unquote_prose
from registry.errors import TextError

SPLITLINES = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if len(f"a{c}b".splitlines()) == 2)

# How readers find lines: Python twice, JavaScript's LineTerminator, YAML 1.1's b-break.
LINE_RULES: dict[str, Callable[[str], list[str]]] = {
    "split": lambda text: text.split("\n"),
    "splitlines": str.splitlines,
    "javascript": re.compile("\r\n|[\n\r\u2028\u2029]").split,
    "yaml": re.compile("\r\n|[\n\r\x85\u2028\u2029]").split,
}

# Any string at all, lone surrogates too, with the characters that matter here far more often than by chance.
HOSTILE = SPLITLINES + "\t\\|>#- nrtxu0123456789\x1f\x1b\x00\u202e\ud800\udcff\U000e0041"
TEXTS = st.text(st.one_of(st.sampled_from(HOSTILE), st.characters(codec=None)), max_size=30)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], str]:
    columns = draw(st.lists(TEXTS, max_size=4))
    rows = draw(st.lists(st.lists(TEXTS, min_size=len(columns), max_size=len(columns)), max_size=5))
    return columns, rows, draw(TEXTS)


@given(tables())
@example(([], [], ""))
@example(([], [[], []], ""))
@example(([""], [[""]], "\n-- 1 rows from\tledger"))
def test_a_table_of_any_strings_reads_back_exactly(table: tuple[list[str], list[list[str]], str]) -> None:
    columns, rows, provenance = table
    read = parse_table(render_table(columns, rows, provenance))

    assert (list(read.columns), [list(row) for row in read.rows], read.provenance) == (columns, rows, provenance)


@pytest.mark.parametrize("rule", LINE_RULES)
@given(table=tables())
def test_no_cell_begins_a_line_under_any_rule(rule: str, table: tuple[list[str], list[list[str]], str]) -> None:
    columns, rows, provenance = table
    lines = LINE_RULES[rule](render_table(columns, rows, provenance))

    marks = ["#", *(str(number + 1) for number in range(len(rows))), f"-- {len(rows)} rows from"]
    assert [line.partition("\t")[0] for line in lines] == marks


@given(tables())
def test_a_table_is_utf_8_whatever_its_cells_hold(table: tuple[list[str], list[list[str]], str]) -> None:
    assert render_table(*table).encode()


@given(TEXTS)
def test_a_cell_reads_back_and_holds_no_line_end_tab_or_control(cell: str) -> None:
    escaped = escape_cell(cell)

    assert unescape_cell(escaped) == cell
    assert not re.search(f"[{re.escape(SPLITLINES)}\\x00-\\x1f\\x7f-\\x9f\ud800-\udfff\u202e]", escaped)


@pytest.mark.parametrize("character", SPLITLINES + "\t")
def test_every_line_end_that_python_knows_is_escaped(character: str) -> None:
    assert len(escape_cell(f"a{character}b").splitlines()) == 1


def test_a_written_escape_is_not_the_same_as_what_it_names() -> None:
    assert escape_cell("a\\nb") == r"a\\nb"
    assert escape_cell("a\nb") == r"a\nb"


def test_letters_of_every_script_pass_as_they_are() -> None:
    assert escape_cell("Größe | 価格 | מחיר‎ | 👩‍👩‍👧 |") == "Größe | 価格 | מחיר‎ | 👩‍👩‍👧 |"


@pytest.mark.parametrize("text", ["\\", "a\\q", "a\tb", "a\nb", "\\x41", "\\x0A", "\\u000a", "\\U00110000"])
def test_what_escape_cell_never_returns_is_not_unescaped(text: str) -> None:
    with pytest.raises(TextError, match="not what escape_cell returns"):
        unescape_cell(text)


@given(TEXTS)
@example("")
@example("a\r\n")
@example("\r\n\r\r\n\n")
def test_quoted_prose_reads_back_exactly(prose: str) -> None:
    assert unquote_prose(quote_prose(prose)) == prose


@pytest.mark.parametrize("rule", LINE_RULES)
@given(prose=TEXTS)
@example(prose="a\n\n\nb")
@example(prose="a\n")
def test_every_line_of_quoted_prose_begins_with_the_mark(rule: str, prose: str) -> None:
    assert all(line.startswith("> ") for line in LINE_RULES[rule](quote_prose(prose)))


def test_prose_with_a_bare_line_is_not_unquoted() -> None:
    with pytest.raises(TextError, match="does not begin with '> '"):
        unquote_prose("> a\u2028b")


@pytest.mark.parametrize("rows", [[["a"]], [["a", "b"], ["a", "b", "c"]]])
def test_a_ragged_table_is_refused(rows: list[list[str]]) -> None:
    with pytest.raises(TextError, match="cells for 2 columns"):
        render_table(["x", "y"], rows, "ledger")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#\ta",
        "#\ta\n1\tx",
        "#\ta\n1\tx\n-- 2 rows from\tledger",
        "#\ta\n2\tx\n-- 1 rows from\tledger",
        "#\ta\n1\tx\ty\n-- 1 rows from\tledger",
        "#\ta\n1\tx\n-- 1 rows from",
        "#\ta\n1\tx\n-- 1 rows from\tledger\n",
    ],
)
def test_a_cut_or_edited_table_is_not_read(text: str) -> None:
    with pytest.raises(TextError):
        parse_table(text)
