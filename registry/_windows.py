"""Cuts a text down to the places where a decoding could change what is read, and finds the way back.

It knows which letters stop every search, and finds no marker itself: `_fence.py` searches what is left over.

The cut stands between white space and a letter or digit that is no letter of the marker word. No encoded form
holds white space, so neither side can become part of one however often the text is decoded; no marker word
goes over such a letter; and no control token holds white space but one, whose blank is followed by an `n`.
So everything that a decoding brings forth lies between two neighbouring cuts, with the encoded form it comes
from, and a stretch between two cuts without an encoded form stays as it is.
"""

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final, final

from registry._encoded import BEGINNINGS, encoded_starts
from registry._lookalikes import LOOKALIKES

AFTER_A_BLANK_IN_A_CALL: Final = "nN"  # `<invoke name=`
READ_ON: Final = frozenset("".join(LOOKALIKES).upper() + "".join(LOOKALIKES) + AFTER_A_BLANK_IN_A_CALL)
STOPS: Final = "".join(c for c in string.ascii_letters + string.digits if c not in READ_ON)
CUT: Final = re.compile(f"[ \n][{STOPS}]")
SPARSE: Final = 64  # characters to one beginning: from there on windows cost less than they save
FIRST_REACH: Final = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The parts of a text that a decoding could change, put together."""

    text: str
    starts: Sequence[int]
    """Where each window begins in the whole text."""
    places: Sequence[int]
    """Where each begins in `text`; as many as `starts`."""

    def sources(self, offsets: Iterable[int]) -> list[int]:
        """The offsets in the whole text of offsets in `text`."""
        if len(self.starts) == 1:
            return [self.starts[0] + offset for offset in offsets]
        found: list[int] = []
        for offset in offsets:
            window = bisect_right(self.places, offset) - 1
            found.append(self.starts[window] + offset - self.places[window])
        return found


def windows(text: str) -> Windows | None:
    """What of a text a decoding could change, up to the next cuts; None where it holds no encoded form."""
    if sum(map(text.count, BEGINNINGS)) * SPARSE > len(text):
        return Windows(text=text, starts=(0,), places=(0,))
    spans = spans_around(text, encoded_starts(text))
    if not spans:
        return None
    pieces = [text[start:end] for start, end in spans]
    return Windows(
        text="".join(pieces),
        starts=[start for start, _ in spans],
        places=list(accumulate(chain((0,), map(len, pieces[:-1])))),
    )


def spans_around(text: str, positions: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending spans between cuts that hold all ascending positions; linear in the text."""
    spans: list[tuple[int, int]] = []
    done = 0
    for position in positions:
        if position < done:
            continue
        cut = CUT.search(text, position)
        end = len(text) if cut is None else cut.start() + 1
        spans.append((cut_before(text, position, done), end))
        done = end
    return spans


def cut_before(text: str, position: int, done: int) -> int:
    """A cut before a position and near it, or `done`, which is one; each doubling looks at the whole stretch
    again, twice its length together."""
    reach = FIRST_REACH
    while True:
        start = max(done, position - reach)
        cut = CUT.search(text, start, position)
        if cut is not None:
            return cut.start() + 1
        if start == done:
            return done
        reach *= 2
