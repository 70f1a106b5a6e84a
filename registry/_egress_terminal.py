"""Removes what only a terminal reads: escape sequences, control strings and control characters.

It runs before the machine, so that a control character in the middle of a trigger cannot hide it.
It must never hold text back: it keeps a state, no characters.
"""

import re
from typing import Final, final

CONTROL: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
# A control string that nobody ends must not swallow the answer: a line end or this many characters close it.
MAX_STRING: Final = 4096
MAX_SEQUENCE: Final = 64

STRING_STARTS: Final = frozenset("]PX^_")
C1_STRING_STARTS: Final = frozenset("\x90\x98\x9d\x9e\x9f")


@final
class TerminalFilter:
    """Drops terminal sequences from a stream of text; `feed` gives the same whatever the chunks."""

    __slots__ = ("_length", "_state")

    def __init__(self) -> None:
        self._state = "text"
        self._length = 0

    def feed(self, chunk: str) -> str:
        """Returns the chunk without terminal sequences and control characters."""
        if self._state == "text" and CONTROL.search(chunk) is None:
            return chunk
        kept: list[str] = []
        at = 0
        while at < len(chunk):
            if self._state == "text":
                found = CONTROL.search(chunk, at)
                stop = len(chunk) if found is None else found.start()
                kept.append(chunk[at:stop])
                at = stop
                if found is None:
                    break
            at += self._step(chunk[at])
        return "".join(kept)

    def _step(self, character: str) -> int:
        """Moves by one character; returns 0 when that character has to be read again as text."""
        state = self._state
        self._length += 1
        if state == "text":
            return self._control(character)
        if state == "string":
            return self._in_string(character)
        if state == "string-escape":
            self._state = "text" if character == "\\" else "escape"
            return 1 if character == "\\" else 0
        if character == "\x1b" or CONTROL.match(character):
            return self._control(character)
        if state == "escape":
            return self._after_escape(character)
        return self._in_sequence(character)

    def _control(self, character: str) -> int:
        self._length = 0
        if character == "\x1b":
            self._state = "escape"
        elif character == "\x9b":
            self._state = "sequence"
        elif character in C1_STRING_STARTS:
            self._state = "string"
        else:
            self._state = "text"
        return 1

    def _after_escape(self, character: str) -> int:
        if character in STRING_STARTS:
            self._state = "string"
        elif character == "[":
            self._state = "sequence"
        elif " " <= character <= "/" and self._length < MAX_SEQUENCE:
            pass
        else:
            self._state = "text"
            return 1 if "0" <= character <= "~" else 0
        return 1

    def _in_sequence(self, character: str) -> int:
        if " " <= character <= "?" and self._length < MAX_SEQUENCE:
            return 1
        self._state = "text"
        return 1 if "@" <= character <= "~" else 0

    def _in_string(self, character: str) -> int:
        if character == "\x1b":
            self._state = "string-escape"
        elif character in "\x07\x9c\x18\x1a":
            self._state = "text"
        elif character in "\n\r" or self._length > MAX_STRING:
            self._state = "text"
            return 0
        return 1
