"""Follows `match`: what each pattern captures, and what the subject is known to be where it holds."""

from __future__ import annotations

from tools_check import _attributes, _classes, _eval, _exec, _fields, _narrow
from tools_check._ir import Node, dotted
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, Cls, Value, join, labelled, of, sorted_refs


def on_match(run: Run, frame: Frame, s: Node) -> bool:
    subject = _eval.evaluate(run, frame, s[2])
    before = frame.vars
    outer = frame.path
    ends: list[dict[str, Value]] = []
    exhaustive = False
    for pattern, guard, body in s[3]:
        frame.vars = dict(before)
        frame.token += 1
        frame.path = (*outer, frame.token)
        seen = match_pattern(run, frame, pattern, subject)
        if s[2][0] == "n" and seen is not None:
            frame.vars[s[2][1]] = seen
        if guard is not None:
            _eval.evaluate(run, frame, guard)
            _narrow.narrow(run, frame, guard, positive=True)
        elif pattern[0] == "pas" and pattern[1] is None:
            exhaustive = True
        if _exec.block(run, frame, body):
            ends.append(frame.vars)
    frame.path = outer
    if not exhaustive:
        ends.append(before)
    return _exec.meet(frame, before, ends)


def match_pattern(run: Run, frame: Frame, pattern: Node, subject: Value) -> Value | None:
    """Bind what a pattern captures; gives what the subject is known to be where the pattern holds."""
    tag = pattern[0]
    if tag == "pv":
        return _eval.evaluate(run, frame, pattern[1])
    if tag == "pas":
        seen = match_pattern(run, frame, pattern[1], subject) if pattern[1] is not None else None
        if pattern[2]:
            frame.vars[pattern[2]] = seen if seen is not None else subject
        return seen
    if tag == "por":
        parts = [match_pattern(run, frame, p, subject) for p in pattern[1]]
        known = [p for p in parts if p is not None]
        return join(*known) if len(known) == len(parts) and known else None
    if tag == "pseq":
        for i, part in enumerate(pattern[1]):
            if part[0] == "pstar":
                if part[1]:
                    obj = run.new(frame, "list")
                    obj.elem = _eval.iterate(run, frame, subject)
                    frame.vars[part[1]] = of(obj)
            else:
                match_pattern(run, frame, part, _eval.subscript(run, frame, subject, _eval.number(i)))
        return None
    if tag == "pmap":
        for key, part in pattern[1]:
            match_pattern(run, frame, part, _eval.subscript(run, frame, subject, _eval.evaluate(run, frame, key)))
        if pattern[2]:
            frame.vars[pattern[2]] = subject
        return None
    if tag == "pcls":
        return match_class(run, frame, pattern, subject)
    return None


def match_class(run: Run, frame: Frame, pattern: Node, subject: Value) -> Value | None:
    name = dotted(pattern[1]) or ""
    if name in ("int", "float", "bool"):
        for part in pattern[2]:
            match_pattern(run, frame, part, CLEAN)
        return CLEAN
    if name in ("str", "bytes", "dict", "list", "tuple", "set"):
        for part in pattern[2]:
            match_pattern(run, frame, part, subject)
        return None
    cls = _eval.evaluate(run, frame, pattern[1])
    owners = [r for r in sorted_refs(cls) if isinstance(r, Cls)]
    names = [f[0] for owner in owners for f in _fields.fields(run, owner)]
    if not subject.refs and not subject.labels and owners:
        subject = join(*(_classes.typed_instance(run, owner) for owner in owners))
    for i, part in enumerate(pattern[2]):
        value = _attributes.attribute(run, frame, subject, names[i], 0) if i < len(names) else labelled(subject.labels)
        match_pattern(run, frame, part, value)
    for attribute, part in pattern[3]:
        match_pattern(run, frame, part, _attributes.attribute(run, frame, subject, attribute, 0))
    return None
