"""What is dropped after a trigger was broken: the address, the destination, the attributes.

Swallowing is cosmetic: the trigger is gone, so the end may be a guess. It must never run over a blank line,
and it keeps a state and at most a few characters, never text. Each swallower has `eat(text, at, final)`,
which returns the index up to which it dropped, whether it has come to its end, and what is to be written
there.
"""

import re
from typing import Final, Protocol, final

BLANKS: Final = " \t\n\r\f"
CLOSERS: Final = {"(": ")", "[": "]", "{": "}", "<": ">", "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“"}
TRAILING: Final = frozenset(".,;:!?'*_~)]}")
MAX_TRAILING: Final = 32
# Punctuation of scripts without blanks: an address ends there, or the rest of the sentence goes with it.
ENDS: Final = frozenset('<>"`|，、；：！？）」』】》”’»\u2028\u2029')
MAX_BLANKS: Final = 32
# Runs that no rule below looks at, dropped at once.
PLAIN_IN_ADDRESS: Final = re.compile(r"(?:[A-Za-z0-9/%&=#@$+\\^-]+|[.,:;!?*_~]{1,31}(?=[A-Za-z0-9/%&=#@$+\\^-]))+")
PLAIN_IN_DESTINATION: Final = re.compile(r"[A-Za-z0-9/%&=#@$+,.:;?!\[\]^_-]+")


class Swallower(Protocol):
    """Drops the rest of a broken construct, over as many chunks as it takes."""

    def eat(self, text: str, at: int, *, final: bool) -> tuple[int, bool, str]:
        """Returns where it stopped, whether it is done, and what to write there."""
        ...


@final
class Address:
    """Drops an address up to a blank or what closes its surroundings; trailing punctuation is given back."""

    __slots__ = ("_closer", "_depth", "_takes_closer")

    def __init__(self, opener: str, *, takes_closer: bool = False) -> None:
        self._closer = CLOSERS.get(opener, "")
        self._depth = 0
        self._takes_closer = takes_closer

    def eat(self, text: str, at: int, *, final: bool) -> tuple[int, bool, str]:
        """Drops to the end of the address."""
        here = at
        while here < len(text):
            plain = PLAIN_IN_ADDRESS.match(text, here)
            if plain is not None:
                here = plain.end()
                continue
            if self._is_end(text, here):
                return here + (self._takes_closer and text[here] == self._closer), True, ""
            character = text[here]
            if character in TRAILING or character == "。":
                stop = self._trailing(text, here)
                if stop == len(text) and stop - here < MAX_TRAILING and not final:
                    return here, False, ""
                if self._takes_closer and text[stop : stop + 1] == self._closer:
                    return stop + 1, True, ""
                if stop == len(text) or (self._is_end(text, stop) and stop - here < MAX_TRAILING):
                    return self._balance(text, here, stop), True, ""
                if character == "。" and not text[stop].isascii():
                    return here, True, ""
                here = max(self._count(text, here, stop), here + 1)
                continue
            self._depth += character == "("
            here += 1
        return here, final, ""

    def _is_end(self, text: str, at: int) -> bool:
        character = text[at]
        if character.isspace() or character in ENDS:
            return True
        if character != self._closer:
            return False
        return character != ")" or self._depth == 0

    def _trailing(self, text: str, at: int) -> int:
        stop = at
        depth = self._depth
        while stop < len(text) and stop - at < MAX_TRAILING:
            character = text[stop]
            if character == self._closer and (character != ")" or depth == 0):
                break
            if character not in TRAILING and character != "。":
                break
            depth -= character == ")" and depth > 0
            stop += 1
        return stop

    def _balance(self, text: str, at: int, stop: int) -> int:
        """Brackets that belong to the address go with it: `Foo_(bar)` before the full stop."""
        while at < stop and text[at] == ")" and self._depth > 0:
            self._depth -= 1
            at += 1
        return at

    def _count(self, text: str, at: int, stop: int) -> int:
        self._depth = max(0, self._depth - text.count(")", at, stop))
        return stop


