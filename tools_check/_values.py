"""What the checker knows about a value: who chose its bytes, what may be called on it, which constants it
may be.

A `Value` is immutable; what it refers to (`Obj`) is a heap cell that calls write to, so that aliases, out-parameters
and closures need no rule of their own.  Nothing here evaluates code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

MAX_LABELS: Final = 8
MAX_REFS: Final = 48
MAX_CONSTS: Final = 64


class Step(NamedTuple):
    """One station on the way of the bytes."""

    path: str
    site: int
    why: str


class Root(NamedTuple):
    """Where a label began: `kind` is "foreign" or "unknown"."""

    kind: str
    name: str
    path: str
    site: int


Tag = tuple[str, str, str] | None


@final
class Label:
    """A mark on a value: where its bytes came from, and one way by which they came here.

    `tag` is all of it that what happens to a value may depend on: functions treat labels with one tag alike.
    """

    __slots__ = ("depth", "origin", "previous", "root", "step", "tag")

    def __init__(self, root: Root, origin: str, step: Step, previous: Label | None = None, tag: Tag = None) -> None:
        self.root = root
        self.origin = origin
        self.step = step
        self.tag = tag if tag is not None else (root.kind, origin, "")
        self.previous = previous
        self.depth: int = previous.depth + 1 if previous else 1

    def then(self, step: Step) -> Label:
        """The same label one station later."""
        if self.depth >= 12 or self.step == step:
            return self
        return Label(self.root, self.origin, step, self, self.tag)

    def steps(self) -> list[Step]:
        """The way from the source."""
        out: list[Step] = []
        label: Label | None = self
        while label is not None:
            out.append(label.step)
            label = label.previous
        return out[::-1]


Labels = Mapping[Root, Label]
NO_LABELS: Final[Labels] = {}

Const = tuple[str, Any]
NO_CONSTS: Final[frozenset[Const]] = frozenset()


class Ext(NamedTuple):
    """Something that is not in the files given, by its qualified name: a module, a function or a class."""

    qname: str


class Mod(NamedTuple):
    """A module of the files given."""

    name: str


class Import(NamedTuple):
    """A name of another module, looked up when it is first used."""

    module: str
    name: str


class Cls(NamedTuple):
    """A class of the files given."""

    module: str
    at: int


class Data(NamedTuple):
    """Plain data whose operations are known: str, numbers, JSON-like containers."""

    kind: str = "data"


class Method(NamedTuple):
    """A method of plain data, of a container, or of a thing outside, bound to its receiver."""

    kind: str  # "data", "list", "dict", "set", "ext", "foreign", ...
    name: str
    receiver: Value

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.receiver.refs))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Method)
            and (self.kind, self.name) == (other.kind, other.name)
            and self.receiver.refs == other.receiver.refs
            and self.receiver.labels.keys() == other.receiver.labels.keys()
        )


class Func(NamedTuple):
    """A function of the files given, with what it closes over and the object that it is bound to."""

    module: str
    at: int
    env: Any
    self_value: Value | None
    owner: Cls | None

    def key(self, depth: int = 1, work: list[int] | None = None) -> tuple[Any, ...]:
        """A hashable summary; an object may hold a method that is bound to it, so `depth` ends the circle."""
        bound = self.self_value.digest(depth, work) if self.self_value and depth >= 0 else None
        return ("fn", self.module, self.at, closure_digest(self.env, depth, [60]), bound)

    def __hash__(self) -> int:
        return hash((self.module, self.at, id(self.env), self.self_value.refs if self.self_value else None))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Func)
            and (self.module, self.at) == (other.module, other.at)
            and self.env is other.env
            and (self.self_value.refs if self.self_value else None)
            == (other.self_value.refs if other.self_value else None)
        )


class Partial(NamedTuple):
    """A callable with arguments already given."""

    func: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


class Wrapped(NamedTuple):
    """A function under a decorator that changes what a call of it gives (`contextmanager`)."""

    kind: str
    func: Value


class Typed(NamedTuple):
    """A type that is written as `list[int]` or `Literal["a", "b"]`, and where its names are looked up."""

    module: str
    owner: Cls | None
    node: tuple[Any, ...]


class Super(NamedTuple):
    """`super()` inside a method."""

    owner: Cls
    self_value: Value


DATA: Final = Data()


@final
class Obj:
    """A heap cell: a container, or an instance of a class of the project or of elsewhere."""

    __slots__ = (
        "activation",
        "base",
        "cls",
        "elem",
        "exact",
        "fields",
        "keys",
        "kind",
        "opaque",
        "over",
        "owners",
        "path",
        "serial",
        "shared",
    )
    counter = 0
    looked = 0  # cells that were looked at since the budget was last asked: see `Run.spend`
    mutations = 0  # grows with every write to any cell: what is kept of a digest holds until then

    def __init__(self, kind: str, cls: Any = None, activation: object = None, path: tuple[int, ...] = ()) -> None:
        self.kind = kind
        self.cls = cls
        self.fields: dict[Any, Value] = {}
        self.elem: Value = EMPTY
        self.keys: Value = EMPTY
        self.activation = activation
        self.path = path
        self.shared = False
        self.exact = True
        self.base: Obj | None = None  # what every instance of the class may hold; what is written here stays here
        self.opaque = False  # an instance that shows nothing of its fields to whoever it is handed to
        # Of a dict, by key: what stood for any key when it was written for certain; None where it may be missing.
        self.over: dict[Any, Value | None] | None = None
        Obj.counter += 1
        self.serial = Obj.counter

    def children(self) -> Iterator[Value]:
        yield from list(self.fields.values())
        yield self.elem
        yield self.keys

    def everything(self) -> Value:
        return join(self.elem, *self.fields.values())

    def is_firm(self, key: Any) -> bool:
        """Whether a key is there for certain, and nothing may have been put under it since: `{**page, key: ours}`."""
        return key in self.fields and (self.over.get(key, EMPTY) if self.over else EMPTY) is self.elem

    def settle(self, key: Any) -> None:
        """What is in the fields under a key was put there for certain, after all that may stand under any key."""
        if self.elem is not EMPTY:
            self.over = {**self.over, key: self.elem} if self.over else {key: self.elem}
        elif self.over:
            self.over.pop(key, None)

    def unsettle(self, key: Any = None) -> None:
        """A key may be missing; without one: something may have been put under any of them."""
        if key is not None:
            self.over = {**self.over, key: None} if self.over else {key: None}
        elif self.over:
            self.over = dict.fromkeys(self.over)

    def put_anywhere(self, value: Value) -> None:
        """Something stands under some key."""
        if value is not EMPTY:
            self.elem = join(self.elem, value)
            self.unsettle()


@final
class Value:
    """Labels on the value itself, what it may refer to, and the constants that it may be."""

    __slots__ = ("_digest", "consts", "exact", "in_order", "labels", "refs")
    in_order: list[Any]  # the referents in their order, once somebody asked for it

    def __init__(
        self,
        labels: Labels = NO_LABELS,
        refs: frozenset[Any] | None = None,
        consts: frozenset[Const] = NO_CONSTS,
        *,
        exact: bool = False,
    ) -> None:
        self.labels = labels
        self.refs: frozenset[Any] = refs if refs is not None else frozenset()
        self.consts = consts
        self.exact = exact  # nothing but one of `consts`
        self._digest: tuple[int, int, Any] | None = None

    def kinds(self) -> Any:
        """A coarser summary: of labels only the kinds count, and of cells only what they are."""
        consts = self.consts if self.exact and len(self.consts) <= 2 else NO_CONSTS
        shown = [kind_of(ref) for ref in sorted_refs(self)]
        return (label_kinds(flat(self, handed=True)), tuple(shown), consts)

    def digest(self, depth: int = 2, work: list[int] | None = None) -> Any:
        """A hashable summary: values with one digest are treated alike by a function.

        `work` bounds what one digest looks at; beyond it things count by their kind alone.
        """
        known = self._digest
        if known is not None and known[0] == Obj.mutations and known[1] == depth:
            return known[2]
        if work is None:
            work = [60]
        refs = [ref_digest(ref, depth, work) for ref in sorted_refs(self)]
        consts = self.consts if self.exact and len(self.consts) <= 4 else NO_CONSTS
        tags = frozenset([label.tag for label in self.labels.values()]) if self.labels else NO_CONSTS
        result = (tags, tuple(refs), consts)
        self._digest = (Obj.mutations, depth, result)
        return result

    def objects(self) -> list[Obj]:
        """The heap cells, in a stable order: what is done to one after the other must not depend on where they lie."""
        return [r for r in sorted_refs(self) if r.__class__ is Obj]

    def const_values(self) -> list[Any]:
        return [c[1] for c in self.consts]

    def strings(self) -> list[str]:
        return [c[1] for c in self.consts if c[0] == "str"]

    def is_empty(self) -> bool:
        return not (self.labels or self.refs or self.consts)


def ref_digest(ref: Any, depth: int, work: list[int]) -> Any:
    """The part of a digest that one referent contributes."""
    if isinstance(ref, Obj):
        if ref.shared or ref.kind == "tool":
            return ("o", ref.serial)
        work[0] -= 1
        if depth <= 0 or work[0] <= 0:
            return (ref.kind, ref.cls)
        fields = tuple(
            (str(k), v.digest(depth - 1, work)) for k, v in list(ref.fields.items())[:12] if v.refs or v.labels
        )
        over = tuple([(str(key), ref.is_firm(key)) for key in ref.over]) if ref.over else None
        return (ref.kind, ref.cls, len(ref.fields), fields, ref.elem.digest(depth - 1, work), over)
    if isinstance(ref, Func):
        # An object may hold its own methods: what they are bound to is looked at one level less deep each time.
        bound = ref.self_value.digest(depth - 1, work) if ref.self_value and depth > 0 else None
        return ("fn", ref.module, ref.at, closure_digest(ref.env, depth - 1, work), bound)
    if isinstance(ref, Method):
        return ("m", ref.kind, ref.name, ref.receiver.digest(depth - 1, work) if depth > 0 else None)
    if isinstance(ref, Partial):
        if depth <= 0:
            return "partial"
        return ("p", ref.func.digest(depth - 1, work), tuple(a.digest(depth - 1, work) for a in ref.args))
    if isinstance(ref, Super):
        return ("super", ref.owner)
    return ref


def closure_digest(env: Any, depth: int, work: list[int]) -> Any:
    """What a function closes over: two functions of one definition are alike when their variables are."""
    if env is None:
        return None
    work[0] -= len(env.vars)
    if depth < 0 or work[0] <= 0:
        return env.serial
    outer = closure_digest(env.parent, depth, work) if env.parent is not None else None
    return (tuple([(name, value.digest(depth, work)) for name, value in list(env.vars.items())]), outer)


def label_kinds(labels: Labels) -> tuple[bool, bool]:
    """Whether there are foreign labels, and whether there are unknown ones."""
    if not labels:
        return (False, False)
    kinds = {root.kind for root in labels}
    return ("foreign" in kinds, "unknown" in kinds)


def kind_of(ref: Any) -> Any:
    if isinstance(ref, Obj):
        return (ref.kind, ref.cls)
    if isinstance(ref, Func):
        return ("fn", ref.module, ref.at, closure_digest(ref.env, 0, [30]))
    if isinstance(ref, Method):
        return ("m", ref.kind, ref.name)
    if isinstance(ref, Partial):
        return ("p", tuple(kind_of(r) for r in sorted_refs(ref.func)))
    if isinstance(ref, Super):
        return ("super", ref.owner)
    return ref


def is_foreign(value: Value) -> bool:
    """Whether a value holds bytes of somebody else anywhere."""
    return label_kinds(flat(value, handed=True))[0]


EMPTY: Final = Value()
JUST_DATA: Final = frozenset({DATA})
CLEAN: Final = Value(refs=JUST_DATA)


LITERALS: dict[tuple[type, Any], Value] = {}
MAX_LITERALS: Final = 10_000


def const(value: Any) -> Value:
    """The value of a literal."""
    key = (value.__class__, value)
    have = LITERALS.get(key)
    if have is None:
        refs = JUST_DATA if value is not None else None
        have = Value(NO_LABELS, refs, frozenset({(value.__class__.__name__, value)}), exact=True)
        if len(LITERALS) < MAX_LITERALS:
            LITERALS[key] = have
    return have


def of(*refs: Any) -> Value:
    """A value that refers to these."""
    return Value(NO_LABELS, frozenset(refs))


def labelled(labels: Labels, *refs: Any) -> Value:
    """A value with these labels."""
    return Value(labels, frozenset(refs))


def join_labels(parts: Iterable[Labels]) -> Labels:
    """The union; the first way by which a label came is kept, and foreign ones before unknown ones."""
    out: dict[Root, Label] = {}
    for labels in parts:
        for root, label in labels.items():
            have = out.get(root)
            if have is None or label.depth < have.depth:
                out[root] = label
    if len(out) <= MAX_LABELS:
        return out or NO_LABELS
    kept = sorted(out.values(), key=lambda x: (x.root.kind != "foreign", x.depth, x.root))[:MAX_LABELS]
    return {label.root: label for label in kept}


def join(*values: Value) -> Value:
    """What is known when it may be any of these."""
    if len(values) == 1:
        return values[0]
    first = EMPTY
    others: list[Value] = []
    for value in values:
        if value is not EMPTY and value is not first:
            if first is EMPTY:
                first = value
            else:
                others.append(value)
    if not others:
        return first
    labels, refs, consts, exact = first.labels, first.refs, first.consts, first.exact
    marked = False
    for value in others:
        marked = marked or value.labels is not labels
        if value.refs is not refs:
            refs = refs | value.refs
        if value.consts is not consts:
            consts = consts | value.consts
        exact = exact and value.exact
    if marked:
        labels = join_labels([v.labels for v in (first, *others) if v.labels])
    if len(refs) > MAX_REFS:
        refs = frozenset(sorted(refs, key=order)[:MAX_REFS])
    if len(consts) > MAX_CONSTS:
        consts, exact = NO_CONSTS, False
    return Value(labels, refs, consts, exact=exact)


def order(ref: Any) -> tuple[str, str, int, int, int]:
    """A stable order of referents, so that a cut does not depend on hashing: no two that differ may be equal here."""
    kind = type(ref).__name__
    if isinstance(ref, Obj):
        return (kind, ref.kind, ref.serial, 0, 0)
    if isinstance(ref, Func):
        return (kind, ref.module, ref.at, ref.env.serial if ref.env is not None else 0, first_serial(ref.self_value))
    if isinstance(ref, Method):
        return (kind, f"{ref.kind} {ref.name}", first_serial(ref.receiver), 0, 0)
    if isinstance(ref, Partial | Wrapped):
        what, name, one, two, three = min(map(order, ref.func.refs), default=("", "", 0, 0, 0))
        return (kind, f"{what} {name}{given_to(ref) if isinstance(ref, Partial) else ''}", one, two, three)
    if isinstance(ref, Super):
        return (kind, f"{ref.owner}", first_serial(ref.self_value), 0, 0)
    return (kind, " ".join(str(part) for part in ref), 0, 0, 0)


def given_to(partial: Partial) -> str:
    """What tells partials of one function apart: the constants and the things that they are given."""
    named = (*(("", value) for value in partial.args), *partial.keywords)
    return "".join(f" {name}={sorted(map(repr, value.consts))}{first_serial(value)}" for name, value in named)


def first_serial(value: Value | None) -> int:
    """The serial number of the first thing that a value refers to."""
    return min((ref.serial for ref in value.refs if ref.__class__ is Obj), default=0) if value is not None else 0


def with_labels(value: Value, labels: Labels) -> Value:
    """The same value with more labels."""
    if not labels:
        return value
    return Value(join_labels((value.labels, labels)), value.refs, value.consts, exact=value.exact)


def without_labels(value: Value) -> Value:
    """The same value without any."""
    if not value.labels:
        return value
    return Value(NO_LABELS, value.refs, value.consts, exact=value.exact)


def sorted_refs(value: Value) -> Sequence[Any]:
    """The referents in a stable order."""
    if len(value.refs) <= 1:
        return tuple(value.refs)
    try:
        return value.in_order  # most values are never asked
    except AttributeError:
        value.in_order = found = sorted(value.refs, key=order)
        return found


def serial_of(obj: Obj) -> int:
    return obj.serial


PLAIN_KINDS: Final = frozenset({"dict", "list", "tuple", "set"})


def flat(value: Value, *, handed: bool = False) -> Labels:
    """Every label that the value shows when it is written out, containers and instances included; what is
    only handed on as an argument (`handed`) shows no more of an instance than its text would.
    """
    labels = value.labels
    stack = [ref for ref in value.refs if ref.__class__ is Obj]
    if not stack:
        return labels
    parts: list[Labels] = [labels] if labels else []
    known = {id(labels)}
    seen: set[Obj] = set(stack)
    stack.sort(key=serial_of)
    deepest, left = (3, 150) if handed else (8, 600)  # the parts of a heap that grows into itself have no end
    looked = 0
    while stack and deepest > 0 and left > 0:
        below: list[Obj] = []
        for obj in stack:
            if obj.kind == "tool" or (handed and obj.opaque):  # a tool is not text
                continue
            left -= len(obj.fields) + 2
            for child in (*obj.fields.values(), obj.elem, obj.keys):
                refs, more = child.refs, child.labels
                looked += 1 + len(refs)
                if more and id(more) not in known:
                    known.add(id(more))
                    parts.append(more)
                if not refs or refs is JUST_DATA:
                    continue
                inner = [ref for ref in refs if ref.__class__ is Obj and ref not in seen]
                seen.update(inner)
                for ref in inner if len(inner) < 2 else sorted(inner, key=serial_of):
                    # Containers in containers are one value, however deep: only things are levels.
                    (stack if ref.kind in PLAIN_KINDS and obj.kind in PLAIN_KINDS else below).append(ref)
            if obj.base is not None and obj.base not in seen:
                seen.add(obj.base)
                below.append(obj.base)
            if left <= 0:
                break
        stack = below if len(below) < 2 else sorted(below, key=serial_of)  # where it ends must not depend on hashing
        deepest -= 1
    Obj.looked += looked
    if not parts:
        return NO_LABELS
    return parts[0] if len(parts) == 1 else join_labels(parts)
