"""The filter as a caller has it: terminal sequences off first, then the machine.

One shot and stream must never be two things: `strip_egress` is one feed and one flush.
"""

from typing import final

from registry._egress_machine import Machine
from registry._egress_terminal import TerminalFilter


@final
class EgressFilter:
    """Strips one text that arrives in chunks; the parts joined equal `strip_egress` of the whole."""

    __slots__ = ("_machine", "_terminal")

    def __init__(self) -> None:
        self._terminal = TerminalFilter()
        self._machine = Machine()

    @property
    def held(self) -> int:
        """Number of characters that wait for more input; at most `MAX_HELD`."""
        return self._machine.held

    def feed(self, chunk: str) -> str:
        """Takes the next chunk and returns what may be shown now, which can be empty."""
        return self._machine.feed(self._terminal.feed(chunk))

    def flush(self) -> str:
        """Ends the text: returns what waited, made safe. The filter can then be used for another text."""
        self._terminal = TerminalFilter()
        return self._machine.flush()


def strip_egress(text: str) -> str:
    """Returns the text without anything that loads, links or runs where it is shown."""
    egress = EgressFilter()
    return egress.feed(text) + egress.flush()
