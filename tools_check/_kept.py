"""What a library keeps for the project and hands back: the state that a server's `lifespan` yields, and what a context is
said to hold by its type.

Between the two stands code that is not among the files. A client that is taken out of such a state is the client that was put
in, and nobody's computation.
"""

from __future__ import annotations

from typing import Final

from tools_check import _call, _eval
from tools_check._run import Frame, Run
from tools_check._values import EMPTY, Func, Method, Partial, Value, Wrapped, join, labelled, sorted_refs, with_labels

PARAMETERS: Final = frozenset({"lifespan", "server_lifespan"})
ATTRIBUTES: Final = frozenset({"lifespan_context", "lifespan_state"})


def put(run: Run, frame: Frame, args: _call.Args, site: int) -> None:
    """A server is made with a lifespan: what it yields is its state."""
    for name, value in args.keywords:
        if name in PARAMETERS and any(isinstance(r, Func | Partial | Wrapped) for r in value.refs):
            given = _call.call(run, frame, value, _call.Args((EMPTY,)), site, "the lifespan")
            state = _call.enter(run, frame, _eval.awaited(run, given))
            old = run.kept
            run.kept = join(old, state)
            for obj in state.objects():
                obj.shared = True
            if run.kept.refs != old.refs:
                run.version += 1


def taken(run: Run, frame: Frame, base: Value, name: str, site: int) -> Value | None:
    """What is read of a library's context where that is something of the project's."""
    if name not in ATTRIBUTES:
        return None
    if not run.kept.is_empty():
        return run.kept
    known = of_type(base)
    return known if known is not None else labelled(run.unknown(frame, site, f".{name}"))


def of_type(base: Value) -> Value | None:
    """`Context[Session, State]`: the things of these types."""
    found = [
        obj.fields["[type]"]
        for ref in sorted_refs(base)
        if isinstance(ref, Method) and ref.kind == "ext"
        for obj in ref.receiver.objects()
        if "[type]" in obj.fields
    ]
    return with_labels(join(*found), base.labels) if found else None
