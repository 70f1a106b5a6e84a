"""What a function gives of which only a part could be followed: what it was given, what its answer had taken in until then,
and a mark that says so.
"""

from __future__ import annotations

from tools_check import _classes, _fields, _types
from tools_check._ir import Def, Node
from tools_check._link import collect_names
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, DATA, Labels, Value, flat, join_labels, labelled, of


def unfollowed(run: Run, inner: Frame, frame: Frame, definition: Def, given: Labels, site: int) -> Value:
    """The value of a call that was cut."""
    if definition.returns is not None and _fields.is_plain(run, inner, definition.returns):
        return CLEAN
    kept = _types.typed(run, inner, definition.returns).objects()
    if kept and all(obj.kind == "inst" and _classes.is_settings(run, obj.cls) for obj in kept):
        return of(*kept)  # the owner's, wherever it was read from
    name = f"{definition.name}(), too large to follow whole,"
    return labelled(join_labels([given, gathered(inner, definition), run.unknown(frame, site, name)]), DATA)


def gathered(inner: Frame, definition: Def) -> Labels:
    """The foreign bytes in the variables that the function's returns name: what they hold they give."""
    names: set[str] = set()
    returned(definition.body, names)
    found = [flat(inner.vars[name]) for name in sorted(names & inner.vars.keys())]
    return {root: label for labels in found for root, label in labels.items() if root.kind == "foreign"}


def returned(body: tuple[Node, ...], names: set[str]) -> None:
    """The names in the `return` statements below a body."""
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if len(node) == 3 and node[1] == "r" and isinstance(node[0], int):
            collect_names((node[2],), names, set())
        else:
            stack.extend(part for part in node if part.__class__ is tuple)
