"""Reads a text as another layer would leave it, and finds the way back to where each character came from.

Two layers are known: one that decodes entities, percent and backslash forms, and one that normalises, lower-cases and
drops invisible characters. It decides nothing about what it finds, and never changes what is sent.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.entities import html5
from typing import Final, final

from registry._lookalikes import CHANGING

MAX_CACHED: Final = 4096
LONGEST_CACHED: Final = 16

Reading = Callable[[str], tuple[str, int]]


class Readings(dict[str, tuple[str, int]]):
    """Bounded memory of what a unit reads as, and how many of its characters that takes."""

    def __init__(self, read: Reading) -> None:
        super().__init__()
        self.read = read

    def __missing__(self, unit: str) -> tuple[str, int]:
        reading = self.read(unit)
        if len(self) < MAX_CACHED and len(unit) <= LONGEST_CACHED:
            self[unit] = reading
        return reading


class Results(dict[str, str]):
    """Bounded memory of what stands in place of a unit afterwards."""

    def __init__(self, readings: Readings) -> None:
        super().__init__()
        self.readings = readings

    def __missing__(self, unit: str) -> str:
        characters, taken = self.readings[unit]
        result = characters + unit[taken:]
        if len(self) < MAX_CACHED and len(unit) <= LONGEST_CACHED:
            self[unit] = result
        return result


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One rewriting: `units` finds what it changes, `readings` says into what."""

    units: re.Pattern[str]
    readings: Readings

    def apply(self, text: str) -> str:
        """The text after the layer."""
        results = Results(self.readings)
        return self.units.sub(lambda found: results[found[0]], text)

    def sources(self, text: str, offsets: Sequence[int]) -> list[int]:
        """The offsets in `text` of ascending offsets in `apply(text)`; for a rewritten character, its beginning."""
        found: list[int] = []
        shift = 0  # how much longer the text is than what it became, up to here
        for unit in self.units.finditer(text) if offsets else ():
            characters, taken = self.readings[unit[0]]
            start = unit.start() - shift
            end = start + len(characters)
            while offsets[len(found)] < end:
                offset = offsets[len(found)]
                found.append(offset + shift if offset < start else unit.start())
                if len(found) == len(offsets):
                    return found
            shift += taken - len(characters)
        return found + [offset + shift for offset in offsets[len(found) :]]


# ---------------------------------------------------------------------------------------------- encoded characters

BARE_NAMES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": "\xa0", "shy": "\xad"}
BARE: Final = "|".join(BARE_NAMES)
ENCODED: Final = re.compile(
    r"&(?:\#(?:[xX][0-9a-fA-F]+|[0-9]+);?"
    rf"|[a-zA-Z][a-zA-Z0-9]{{1,31}};|(?:{BARE}))"
    r"|%(?:[0-7][0-9a-fA-F]|[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3})"
    r"|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[ux]\{[0-9a-fA-F]+\}|[nrtbfv])"
)
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


DECODING: Final = Layer(units=ENCODED, readings=Readings(read_encoded))


def decoded(text: str) -> str:
    """The text after one decoding of entities, percent and backslash forms."""
    return DECODING.apply(text) if "&" in text or "%" in text or "\\" in text else text


# ---------------------------------------------------------------------------------------------- normalised

FILLERS: Final = "\u115f\u1160\u3164\uffa0"  # letters to Unicode, nothing to the eye


def is_ignorable(character: str) -> bool:
    """Whether a character has no shape of its own: Unicode's default-ignorable ones and all format characters."""
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


NORMALISING: Final = Layer(units=re.compile(f"[{CHANGING}]"), readings=Readings(read_changing))
