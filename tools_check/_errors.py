"""What an error carries besides its own text: the error that it was raised from.

It is kept where writing the error out does not show it, since `str(error)` does not either.
"""

from __future__ import annotations

from typing import Final

from tools_check._run import Frame, Run
from tools_check._values import EMPTY, Partial, Value, join, of

NAMES: Final = frozenset({"__cause__", "__context__"})
PLACE: Final = "[cause]"


def raised_from(run: Run, frame: Frame, error: Value, cause: Value) -> None:
    """`raise error from cause`, or `raise error` while `cause` is handled."""
    if not cause.labels and not cause.objects():
        return
    for obj in error.objects():
        if obj.kind in ("inst", "ext", "failure"):
            run.write(frame, obj, PLACE, of(Partial(cause, (), ())))


def causes(error: Value) -> Value:
    """The errors behind an error."""
    kept = [obj.fields.get(PLACE, EMPTY) for obj in error.objects()]
    return join(*(ref.func for value in kept for ref in value.refs if isinstance(ref, Partial)))
