"""Properties of the egress strip over random joins of trigger fragments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.egress import MAX_HELD, EgressFilter, scrub_snapshot, strip_egress
from tests.support.egress import FRAGMENTS, cut, prefixes, stream

HOSTILE = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)
ANYTHING = st.text(max_size=60)
TEXTS = HOSTILE | ANYTHING | st.tuples(HOSTILE, ANYTHING, HOSTILE).map("".join)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, data=st.data())
def test_any_chunking_of_a_stream_gives_the_text_of_one_shot(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert stream(cut(text, places)) == strip_egress(text)
    assert stream(text) == strip_egress(text)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_stripping_is_idempotent(text: str) -> None:
    once = strip_egress(text)
    assert strip_egress(once) == once


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_what_has_been_emitted_after_any_prefix_is_itself_clean(text: str) -> None:
    for shown in prefixes(text):
        assert strip_egress(shown) == shown


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_the_held_tail_is_bounded_after_every_feed(text: str) -> None:
    egress = EgressFilter()
    for character in text * 8:
        egress.feed(character)
        assert egress.held <= MAX_HELD


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=8))
def test_a_snapshot_never_restores_what_an_earlier_one_removed(parts: list[str]) -> None:
    """Every fragment is followed by a word of its own; a word that has gone stays gone."""
    words = [f"q{number}q" for number in range(len(parts))]
    text = "".join(part + word for part, word in zip(parts, words, strict=True))
    gone: set[str] = set()
    for end in range(1, len(text) + 1):
        shown = scrub_snapshot(text[:end])
        assert [word for word in gone if word in shown] == []
        gone |= {word for word in words if word in text[:end] and word not in shown}


@given(text=st.text(alphabet="abc XYZ,.;!?\n*_`#-–—äß日本語🙂0123456789", max_size=200))
def test_words_without_a_trigger_pass_unchanged(text: str) -> None:
    assert strip_egress(text) == text
