"""The fast search finds exactly what the plain one finds, which looks at every place of every decoding.

`plain_offsets` is that plain one: no windows, no quick first look, one text after another, each as a whole.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import _encoded as encoded
from registry import _fence as fence
from registry import _windows as windows
from registry._control_tokens import EXACT, FAMILIES
from registry._fence import FenceKey, dangerous_offsets, fence_notice, fence_untrusted
from registry._lookalikes import CHANGING, LOOKALIKES
from tests.support.breakouts import BREAKOUTS, Breakout, marks_of

KEY = FenceKey.from_bytes(b"a key of the tests alone")
WORD = fence.WORD
SEEN = marks_of(fence_untrusted("a page seen before", origin="web", key=KEY), fence_notice())

READS_AS_WORD = re.compile(fence.PASSED_OVER.join(f"[{c}{c.upper()}{LOOKALIKES[c]}]" for c in WORD))
NAMES = re.compile("|".join(re.escape(name.lower()) for name in EXACT))
FAMILY = re.compile(f"<(?:{'|'.join(FAMILIES)})", re.ASCII)
ENCODED = re.compile("|".join(encoded.FORMS.values()))
CHANGES = re.compile(f"[{CHANGING}]")


def plain_offsets(text: str, *, tokens: bool) -> list[int]:
    found: set[int] = set()
    view, sources = text, list(range(len(text)))
    for _ in range(4):
        found |= {sources[at] for at in range(len(view)) if READS_AS_WORD.match(view, at)}
        if tokens:
            found |= plain_tokens(view, sources)
        view, sources = rewritten(view, sources, ENCODED, encoded.read_encoded)
    return sorted(found)


def plain_tokens(view: str, sources: Sequence[int]) -> set[int]:
    after, places = rewritten(view, sources, CHANGES, encoded.read_changing)
    after = after.lower()
    return {places[at] for at in range(len(after)) if NAMES.match(after, at) or FAMILY.match(after, at)}


def rewritten(
    view: str, sources: Sequence[int], units: re.Pattern[str], read: Callable[[str], tuple[str, int]]
) -> tuple[str, list[int]]:
    """The text with each unit read, and for each character where it came from."""
    characters: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(view):
        unit = units.match(view, at)
        read_as, taken = read(unit[0]) if unit else (view[at], 1)
        characters.append(read_as)
        places += [sources[at]] * len(read_as)
        # What is not taken of a unit stands as it is, and is no part of another.
        kept = unit[0][taken:] if unit else ""
        characters.append(kept)
        places += sources[at + taken : at + taken + len(kept)]
        at += taken + len(kept)
    return "".join(characters), places


PROSE = "The quick brown fox jumps over the lazy dog, and nobody knows why it should.\n" * 4
PIECES = st.sampled_from(
    [WORD, WORD, *(WORD[:n] for n in range(1, 7)), *(WORD[n:] for n in range(1, 7)), *"zupqrkZUPQRKnaes07",
     " ", "\n", "\r\n", "\t", ".", "_", " " * 70, "\n" * 130, "-z" * 40, ". " * 40, "the ", " fox", " a", "\na", " n", PROSE,
     "&#122;", "&#x75;", "&amp;", "amp;", "#112;", "%71", "%25", "2571", "%2575", "\\u0072", "\\x6b", "\\u{7a}", "\\n", "\\",
     "%", "&", "%4", "&lt", "&ltz;", "&lt;", "&gt;", "&nbsp;", "&none;", "%20", "%C0%80", "\\u{110000}", "%5c",
     "%26", "\\u0025",
     "<|", "|>", "<", "<<", ">", ">>", "think", "[INST]", "[", "inst]", "<think>", "<invoke name=", "<invoke",
     "name=", "＜", "|a|>",
     "é", "Ж", "ս", "𝓏", "\u200b", "\u3164", "⧼", "⧽", "\x00", "\ud83d", "🇺", "\U000e007a", "ﬁ"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(st.characters(exclude_categories=()))


def windowed_offsets(text: str, *, tokens: bool) -> list[int]:
    """The fast search with windows also where encoded forms stand dense."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "SPARSE", 0)
        return dangerous_offsets(text, tokens=tokens)


@settings(max_examples=500, deadline=None)
@given(text=TEXTS, tokens=st.booleans())
def test_the_fast_search_finds_what_the_plain_one_finds(text: str, tokens: bool) -> None:
    plain = plain_offsets(text, tokens=tokens)
    assert dangerous_offsets(text, tokens=tokens) == plain
    assert windowed_offsets(text, tokens=tokens) == plain


@pytest.mark.parametrize("row", [row for row in BREAKOUTS if len(row.render(SEEN)) < 2_000], ids=lambda row: row.id)
def test_the_fast_search_finds_every_breakout_among_prose(row: Breakout) -> None:
    text = f"{PROSE}{row.render(SEEN)}{PROSE}"
    assert windowed_offsets(text, tokens=True) == plain_offsets(text, tokens=True)


@pytest.mark.parametrize("between", [" ", "\n", " . ", " " * 200, "\n. " * 100])
@pytest.mark.parametrize("split", range(1, len(WORD)))
def test_a_window_reaches_over_all_that_a_reader_passes_over(between: str, split: int) -> None:
    """Each letter encoded, the rest of the word far away on both sides."""
    letters = [*WORD[:split], f"%{ord(WORD[split]):x}", *WORD[split + 1 :]]
    text = f"{PROSE}{between.join(letters)} {PROSE}"
    assert dangerous_offsets(text, tokens=False) == [len(PROSE)]


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("<<think>>", [1]),
        ("<|x[INST]|>", [0, 3]),
        (f"%%C0%807a{WORD[1:]}", [0]),
        (f"%\\u{{110000}}7a{WORD[1:]}", [0]),
        ("&lt;invoke name=", [0]),
        ("%3Cinvoke name=", [0]),
        ("<invoke%20name=", [0]),
        ("<invok%65 name=", [0]),
        ("<invoke nam%65=", [0]),
        ("<|a.t%65st|>", [0]),
    ],
)
def test_a_token_or_a_form_inside_another_is_found(text: str, offsets: list[int]) -> None:
    assert dangerous_offsets(text, tokens=True) == offsets
    assert windowed_offsets(f"{text} the", tokens=True) == offsets


class Counting:
    """The search for a cut, with a count of the characters that it looks at."""

    def __init__(self) -> None:
        self.real = windows.CUT
        self.looked_at = 0

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        last = len(text) if end is None else end
        cut = self.real.search(text, start, last)
        self.looked_at += (cut.end() if cut else last) - start
        return cut


LONG = 20_000
HOSTILE = {
    "passed over between forms": "%71" + "." * 500,
    "letters of the word between forms": "%71" + "zu pq" * 200,
    "white space between forms": "%71" + " " * 1_000,
    "prose after a long run": "%71" + "." * 2_000 + " a" * 50,
    "percent signs": "%",
    "backslashes": "\\",
    "ampersands": "&#",
    "entity chains": "&amp;",
    "forms one beside the other": "%71",
    "a cut after each form": "%71 a" + "." * 300,
    "far cuts before each form": " a" + "." * 300 + "%71",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_cuts_are_found_with_work_that_grows_as_the_text(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = piece * (LONG // len(piece))
    counting = Counting()
    monkeypatch.setattr(windows, "CUT", counting)
    spans = windows.spans_around(text, encoded.encoded_starts(text))
    assert counting.looked_at <= 5 * len(text)
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
