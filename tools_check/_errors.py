"""What an error carries besides its own text: the error that it was raised from.

It is kept where writing the error out does not show it, since `str(error)` does not either.
"""

from __future__ import annotations

from typing import Final

from tools_check._ir import Def, walk
from tools_check._run import Frame, Run
from tools_check._values import EMPTY, Obj, Partial, Value, join, of

NAMES: Final = frozenset({"__cause__", "__context__"})
PLACE: Final = "[cause]"


def raised_from(run: Run, frame: Frame, error: Value, cause: Value) -> None:
    """`raise error from cause`, or `raise error` while `cause` is handled."""
    if not cause.labels and not cause.objects():
        return
    for obj in error.objects():
        if obj.kind in ("inst", "ext", "failure"):
            run.write(frame, obj, PLACE, of(Partial(cause, (), ())))


ARGS: Final = "args"


def raised_with(run: Run, frame: Frame, error: Obj, init: Def | None, given: tuple[Value, ...]) -> None:
    """What an error of the project says: all that it is made of, unless its `__init__` tells the class above what to say."""
    tells = init is not None and any(
        node[0] == "x" and node[2][0] == "a" and node[2][2] == "__init__" for node in walk(run.body(init))
    )
    if not tells:
        row = run.new(frame, "tuple")
        row.fields = dict(enumerate(given))
        error.fields[ARGS] = of(row)


def told(run: Run, frame: Frame, error: Obj, given: tuple[Value, ...]) -> None:
    """`super().__init__(text)` in an error of the project."""
    row = run.new(frame, "tuple")
    row.fields = dict(enumerate(given))
    run.merge(error, ARGS, of(row))


def made_of(run: Run, frame: Frame, error: Obj, qname: str, given: tuple[Value, ...]) -> None:
    """What `error.args` are, place by place, and of a group its own message beside its errors."""
    row = run.new(frame, "tuple")
    row.fields = dict(enumerate(given))
    error.fields["args"] = of(row)
    if qname.endswith("Group"):
        error.fields["message"] = given[0]
        error.fields["exceptions"] = given[1] if len(given) > 1 else EMPTY


def causes(error: Value) -> Value:
    """The errors behind an error."""
    kept = [obj.fields.get(PLACE, EMPTY) for obj in error.objects()]
    return join(*(ref.func for value in kept for ref in value.refs if isinstance(ref, Partial)))
