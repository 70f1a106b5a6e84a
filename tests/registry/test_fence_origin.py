"""The label of an origin: one line, bounded, nothing can leave it."""

import hashlib

import pytest

from registry._fence import FenceKey, Segment, compose, origin_label
from registry.errors import FenceError

KEY = FenceKey.from_bytes(b"a key of the tests alone")


@pytest.mark.parametrize(
    ("origin", "label"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("issue 3 in a/b", "issue 3 in a/b"),
        ("страница", "страница"),
        ('a"b]\n', "a%22b%5D%0A"),
        ("a%22b", "a%2522b"),
        ("a + b", "a %2B b"),
        ("a&quot;b", "a%26quot;b"),
        ("a\u202eb\ud800", "a%E2%80%AEb%ED%A0%80"),
        ("ａ", "%EF%BD%81"),
    ],
)
def test_what_could_leave_the_label_is_percent_encoded(origin: str, label: str) -> None:
    assert origin_label(origin) == label


def test_several_origins_are_joined_by_a_plus_sign_that_none_of_them_can_hold() -> None:
    text = compose([Segment(text="x", origins=("a + b", "c"))], key=KEY)
    assert 'from "a %2B b + c"' in text.split("\n")[0]


def test_a_long_origin_keeps_head_tail_and_a_digest() -> None:
    origin = "head" + "é\n" * 500 + "tail"
    label = origin_label(origin)
    assert len(label) <= 200
    assert label.startswith("head")
    assert label.endswith("tail#" + hashlib.sha256(origin.encode()).hexdigest()[:8])
    assert "…" in label
    assert origin_label(origin + " ") != label


def test_a_cut_never_splits_an_encoded_character() -> None:
    for length in range(150, 260):
        label = origin_label("x" * (length % 7 + 1) + "\n" * length)
        head, tail = label.split("…")
        assert head.strip("x").replace("%0A", "") == ""
        assert tail.split("#")[0].replace("%0A", "") == ""


def test_a_cut_that_would_splice_the_marker_breaks_it() -> None:
    from registry._fence import WORD

    for kept in range(60, 130):
        for split in range(1, len(WORD)):
            origin = "-" * kept + WORD[:split] + "-" * 300 + WORD[split:] + "-" * 90
            label = origin_label(origin)
            assert WORD not in "".join(filter(str.isalnum, label))
            assert len(label) <= 200


@pytest.mark.parametrize("origin", [None, 3, b"web", ["web"]])
def test_an_origin_that_is_no_text_is_refused(origin: object) -> None:
    with pytest.raises(FenceError, match="text with a letter or digit"):
        origin_label(origin)  # type: ignore[arg-type]  # what an origin callable may return at run time
