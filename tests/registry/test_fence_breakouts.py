"""Every known break-out, with the real marks, as body, as origin and spread over parts.

`Reader` is a tolerant reader of its own: it shares nothing with the module but the word that it looks for.
"""

import html
import re
import unicodedata
import urllib.parse
from functools import cache
from itertools import pairwise

import pytest

from registry._fence import (
    FenceKey,
    Segment,
    compose,
    fence_notice,
    fence_untrusted,
    origin_label,
    unfence_untrusted,
)
from tests.support.breakouts import BREAKOUTS, Breakout, marks_of

KEY = FenceKey.from_bytes(b"a key of the tests alone")
REAL = fence_untrusted("a page seen before", origin="web", key=KEY)
SEEN = marks_of(REAL, fence_notice())
WRONG = SEEN | {mark: SEEN[mark].replace(SEEN["NONCE"], "0" * 20) for mark in ("OPEN", "CLOSE")} | {"NONCE": "0" * 20}
WORD = SEEN["NAME"]

# Drawn like a letter of the word in another script; names do not say so.
DRAWN_LIKE = {
    drawn: letter
    for letter, all_of_it in {
        "z": "ᴢΖζᏃꓜ",
        "u": "սυՍцꓴ",
        "p": "рРρΡᏢꓑ",
        "q": "ԛԚզ",
        "r": "гᴦᏒꓣ",
        "k": "кКκΚᏦꓗ",
    }.items()
    for drawn in all_of_it
}


@cache  # the same few characters are read millions of times
def letter_of(character: str) -> str:
    """A letter or digit as this reader sees it, or nothing."""
    if character in DRAWN_LIKE:
        return DRAWN_LIKE[character]
    name = unicodedata.name(character, "")
    if "FILLER" in name:
        return ""
    named = re.search(
        r"(?:LETTER|TAG LATIN (?:SMALL|CAPITAL) LETTER|SMALL CAPITAL|SYMBOL LETTER) ([A-Z])(?: WITH .*)?$",
        name,
    )
    if named and not name.startswith("COMBINING"):
        return named[1].lower()
    return "".join(c for c in unicodedata.normalize("NFKD", character).casefold() if c.isalnum() or c in "⧼⧽")


def unbackslashed(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)


def readings(text: str) -> set[str]:
    """A text as written, and as up to three layers that decode would leave it."""
    seen = {text}
    for _ in range(3):
        seen |= {decode(each) for each in seen for decode in (html.unescape, urllib.parse.unquote, unbackslashed)}
    return seen


def words_read_in(text: str) -> int:
    """The most marker words that any reading of a text shows."""
    return max("".join(map(letter_of, reading)).count(WORD) for reading in readings(text))


def assert_holds(text: str, *, blocks: int) -> None:
    """Exactly two markers for each block, for every reader, and the text can be sent."""
    assert words_read_in(text) == 2 * blocks
    assert words_read_in(unicodedata.normalize("NFKC", text).lower()) == 2 * blocks
    assert words_read_in("".join(c for c in text if unicodedata.category(c) not in {"Cf", "Mn", "Cc"})) == 2 * blocks
    text.encode("utf-8")


def test_the_reader_takes_every_unbroken_change_for_the_mark() -> None:
    """The reader can fail: it sees the word in nearly every change of the closing line that stands bare."""
    missed = {row.id for row in BREAKOUTS if row.kind == "every-change" and not words_read_in(row.render(SEEN))}
    decoded_by_nobody = {"rev", "b64", "rot13"}
    splits_or_cuts_the_word = {"nfd", "cut", "mid_tag_a", "word_tag_a", "lt_tag_a"}
    assert {change.split("-", 1)[1] for change in missed} <= decoded_by_nobody | splits_or_cuts_the_word


@pytest.mark.parametrize("marks", [SEEN, WRONG], ids=["seen id", "wrong id"])
@pytest.mark.parametrize("row", BREAKOUTS, ids=lambda row: row.id)
def test_no_breakout_in_a_body_gives_a_second_marker(row: Breakout, marks: dict[str, str]) -> None:
    text = row.render(marks)
    block = fence_untrusted(text, origin="web", key=KEY)
    assert unfence_untrusted(block, key=KEY) == text
    if len(text) < 100_000:
        assert_holds(block, blocks=1)


@pytest.mark.parametrize("row", BREAKOUTS, ids=lambda row: row.id)
def test_no_breakout_in_an_origin_leaves_its_label(row: Breakout) -> None:
    origin = "web " + row.render(SEEN)[:20_000]
    label = origin_label(origin)
    assert len(label) <= 200
    assert not set(label) & set('"[]<>&\\|') - {""}
    assert label.splitlines() == [label]
    block = fence_untrusted("x", origin=origin, key=KEY)
    assert_holds(block, blocks=1)
    assert unfence_untrusted(block, key=KEY) == "x"


OWN = None
PATTERNS = [
    (OWN, ("a",)),
    (("a",), OWN),
    (("a",), ("b",)),
    (OWN, OWN),
    (("a",), OWN, ("b",)),
    (OWN, ("a",), OWN),
]


@pytest.mark.parametrize("row", [row for row in BREAKOUTS if len(row.render(SEEN)) < 400], ids=lambda row: row.id)
def test_no_breakout_spread_over_parts_gives_a_marker(row: Breakout) -> None:
    text = row.render(SEEN)
    middle = max(0, text.casefold().find(WORD[0]))
    for cut in range(middle, min(len(text), middle + 12)):
        for pattern in PATTERNS:
            cuts = [0, cut, *([min(cut + 2, len(text))] if len(pattern) == 3 else []), len(text)]
            parts = [text[a:b] for a, b in pairwise(cuts)]
            composed = compose([Segment(text=t, origins=o) for t, o in zip(parts, pattern, strict=True)], key=KEY)
            blocks = sum(origins is not None for origins in pattern)
            # Own words keep lone surrogates: they pass byte for byte.
            seen = composed.encode("utf-8", "replace").decode()
            assert "".join(map(letter_of, seen)).count(WORD) == 2 * blocks
            assert "".join(map(letter_of, html.unescape(seen))).count(WORD) == 2 * blocks
            assert not any(WORD in "".join(map(letter_of, part)) for part in joined_parts(composed))


def joined_parts(composed: str) -> list[str]:
    """The reply as a reader sees it that passes over the lines of blocks: all that is left, joined."""
    return ["".join(line for line in composed.split("\n") if not re.match(rf"\[/?{WORD} [0-9a-f]{{20}}", line))]
