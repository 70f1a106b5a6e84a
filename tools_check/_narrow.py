"""What a condition tells about variables: `if kind == "a": return kind` returns our own word, not theirs."""

from __future__ import annotations

from tools_check import _eval
from tools_check._ir import Node, dotted
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, EMPTY, Ext, Value, without_labels


def narrow(run: Run, frame: Frame, test: Node, *, positive: bool) -> bool:
    """Apply what holds when a test is true (or false) to the variables; False when that can never be."""
    tag = test[0]
    if tag == "!":
        return narrow(run, frame, test[1], positive=not positive)
    if tag == "o":
        if (test[1] == "And") == positive:
            return narrow(run, frame, test[2], positive=positive) and narrow(run, frame, test[3], positive=positive)
        return True
    if tag == ":=":
        return True
    if tag == "cmp" and len(test[1]) == 2:
        return narrow_comparison(run, frame, test[1][0], test[1][1], test[2][0], positive=positive)
    if tag == "x" and test[2] == ("n", "isinstance") and len(test[3]) == 2 and test[3][0][2][0] == "n":
        names = alternatives(test[3][1][2])
        if positive and all(n[0] == "n" and n[1] in ("int", "float", "bool") for n in names):
            put(frame, test[3][0][2], CLEAN)
            return True
        narrow_wrapped(run, frame, test[3][0][2], names, positive=positive)
        return True
    if tag == "n" and frame.env is not None and test[1] in frame.env.vars:
        value = frame.env.vars[test[1]]
        if value.exact and value.consts and not value.labels and not value.objects():
            return any(bool(c[1]) == positive for c in value.consts)
    if tag == "k":
        return bool(test[1]) == positive
    return True


def alternatives(node: Node) -> tuple[Node, ...]:
    """The classes of an `isinstance`: one, a tuple of them, or a union."""
    if node[0] == "t":
        return tuple(part for item in node[1] for part in alternatives(item))
    if node[0] == "b" and node[1] == "BitOr":
        return (*alternatives(node[2]), *alternatives(node[3]))
    return (node,)


def narrow_wrapped(run: Run, frame: Frame, name: Node, kinds: tuple[Node, ...], *, positive: bool) -> None:
    """A variable that is known to be, or not to be, a `Foreign` loses the values that are not of that kind."""
    if frame.env is None or name[1] not in frame.env.vars:
        return
    value = frame.env.vars[name[1]]
    errors = frozenset(o for o in value.objects() if o.kind == "ext" and o.cls == "builtins.Exception")
    if errors and not positive and all((dotted(kind) or "").endswith(("Exception", "Error")) for kind in kinds):
        put(frame, name, Value(value.labels, value.refs - errors, value.consts, exact=value.exact))
        return
    wrapped = frozenset(o for o in value.objects() if o.kind == "foreign")
    if not wrapped:
        return
    found = [_eval.evaluate(run, frame, kind) for kind in kinds]
    named = [all(isinstance(r, Ext) for r in v.refs) and bool(v.refs) for v in found]
    is_foreign = [any(isinstance(r, Ext) and r.qname == "registry.Foreign" for r in v.refs) for v in found]
    is_plain = [
        ok
        and all(isinstance(r, Ext) and r.qname.startswith("builtins.") for r in v.refs)
        and not any(isinstance(r, Ext) and r.qname == "builtins.object" for r in v.refs)
        for ok, v in zip(named, found, strict=True)
    ]
    if (positive and all(is_plain)) or (not positive and any(is_foreign)):
        put(frame, name, Value(value.labels, value.refs - wrapped, value.consts, exact=value.exact))


def put(frame: Frame, node: Node, value: Value) -> None:
    if node[0] == "n" and frame.env is not None:
        frame.vars[node[1]] = value


def narrow_comparison(run: Run, frame: Frame, left: Node, right: Node, op: str, *, positive: bool) -> bool:
    if op in ("NotEqual", "NotIn", "IsNot"):
        op, positive = {"NotEqual": "Equal", "NotIn": "In", "IsNot": "Is"}[op], not positive
    if op in ("Equal", "Is"):
        for name, other in ((left, right), (right, left)):
            if name[0] != "n":
                continue
            theirs = _eval.evaluate(run, frame, other) if other[0] in ("k", "n", "a") else EMPTY
            mine = _eval.evaluate(run, frame, name)
            if not decided(mine, theirs, frame, name, positive=positive):
                return False
            if (
                positive
                and not theirs.labels
                and (theirs.consts or other[0] == "a")
                and other != ("k", None)
                and mine.labels
            ):
                put(frame, name, without_labels(theirs) if theirs.consts else CLEAN)
        return True
    if op == "In" and positive and left[0] == "n":
        container = _eval.evaluate(run, frame, right)
        objs = container.objects()
        if objs and not container.labels and all(o.kind in ("list", "set", "tuple", "dict") for o in objs):
            listed = _eval.iterate(run, frame, container)
            if not listed.labels and not any(o.elem.labels for o in objs if o.kind != "dict"):
                put(frame, left, listed if listed.consts else CLEAN)
    return True


def decided(mine: Value, theirs: Value, frame: Frame, name: Node, *, positive: bool) -> bool:
    """Whether `mine == theirs` can come out that way; only for local names of which every value is known."""
    if frame.env is None or name[1] not in frame.env.vars:
        return True
    if (
        not (mine.exact and theirs.exact and mine.consts and theirs.consts)
        or mine.labels
        or mine.objects()
        or theirs.objects()
    ):
        return True
    if positive:
        return bool(mine.consts & theirs.consts)
    return not (len(mine.consts) == 1 and mine.consts == theirs.consts)
