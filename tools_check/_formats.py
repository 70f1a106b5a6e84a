"""What formatting shows of the values that it is given: a place for a number (`%d`, `:.2f`) fails on text, so nothing of a
stranger's stands there; the fields of a text that is known are looked at one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

from tools_check import _attributes, _call, _classes, _eval
from tools_check._lowering import NUMBER_SPEC
from tools_check._run import Frame, Run
from tools_check._values import NO_LABELS, Labels, Value, const, join_labels, of

PERCENT: Final = re.compile(r"%(?:\(([^)]*)\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)", re.DOTALL)
NUMBERS: Final = frozenset("diouxXeEfFgG")
MAX_FIELDS: Final = 40


def as_number(run: Run, frame: Frame, value: Value) -> Labels:
    """What a place for a number shows: of a thing of the project what its `__format__` gives, else a number."""
    mine = [o for o in value.objects() if o.kind == "inst" and _classes.find_method(run, o.cls, "__format__")]
    return _classes.shown(run, frame, of(*mine), _eval.here(frame)) if mine else NO_LABELS


def percent(run: Run, frame: Frame, text: str, given: Value) -> Labels | None:
    """What `text % given` shows; None where it is not known which value stands where."""
    found = [m for m in PERCENT.finditer(text) if m[4] != "%"]
    if not found or len(found) > MAX_FIELDS or any("*" in (m[2], m[3]) for m in found):
        return None
    parts: list[Labels] = []
    several = any(o.kind == "tuple" for o in given.objects())
    for i, match in enumerate(found):
        if match[1] is not None:
            value = _eval.subscript(run, frame, given, const(match[1]))
        elif several:
            value = _eval.subscript(run, frame, given, const(i))
        else:
            value = given
        parts.append(one(run, frame, value, number=match[4] in NUMBERS))
    return join_labels(parts)


def one(run: Run, frame: Frame, value: Value, *, number: bool) -> Labels:
    return as_number(run, frame, value) if number else _classes.shown(run, frame, value, _eval.here(frame))


def by_fields(run: Run, frame: Frame, text: str, args: _call.Args) -> Labels | None:
    """What `text.format(...)` shows; None where it is not known which value stands where."""
    if args.star is not None or args.dstar is not None:
        return None
    parts: list[Labels] = []
    for name, attributes, number in fields(text):
        value = args.get(int(name) if name.isdigit() else -1, name)
        if value is None:
            return None
        for is_attribute, key in attributes:
            if is_attribute:
                value = _attributes.attribute(run, frame, value, key, _eval.here(frame))
            else:
                value = _eval.subscript(run, frame, value, const(int(key) if key.isdigit() else key))
        parts.append(one(run, frame, value, number=number))
    return join_labels(parts)


def fields(text: str) -> Iterator[tuple[str, list[tuple[bool, str]], bool]]:
    """Each field of a format text: what it names, the way from there, and whether it is a place for a number.

    A text that is none names an argument that nobody gives, so that nothing is believed of it.
    """
    place = 0
    try:
        for _, path, spec, conversion in Formatter().parse(text):
            if path is None:
                continue
            head, *rest = re.split(r"(\.\w+|\[[^\]]*\])", path)
            yield head or str(place), [(p[0] == ".", p.strip(".[]")) for p in rest if p], is_number(spec, conversion)
            place += not head
            for _, inner, _, _ in Formatter().parse(spec or ""):
                if inner is not None:
                    yield inner or str(place), [], False
                    place += not inner
    except ValueError:
        yield "(not a format)", [], False


def is_number(spec: str | None, conversion: str | None) -> bool:
    return not conversion and bool(NUMBER_SPEC.fullmatch(spec or ""))
