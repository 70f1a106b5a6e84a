"""What is kept of a call that was followed, and how the next call of the same kind gets it without being followed.

A function does two things that a caller sees: it gives a value, and it writes to things that were there before.  Both are
kept, in terms of the first call's arguments, and told again in terms of the next one's: a label that came with an argument
is replaced by those that the next one has in that place, and an object that the function made is made anew, so that two
callers never share what one of them fills later.  A call that cannot be told again like this (it wrote to a thing that no
argument leads to) is followed each time.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

from tools_check._values import (
    EMPTY,
    Func,
    Label,
    Labels,
    Method,
    Obj,
    Partial,
    Super,
    Value,
    Wrapped,
    join,
    join_labels,
    sorted_refs,
)  # fmt: skip

MAX_EFFECTS: Final = 48
MAX_COPIES: Final = 120
MAX_LOOKS: Final = 1_500  # referents that one copy, or one comparison, looks at
DEPTH: Final = 3
LAST: Final = sys.maxsize

# What was stored in a place, and whether it brought anything new there.
Effects = dict[tuple[Obj, Any], tuple[Value, bool]]


class Write(NamedTuple):
    """A value that was stored in a thing which was there before the call; `key` None is any place of it."""

    target: Obj
    key: Any
    value: Value


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a call gave and did."""

    value: Value
    events: dict[Any, Value]
    called: set[str]
    spent: int = 0  # what a call that was cut had to spend; 0 for one that was followed to its end
    writes: tuple[Write, ...] = ()
    arguments: tuple[Value, ...] = ()  # of the first call; empty when nothing depends on whose they are
    made_after: int = 0  # objects with a larger serial number were made by the call
    opened_after: int = 0  # and variables of functions with a larger one were its own

    @property
    def is_plain(self) -> bool:
        """Whether the value can be given as it is."""
        return not self.arguments


def keep(
    value: Value,
    events: dict[Any, Value],
    called: set[str],
    effects: Effects,
    arguments: tuple[Value, ...],
    made_after: int,
    opened_after: int,
    spent: int,
) -> Kept | None:
    """What is kept of a call; None when it did more than can be told again."""
    told = (value, *events.values())
    if not effects and not any(depends(part) for part in told):
        return Kept(value=value, events=events, called=called, spent=spent)
    if len(effects) > MAX_EFFECTS:
        return None
    copies = Copies(Pairs({}, {}, {}, [MAX_LOOKS]), made_after, opened_after)
    reached = within(arguments) if effects else {}
    if any(news and target not in reached for (target, _), (_, news) in effects.items()):
        return None
    try:
        kept_value = copies.value(value)
        writes = tuple(
            Write(target, key, copies.value(stored))
            for (target, key), (stored, _) in effects.items()
            if target in reached
        )
    except TooMany:
        return None if effects else Kept(value=value, events=events, called=called, spent=spent)
    return Kept(
        value=kept_value, events=events, called=called, spent=spent,
        writes=writes, arguments=arguments, made_after=made_after, opened_after=opened_after,
    )  # fmt: skip


def within(arguments: tuple[Value, ...]) -> dict[Obj, Obj]:
    """The objects that arguments lead to, as far as `tell` looks."""
    pairs = Pairs({}, {}, {}, [MAX_LOOKS])
    for value in arguments:
        pairs.add(value, value, DEPTH)
    return pairs.same


def depends(value: Value) -> bool:
    """Whether whose arguments they were shows in a value: in its labels, or in the things that it refers to."""
    return bool(value.labels) or any(ref.__class__ in MOVING and is_some(ref) for ref in value.refs)


def is_some(ref: Any) -> bool:
    """Whether a referent is not one that is the same for everybody."""
    if isinstance(ref, Obj):
        return not ref.shared
    return not isinstance(ref, Func) or ref.self_value is not None or ref.env is not None


class Told(NamedTuple):
    """A kept call in terms of another call's arguments."""

    value: Value
    writes: list[Write]
    events: dict[Any, Value]


