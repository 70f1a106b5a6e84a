"""What a library keeps for the project and hands back: the state that a server's `lifespan` yields, and what a context is
said to hold by its type.

Between the two stands code that is not among the files. A client that is taken out of such a state is the client that was put
in, and nobody's computation.
"""

from __future__ import annotations

from typing import Final

from tools_check import _call, _eval
from tools_check._ir import Node
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


# What applications and contexts hold for their handlers, whatever a project puts into it.
STATES: Final = frozenset(
    {"state", "app_state", "session_state", "bot_data", "user_data", "extensions", "lifespan_context"}
)


def is_kept(node: Node) -> bool:
    """Whether a statement puts something into such a state: `app.state.db = ...`, `context.state["db"] = ...`."""
    if not isinstance(node[0], int) or node[1] != "=":
        return False
    return any(t[0] in ("a", "s") and t[1][0] == "a" and t[1][2] in STATES for t in node[2])


def keep_state(run: Run, holder: Node, base: Value, name: object, value: Value) -> None:
    """Something is put into the state of a thing that is not of the project."""
    if holder[0] != "a" or holder[2] not in STATES or not isinstance(name, str) or is_mine(base):
        return
    old = run.state.get(name, EMPTY)
    new = run.state[name] = join(old, value)
    for obj in value.objects():
        obj.shared = True
    if new.refs != old.refs or new.labels.keys() != old.labels.keys():
        run.version += 1


def of_state(run: Run, holder: Node, base: Value, name: object) -> Value | None:
    """What was put into such a state under a name."""
    if not run.state or holder[0] != "a" or holder[2] not in STATES or is_mine(base):
        return None
    return run.state.get(name) if isinstance(name, str) else None


def is_mine(base: Value) -> bool:
    """Whether a state is kept by a class of the project, which is followed as any other."""
    return any(obj.kind != "ext" for obj in base.objects())


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
