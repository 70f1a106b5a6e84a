"""The egress strip: the model's words leave without a beacon. (Being written.)"""
from registry._egress_machine import Machine
from registry._egress_terminal import TerminalFilter

class EgressFilter:
    def __init__(self) -> None:
        self._t = TerminalFilter(); self._m = Machine()
    def feed(self, chunk: str) -> str:
        return self._m.feed(self._t.feed(chunk))
    def flush(self) -> str:
        self._t = TerminalFilter()
        return self._m.flush()
    @property
    def held(self) -> int: return self._m.held

def strip_egress(text: str) -> str:
    f = EgressFilter()
    return f.feed(text) + f.flush()