def tell(kept: Kept, arguments: tuple[Value, ...]) -> Told | None:
    """The same call with these arguments; None when what it wrote to is not found among them."""
    pairs = Pairs({}, {}, {}, [MAX_LOOKS])
    for old, new in zip(kept.arguments, arguments, strict=True):
        pairs.add(old, new, DEPTH)
    same = pairs.same
    if any(write.target not in same for write in kept.writes):
        return None
    writes_to = [same[write.target] for write in kept.writes]
    copies = Copies(pairs, kept.made_after, kept.opened_after)
    try:
        value = copies.value(kept.value)
        writes = [
            Write(target, key, copies.value(stored))
            for target, (_, key, stored) in zip(writes_to, kept.writes, strict=True)
        ]
        copies.made_after, copies.done = LAST, {}  # an exception that was raised twice may be one: nobody fills it
        return Told(value, writes, {kind: copies.value(event) for kind, event in kept.events.items()})
    except TooMany:
        return None


class Pairs(NamedTuple):
    """Which object, variables of a closure, and labels of one call stand where another's stand."""

    same: dict[Obj, Obj]
    closures: dict[Any, Any]
    labels: dict[Label, Labels]
    left: list[int]  # how many referents it may still look at

    def add(self, old: Value, new: Value, depth: int) -> None:
        """Compare two values that have one digest."""
        if old.labels and old.labels is not new.labels:
            for label in old.labels.values():
                alike = {root: other for root, other in new.labels.items() if other.tag == label.tag}
                if not alike:
                    continue  # it came to the first call's thing later: nothing stands for it, and nothing may vanish
                have = self.labels.get(label)
                self.labels[label] = alike if have is None else join_labels((have, alike))
        if depth <= 0 or not old.refs or len(old.refs) != len(new.refs):
            return
        self.left[0] -= len(old.refs)
        if self.left[0] < 0:
            return
        for before, now in zip(sorted_refs(old), sorted_refs(new), strict=True):
            if before.__class__ is not now.__class__:
                return
            if isinstance(before, Obj):
                if before.kind != now.kind or before.cls != now.cls:
                    return
                if before in self.same:
                    continue
                self.same[before] = now
                for key, inner in now.fields.items():
                    if inner.labels or (inner.refs and depth > 1):
                        self.add(before.fields.get(key, EMPTY), inner, depth - 1)
                if now.elem is not EMPTY:
                    self.add(before.elem, now.elem, depth - 1)
            elif isinstance(before, Method):
                self.add(before.receiver, now.receiver, depth - 1)
            elif isinstance(before, Func):
                if before.self_value is not None and now.self_value is not None:
                    self.add(before.self_value, now.self_value, depth - 1)
                self.close(before.env, now.env, depth - 1)

    def close(self, before: Any, now: Any, depth: int) -> None:
        """Compare what two functions close over."""
        while before is not None and now is not None and before is not now and before not in self.closures:
            self.closures[before] = now
            for name, inner in now.vars.items():
                if inner.labels or (inner.refs and depth > 0):
                    self.add(before.vars.get(name, EMPTY), inner, depth)
            before, now = before.parent, now.parent


class TooMany(Exception):
    """More objects than it pays to make anew."""


