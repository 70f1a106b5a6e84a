"""What holds for every text: reversible, two markers, no overlap of the character classes."""

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from registry import _encoded as encoded
from registry import _fence as fence
from registry._fence import (
    FenceKey,
    Segment,
    compose,
    fence_untrusted,
    is_block,
    origin_label,
    unfence_untrusted,
)
from registry._lookalikes import CHANGING, LOOKALIKES

KEY = FenceKey.from_bytes(b"a key of the tests alone")
WORD = fence.WORD
REAL = fence_untrusted("seen", origin="web", key=KEY)

PIECES = st.sampled_from(
    [WORD, *WORD, *(WORD[:n] for n in range(1, 7)), *(WORD[n:] for n in range(1, 7)),
    REAL, *REAL.split("\n"),
     "\u200b", "\ufe0f", " ", "\n", "\r\n", "\r", "[", "/", "⧼", "⧽", "⧼7a⧽", "&#122;",
     "&#x75;", "&amp;#112;", "%71",
     "%2575", "\\u0072", "&lt", ";", "<|", "|>", "[INST]", "<think>", "\x00", "\ud83d",
     "\ude00", "𝓏", "ս", "р", "ԛ",
     "К", "\U000e007a", "🇺", "∪", "a", "0", "é", "\u3164", "&nbsp;", "\\n", "%"]
)  # fmt: skip
ANY_TEXT = st.text(st.characters(exclude_categories=()))
TEXTS = ANY_TEXT | st.lists(PIECES, max_size=25).map("".join)
ORIGINS = TEXTS.filter(fence.has_word)


@given(text=TEXTS)
def test_every_text_is_read_back_exactly(text: str) -> None:
    block = fence_untrusted(text, origin="web", key=KEY)
    assert unfence_untrusted(block, key=KEY) == text
    assert is_block(block, key=KEY)
    block.encode("utf-8")


@given(text=TEXTS, origin=ORIGINS)
def test_every_block_holds_its_two_markers_alone(text: str, origin: str) -> None:
    block = fence_untrusted(text, origin=origin, key=KEY)
    assert block.count(WORD) == 2
    assert block.startswith(f"[{WORD} ")
    assert block.rsplit("\n", 1)[1].startswith(f"[/{WORD} ")
    assert len(origin_label(origin)) <= 200


@settings(max_examples=300)
@given(parts=st.lists(st.tuples(TEXTS, st.sampled_from([None, ("a",), ("b", "c")])), max_size=8))
def test_every_reply_holds_the_markers_of_its_blocks_alone(
    parts: list[tuple[str, tuple[str, ...] | None]],
) -> None:
    text = compose([Segment(text=t, origins=o) for t, o in parts], key=KEY)
    assert text.count(WORD) == 2 * sum(origins is not None for _, origins in parts)


@given(text=TEXTS)
def test_a_single_foreign_part_is_the_block(text: str) -> None:
    assert compose([Segment(text=text, origins=("o",))], key=KEY) == fence_untrusted(text, origin="o", key=KEY)


@given(text=TEXTS)
def test_offsets_lead_back_through_a_layer(text: str) -> None:
    for layer in (encoded.decoding(), encoded.normalising()):
        rewriting = layer.apply(text)
        sources = rewriting.sources(range(len(rewriting.after)))
        assert sources == sorted(sources)
        assert all(0 <= source < len(text) for source in sources)


EVERY_CHARACTER = [chr(code) for code in range(0x110000)]


def test_every_character_that_decomposes_or_folds_to_a_letter_of_the_word_reads_as_it() -> None:
    missing: list[str] = []
    for character in EVERY_CHARACTER:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
        # A combining letter is a mark above another one, and is passed over.
        if unicodedata.category(character)[0] == "M":
            continue
        missing += [
            character
            for letter in set(WORD) & set(folded)
            if not character.isascii() and character not in LOOKALIKES[letter]
        ]
    assert missing == []


def test_every_character_named_as_a_letter_of_the_word_reads_as_it() -> None:
    named = re.compile(r"(?:LETTER|SYMBOL LETTER|SMALL CAPITAL|LATIN (?:SMALL|CAPITAL) LETTER) ([ZUPQRK])(?: WITH .*)?")
    missing: list[str] = []
    for character in EVERY_CHARACTER:
        name = unicodedata.name(character, "")
        found = named.search(name) if "LATIN" in name or "REGIONAL" in name or "TAG LATIN" in name else None
        if found is None or found.end() != len(name) or name.startswith("COMBINING") or character.isascii():
            continue
        if character not in LOOKALIKES[found[1].lower()]:
            missing.append(name)
    assert missing == []


def test_no_character_reads_as_two_neighbouring_letters_of_the_word() -> None:
    """The search takes one character for one letter."""
    neighbours = [WORD[i : i + 2] for i in range(len(WORD) - 1)]
    for character in "".join(LOOKALIKES.values()):
        folded = unicodedata.normalize("NFKD", character).casefold()
        assert not any(pair in folded for pair in neighbours)


def test_what_is_passed_over_is_never_a_letter_of_the_word() -> None:
    """What keeps the search linear, and a break a break."""
    passed = re.compile(fence.PASSED_OVER)
    for character in EVERY_CHARACTER:
        is_passed = passed.match(character).end() == 1  # type: ignore[union-attr]  # an empty match is one
        if character in "⧼⧽" or character in "".join(LOOKALIKES.values()) or character in WORD:
            assert not is_passed, hex(ord(character))
        elif encoded.is_ignorable(character) or not character.isalnum():
            is_tag = 0xE0020 <= ord(character) < 0xE007F
            assert is_passed or is_tag, hex(ord(character))


def test_a_character_that_is_passed_over_begins_no_search() -> None:
    """Were it one, every character of a run would look through the rest of the run."""
    passed = re.compile(fence.PASSED_OVER)
    for character in EVERY_CHARACTER:
        if passed.fullmatch(character):
            assert not fence.begins().match(f"{character}ué"), hex(ord(character))


def test_the_first_letters_decide_for_every_lookalike() -> None:
    for first in LOOKALIKES[WORD[0]] + WORD[0]:
        for second in LOOKALIKES[WORD[1]] + WORD[1]:
            assert fence.begins().match(f"{first}\u200b{second}é")


def test_every_character_that_a_layer_drops_or_turns_into_a_token_sign_is_known() -> None:
    known = re.compile(f"[{CHANGING}]")
    signs = set('abcdefghijklmnopqrstuvwxyz0123456789<>|[]/_:="')
    for character in EVERY_CHARACTER[0x80:]:
        if 0xD800 <= ord(character) < 0xE000:
            continue
        after = "" if encoded.is_ignorable(character) else unicodedata.normalize("NFKC", character).lower()
        if not after or signs & set(after) or len(character.lower()) != 1:
            assert known.match(character), hex(ord(character))