@final
class Destination:
    """Drops `dest "title")` after a broken `](`; stops where the text is no destination any more."""

    __slots__ = ("_angle", "_blanks", "_closer", "_depth", "_escaped", "_lines", "_part")

    def __init__(self, closer: str = ")") -> None:
        self._closer = closer
        self._part = "before"
        self._depth = 0
        self._angle = False
        self._escaped = False
        self._blanks = 0
        self._lines = 0

    def eat(self, text: str, at: int, *, final: bool) -> tuple[int, bool, str]:
        """Drops to the closing bracket."""
        here = at
        while here < len(text):
            character = text[here]
            if self._part == "after":
                gap = "\n" if self._lines else " "
                done = self._after(character)
                if done is not None:
                    return here + (done == "close"), True, "" if done == "close" else gap
                here += 1
                continue
            if self._part == "destination" and not self._escaped:
                plain = PLAIN_IN_DESTINATION.match(text, here)
                if plain is not None:
                    self._lines = 0
                    here = plain.end()
                    continue
            here += 1
            if self._escaped:
                self._escaped = False
                continue
            if character == "\\":
                self._escaped = True
                self._leave_before(character)
                continue
            if character in BLANKS and self._blank(character):
                return here, True, "\n\n"
            if character not in BLANKS:
                self._lines = 0
                if self._visible(character):
                    return here, True, ""
        return here, final, ""

    def _leave_before(self, character: str) -> None:
        if self._part == "before" and character != ">":
            self._part = "destination"
            self._angle = character == "<"

    def _blank(self, character: str) -> bool:
        """Takes a blank; says whether it completes a blank line."""
        if character == "\n":
            self._lines += 1
            if self._lines > 1:
                return True
            if self._part.startswith("title"):
                self._part = "after"
        if self._part == "destination" and not self._angle:
            self._part = "after"
            self._blanks = 1
        return False

    def _visible(self, character: str) -> bool:
        """Takes a character that shows; says whether the construct closes with it."""
        if self._part.startswith("title"):
            if character == self._part[-1]:
                self._part, self._blanks = "after", 0
            return False
        if self._part == "before" and character == self._closer:
            return True
        if self._part == "before":
            self._leave_before(character)
            if self._angle:
                return False
        if self._angle:
            self._angle = character != ">"
            return False
        if character == self._closer and self._depth == 0:
            return True
        if self._closer == ")":
            self._depth += (character == "(") - (character == ")")
        else:
            self._depth += (character == "{") - (character == "}")
        return False

    def _after(self, character: str) -> str | None:
        """After the destination: a title, a size, the end, or words that were never part of it."""
        if character in BLANKS:
            self._blanks += 1
            self._lines += character == "\n"
            if self._lines > 1 or self._blanks > MAX_BLANKS:
                return "text"
            return None
        self._lines = 0
        if character == self._closer:
            return "close"
        if character in "\"'(" and self._blanks:
            self._part = "title" + (")" if character == "(" else character)
            return None
        if character in "=>" and self._blanks:
            self._part = "destination"
            return None
        return "text"


@final
class Tag:
    """Drops a tag to its `>`, aware of quotes as a browser is."""

    __slots__ = ("_equals", "_lines", "_quote")

    def __init__(self) -> None:
        self._quote = ""
        self._equals = False
        self._lines = 0

    def eat(self, text: str, at: int, *, final: bool) -> tuple[int, bool, str]:
        """Drops to the end of the tag."""
        for here in range(at, len(text)):
            character = text[here]
            if character in BLANKS:
                self._lines += character == "\n"
                if self._lines > 1:
                    return here + 1, True, "\n\n"
                continue
            self._lines = 0
            if self._quote:
                if character == self._quote:
                    self._quote = ""
                continue
            if character == ">":
                return here + 1, True, ""
            if self._equals and character in "\"'":
                self._quote = character
            self._equals = character == "="
        return len(text), final, ""


@final
class Value:
    """Drops one attribute value."""

    __slots__ = ("_lines", "_part")

    def __init__(self) -> None:
        self._part = ""
        self._lines = 0

    def eat(self, text: str, at: int, *, final: bool) -> tuple[int, bool, str]:
        """Drops to the end of the value."""
        for here in range(at, len(text)):
            character = text[here]
            if character == "\n":
                self._lines += 1
                if self._lines > 1:
                    return here + 1, True, "\n\n"
            elif character not in BLANKS:
                self._lines = 0
            if not self._part:
                if character in BLANKS or character == "=":
                    continue
                if character == ">":
                    return here, True, ""
                self._part = character if character in "\"'" else "word"
            elif self._part == "word":
                if character in BLANKS or character == ">":
                    return here, True, ""
            elif character == self._part:
                return here + 1, True, ""
        return len(text), final, ""
