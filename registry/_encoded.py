"""Reads a text as another layer would leave it, and finds the way back to where each character came from.

Two layers are known: one that decodes entities, percent and backslash forms, and one that normalises,
lower-cases and drops invisible characters. It decides nothing about what it finds, and never changes what is
sent.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html.entities import html5
from itertools import accumulate
from typing import Final, final

from registry._lookalikes import CHANGING

MAX_CACHED: Final = 4096
LONGEST_CACHED: Final = 16
PARTS_OF_ENCODED: Final = frozenset(string.ascii_letters + string.digits + "&#;%\\{}")

Reading = Callable[[str], tuple[str, int]]


class Results(dict[str, str]):
    """Bounded memory of what stands in place of a unit afterwards."""

    def __init__(self, readings: "Readings") -> None:
        super().__init__()
        self.readings = readings

    def __missing__(self, unit: str) -> str:
        characters, taken = self.readings[unit]
        result = characters + unit[taken:]
        if len(self) < MAX_CACHED and len(unit) <= LONGEST_CACHED:
            self[unit] = result
        return result


class Readings(dict[str, tuple[str, int]]):
    """Bounded memory of what a unit reads as, and how many of its characters that takes."""

    def __init__(self, read: Reading) -> None:
        super().__init__()
        self.read = read
        self.results = Results(self)

    def __missing__(self, unit: str) -> tuple[str, int]:
        reading = self.read(unit)
        if len(self) < MAX_CACHED and len(unit) <= LONGEST_CACHED:
            self[unit] = reading
        return reading


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """A text after a layer, and the way back."""

    after: str
    may_nest: bool
    """Whether the layer could find more in it."""
    readings: Readings
    pieces: Sequence[str]
    """The text before it: what stays, and in every other place a unit."""
    results: Sequence[str]
    """What stands in place of each unit afterwards."""

    def sources(self, offsets: Sequence[int]) -> list[int]:
        """The offsets in the text before of ascending offsets in `after`; for a rewritten character, its
        beginning."""
        if not offsets or not self.results:
            return list(offsets)
        before = list(accumulate(map(len, self.pieces)))
        ends = list(accumulate(map(len, interleaved(self.pieces, self.results))))
        found: list[int] = []
        place = 0
        for offset in offsets:
            while ends[place] <= offset:
                place += 1
            if place % 2 == 0:
                found.append(before[place] - ends[place] + offset)
                continue
            characters, taken = self.readings[self.pieces[place]]
            rest = offset - ends[place - 1] - len(characters)
            found.append(before[place - 1] + (taken + rest if rest >= 0 else 0))
        return found


def interleaved(pieces: Sequence[str], results: Sequence[str]) -> list[str]:
    """The pieces with a result in place of each unit."""
    shown = [*pieces]
    shown[1::2] = results
    return shown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One rewriting: `units` finds what it changes, its only group, and `readings` says into what."""

    units: re.Pattern[str]
    readings: Readings

    def apply(self, text: str) -> Rewriting:
        # Split, look up and join, each of them one call for all units: half the time of a function for each unit.
        pieces = self.units.split(text)
        results = list(map(self.readings.results.__getitem__, pieces[1::2]))
        return Rewriting(
            after="".join(interleaved(pieces, results)),
            may_nest=any(map(may_be_part_of_encoded, set(results))),
            readings=self.readings,
            pieces=pieces,
            results=results,
        )


def may_be_part_of_encoded(result: str) -> bool:
    """Whether what stands in place of a unit could be part of another; nothing at all joins its neighbours to
    one."""
    return not result or not PARTS_OF_ENCODED.isdisjoint(result)


# ---------------------------------------------------------------------------------------------- encoded
# characters

BARE_NAMES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": "\xa0", "shy": "\xad"}
BARE: Final = "|".join(BARE_NAMES)
# Each kind by the character that it begins with, the usual one first. No kind holds the beginning of another.
FORMS: Final = {
    "\\": (
        r"\\(?:[nrtbfv]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        r"|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[ux]\{[0-9a-fA-F]+\})"
    ),
    "&": rf"&(?:\#(?:[xX][0-9a-fA-F]+|[0-9]+);?|[a-zA-Z][a-zA-Z0-9]{{1,31}};|(?:{BARE}))",
    "%": r"%(?:[0-7][0-9a-fA-F]|[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3})",
}
BEGINNINGS: Final = tuple(FORMS)
BARE_PREFIX: Final = re.compile(f"&({BARE})")


def read_encoded(unit: str) -> tuple[str, int]:
    match unit[0]:
        case "&":
            return read_entity(unit)
        case "%":
            return bytes.fromhex(unit.replace("%", "")).decode("utf-8", "ignore"), len(unit)
        case _:
            return read_backslash(unit), len(unit)


def read_entity(unit: str) -> tuple[str, int]:
    if unit[1] == "#":
        is_hexadecimal = unit[2] in "xX"
        digits = unit[3 if is_hexadecimal else 2 :].rstrip(";")
        return code_point(digits, 16 if is_hexadecimal else 10), len(unit)
    if unit[1:] in html5:
        return html5[unit[1:]], len(unit)
    # No such name: a lenient reader still takes the beginning of `&ltq;` for `&lt`.
    bare = BARE_PREFIX.match(unit)
    return (BARE_NAMES[bare[1]], bare.end()) if bare else ("", 0)


def read_backslash(unit: str) -> str:
    if len(unit) == 2:
        return " "  # `\n` and its like: some white space
    if len(unit) == 12:
        high, low = int(unit[2:6], 16), int(unit[8:], 16)
        return chr(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
    return code_point(unit[2:].strip("{}"), 16)


def code_point(digits: str, base: int) -> str:
    digits = digits.lstrip("0") or "0"
    number = int(digits, base) if len(digits) <= 8 else 0x110000
    return chr(number) if number < 0x110000 else ""


@cache
def decoding() -> Layer:
    """Entities, percent and backslash forms."""
    return Layer(units=re.compile(f"({'|'.join(FORMS.values())})"), readings=Readings(read_encoded))


@cache
def form(beginning: str) -> re.Pattern[str]:
    return re.compile(FORMS[beginning])


def may_hold_encoded(text: str) -> bool:
    return "&" in text or "%" in text or "\\" in text


def encoded_starts(text: str) -> list[int]:
    """Where an encoded form begins, ascending. Each kind for itself: a search for one character is several
    times faster than one for three."""
    return sorted(
        found.start() for beginning in BEGINNINGS if beginning in text for found in form(beginning).finditer(text)
    )


# ---------------------------------------------------------------------------------------------- normalised

FILLERS: Final = "\u115f\u1160\u3164\uffa0"  # letters to Unicode, nothing to the eye


def is_ignorable(character: str) -> bool:
    """Whether a character has no shape of its own: Unicode's default-ignorable ones and all format
    characters."""
    code = ord(character)
    return (
        unicodedata.category(character) == "Cf"
        or character in FILLERS
        or character in "\u034f\u17b4\u17b5\u2065"
        or 0x180B <= code <= 0x180F
        or 0xFE00 <= code <= 0xFE0F
        or 0xFFF0 <= code <= 0xFFF8
        or 0xE0000 <= code <= 0xE0FFF
    )


def read_changing(unit: str) -> tuple[str, int]:
    return ("" if is_ignorable(unit) else unicodedata.normalize("NFKC", unit).lower()), 1


@cache
def normalising() -> Layer:
    """What a layer that normalises (NFKC), lower-cases and drops the invisible changes."""
    return Layer(units=re.compile(f"([{CHANGING}])"), readings=Readings(read_changing))