@final
class Copies:
    """Values with other labels and objects in the places of some: what a call made is made anew, once each."""

    __slots__ = ("closures", "done", "labels", "left", "looks", "made_after", "opened_after", "same")

    def __init__(self, pairs: Pairs, made_after: int, opened_after: int) -> None:
        self.same, self.closures, self.labels, _ = pairs
        self.made_after = made_after
        self.opened_after = opened_after
        self.left = MAX_COPIES
        self.looks = MAX_LOOKS
        # What was copied, with its copy: methods of methods lead to one value by very many ways.
        self.done: dict[int, tuple[Value, Value]] = {}

    def value(self, value: Value) -> Value:
        """The value with every object replaced.

        Raises:
            TooMany: when it leads to more objects than `MAX_COPIES`.
        """
        have = self.done.get(id(value))
        if have is not None:
            return have[1]
        copy = self.anew(value)
        self.done[id(value)] = (value, copy)
        return copy

    def anew(self, value: Value) -> Value:
        labels = self.relabelled(value.labels) if value.labels and self.labels else value.labels
        refs = value.refs
        if any(ref.__class__ in MOVING for ref in refs):
            self.looks -= len(refs)
            if self.looks < 0:
                raise TooMany
            moved = [(ref, self.ref(ref)) for ref in sorted_refs(value)]
            if any(old is not new for old, new in moved):
                refs = frozenset([new for _, new in moved])
        if labels is value.labels and refs is value.refs:
            return value
        return Value(labels, refs, value.consts, exact=value.exact)

    def relabelled(self, labels: Labels) -> Labels:
        """The labels, those that came with an argument replaced, each with the way that it took since."""
        parts: list[Labels] = []
        changed = False
        for root, label in labels.items():
            moved = self.moved(label)
            changed = changed or moved is not None
            parts.append({root: label} if moved is None else moved)
        return join_labels(parts) if changed else labels

    def moved(self, label: Label) -> Labels | None:
        """What stands for a label that came with an argument; None for one that did not."""
        way: list[Label] = []
        at: Label | None = label
        while at is not None:
            others = self.labels.get(at)
            if others is not None:
                return {moved.root: moved for other in others.values() for moved in [along(other, at, way)]}
            way.append(at)
            at = at.previous
        return None

    def ref(self, ref: Any) -> Any:
        if isinstance(ref, Obj):
            return self.object(ref)
        if isinstance(ref, Func):
            env = self.closure(ref.env)
            bound = self.value(ref.self_value) if ref.self_value is not None else None
            same = env is ref.env and bound is ref.self_value
            return ref if same else ref._replace(env=env, self_value=bound)
        if isinstance(ref, Method):
            receiver = self.value(ref.receiver)
            return ref if receiver is ref.receiver else ref._replace(receiver=receiver)
        if isinstance(ref, Partial):
            keywords = tuple([(name, self.value(v)) for name, v in ref.keywords])
            return Partial(self.value(ref.func), tuple([self.value(v) for v in ref.args]), keywords)
        if isinstance(ref, Wrapped):
            func = self.value(ref.func)
            return ref if func is ref.func else ref._replace(func=func)
        if isinstance(ref, Super):
            return ref._replace(self_value=self.value(ref.self_value))
        return ref

    def closure(self, env: Any) -> Any:
        """The variables that a function closes over: those of the call itself are made anew, as its objects are."""
        if env is None or env.serial <= self.opened_after:
            return self.closures.get(env, env)
        have = self.closures.get(env)
        if have is None:
            self.looks -= 1 + len(env.vars)
            if self.looks < 0:
                raise TooMany
            have = self.closures[env] = type(env)(self.closure(env.parent))
            have.vars = {name: self.value(held) for name, held in env.vars.items()}
        return have

    def object(self, obj: Obj) -> Obj:
        have = self.same.get(obj)
        if have is not None:
            return have
        if obj.serial <= self.made_after or obj.shared or obj.kind == "tool":
            return obj
        self.left -= 1
        if self.left < 0:
            raise TooMany
        copy = Obj(obj.kind, obj.cls, obj.activation, obj.path)
        self.same[obj] = copy
        copy.exact, copy.opaque = obj.exact, obj.opaque
        copy.fields = {key: self.value(inner) for key, inner in obj.fields.items()}
        copy.elem = self.value(obj.elem) if obj.elem is not EMPTY else EMPTY
        if obj.over:
            copy.over = {key: copy.elem if obj.is_firm(key) else None for key in obj.over}
        copy.keys = self.value(obj.keys) if obj.keys is not EMPTY else EMPTY
        copy.base = self.object(obj.base) if obj.base is not None else None
        return copy


def along(label: Label, before: Label, way: list[Label]) -> Label:
    """A label that takes the way which another took from `before` on; a root on that way is the new root."""
    for station in reversed(way):
        if station.root == before.root:
            label = label.then(station.step)
        else:
            origin = label.origin if station.origin == before.origin else station.origin
            label = Label(station.root, origin, station.step, label, station.tag)
            before = station
    return label


MOVING: Final = frozenset({Obj, Func, Method, Partial, Wrapped, Super})


def add_effect(effects: Effects, target: Obj, key: Any, value: Value, *, news: bool) -> None:
    """Remember a write; two to one place are one."""
    place = (target, key)
    have = effects.get(place)
    effects[place] = (value, news) if have is None else (join(have[0], value), have[1] or news)
