"""Fills the holes of the corpus with the fence's marks, as they are or changed in the ways that attackers change them.

A hole is `{{MARK}}` or `{{MARK:change:change}}`; MARK is OPEN, CLOSE, NOTICE, NONCE (an id) or NAME (the marker word). The
marks come from the fence itself, so that the corpus spells none of them and stays true when they change.
"""

from __future__ import annotations

import base64
import codecs
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from registry._fence import WORD, closing_line, fence_notice, opening_line, origin_label, text_words

__all__ = ["CHANGES", "GUESSED", "filled", "marks_of"]

Change = Callable[[str], str]

INVISIBLE: Final = {
    "zwsp": 0x200B, "zwnj": 0x200C, "zwj": 0x200D, "wj": 0x2060, "bom": 0xFEFF, "shy": 0xAD, "cgj": 0x34F,
    "vs1": 0xFE00, "vs16": 0xFE0F, "vs17": 0xE0100, "mvs": 0x180E, "hangul_filler": 0x3164, "lrm": 0x200E,
    "rlm": 0x200F, "rlo": 0x202E, "lri": 0x2066, "pdi": 0x2069, "inv_times": 0x2062, "arabic_mark": 0x61C,
    "tag_a": 0xE0061, "comb_grave": 0x300, "nul": 0, "bs": 8, "del": 0x7F,
}  # fmt: skip
BLANK: Final = {
    "space": 0x20, "tab": 9, "nbsp": 0xA0, "lf": 0xA, "cr": 0xD, "vt": 0xB, "ff": 0xC, "nel": 0x85, "ls": 0x2028,
    "ps": 0x2029, "fs": 0x1C, "us": 0x1F, "thin": 0x2009, "ideographic": 0x3000, "ogham": 0x1680, "mmsp": 0x205F,
}  # fmt: skip
CYRILLIC_AND_ARMENIAN: Final = str.maketrans("aeocpudstnrkzq", "аеосрսԁѕτոгкᴢԛ")


def inserted(what: str, at: Callable[[str], int], text: str) -> str:
    place = at(text)
    return text[:place] + what + text[place:]


def middle(text: str) -> int:
    return len(text) // 2


def second(_: str) -> int:
    return 1


def inside_the_word(_: str) -> int:
    return 5


def swapped(pairs: Mapping[str, str], text: str) -> str:
    return text.translate({ord(character): pairs[character] for character in pairs})


def swap(pairs: Mapping[str, str]) -> Change:
    return partial(swapped, pairs)


def written(write: Callable[[int], str], text: str) -> str:
    return "".join(write(ord(character)) for character in text)


def each(write: Callable[[int], str]) -> Change:
    return partial(written, write)


CHANGES: Final[dict[str, Change]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "swap": lambda text: "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(text)),
    "full": each(lambda code: chr(code + 0xFEE0) if 0x20 < code < 0x7F else chr(code)),
    "math": each(lambda code: chr(0x1D41A + code - 0x61) if 0x61 <= code <= 0x7A else chr(code)),
    "homo": lambda text: text.translate(CYRILLIC_AND_ARMENIAN),
    "tags": each(lambda code: chr(0xE0000 + code) if code < 0x80 else chr(code)),
    "rev": lambda text: text[::-1],
    "ent": swap({"<": "&lt;", ">": "&gt;", "[": "&lsqb;", "]": "&rsqb;"}),
    "entdec": each(lambda code: f"&#{code};"),
    "enthex": each(lambda code: f"&#x{code:x};"),
    "entlt": lambda text: text.replace("<", "&lt;", 1).replace("[", "&#91;", 1),
    "dblent": swap({"<": "&amp;lt;", ">": "&amp;gt;", "[": "&amp;lsqb;", "]": "&amp;rsqb;"}),
    "pct": swap({"<": "%3C", ">": "%3E", "/": "%2F", "[": "%5B", "]": "%5D"}),
    "pctall": each(lambda code: "".join(f"%{byte:02x}" for byte in chr(code).encode())),
    "jsu": each(lambda code: chr(code) if chr(code).isalnum() else f"\\u{code:04x}"),
    "jsuall": each(lambda code: f"\\u{code:04x}"),
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "dash": swap({"_": "-"}),
    "nound": swap({"_": "", " ": ""}),
    "undsp": swap({"_": " "}),
    "guill": swap({"<": "‹", ">": "›", "[": "‹", "]": "›"}),
    "angle": swap({"<": "⟨", ">": "⟩", "[": "⟨", "]": "⟩"}),
    "cjkangle": swap({"<": "〈", ">": "〉", "[": "【", "]": "】"}),
    "smalllt": swap({"<": "﹤", ">": "﹥", "[": "﹝", "]": "﹞"}),
    "slash": swap({"/": "∕"}),
    "slash2": swap({"/": "／"}),
    "back": swap({"/": "\\"}),
    "cut": lambda text: text[:-1],
    "doub": lambda text: text[:2] + text + text[2:],
    "spaced": " ".join,
    "joined": "\u200d".join,
    "nfd": lambda text: unicodedata.normalize("NFD", inserted("é", middle, text)),
    "long_s": swap({"s": "ſ"}),
    "kelvin": swap({"k": "\u212a"}),
    "dotless": swap({"i": "ı", "t": "ᵗ", "k": "ᵏ"}),
    "lig": lambda text: text.replace("st", "ﬆ"),
}
for name, code in INVISIBLE.items():
    CHANGES[f"mid_{name}"] = partial(inserted, chr(code), middle)
    CHANGES[f"word_{name}"] = partial(inserted, chr(code), inside_the_word)
    CHANGES[f"lt_{name}"] = partial(inserted, chr(code), second)
for name, code in BLANK.items():
    CHANGES[f"ws_{name}"] = swap(
        {"<": "<" + chr(code), "[": "[" + chr(code), ">": chr(code) + ">", "]": chr(code) + "]"}
    )
    CHANGES[f"in_{name}"] = swap({"/": "/" + chr(code)})

HOLE: Final = re.compile(r"\{\{(OPEN|CLOSE|NOTICE|NONCE|NAME)((?::[a-z0-9_]+)*)\}\}")

GUESS: Final = "7f3a9c0b1d2e4f506172"
# What somebody knows who has read the source code, and no block.
GUESSED: Final = {
    "OPEN": opening_line(GUESS, text_words(origin_label("operator"), crlf=False)),
    "CLOSE": closing_line(GUESS),
    "NOTICE": fence_notice(),
    "NAME": WORD,
    "NONCE": GUESS,
}


def marks_of(block: str) -> dict[str, str]:
    """Return the marks of a real block, as somebody knows them who has seen it."""
    closing = block.rpartition("\n")[2]
    nonce = closing.rpartition(" ")[2].removesuffix("]")
    return {**GUESSED, "OPEN": block.partition("\n")[0], "CLOSE": closing, "NONCE": nonce}


def filled(template: str, marks: Mapping[str, str]) -> str:
    """Return a template with its holes filled."""

    def fill(hole: re.Match[str]) -> str:
        text = marks[hole[1]]
        for change in filter(None, hole[2].split(":")):
            text = CHANGES[change](text)
        return text

    return HOLE.sub(fill, template)
