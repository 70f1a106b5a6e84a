"""The state of one analysis: the project, the catalogue, what has been seen; the stages work on it and on
nothing else."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, final

from tools_check._catalog import Catalog
from tools_check._elsewhere import Elsewhere
from tools_check._ir import Def, Node
from tools_check._link import Module, Project
from tools_check._memo import Effects, Kept, add_effect
from tools_check._values import (
    EMPTY,
    NO_LABELS,
    Cls,
    Func,
    Label,
    Labels,
    Obj,
    Root,
    Step,
    Value,
    flat,
    join,
    kind_of,
    labelled,
)

MAX_DEPTH: Final = 28
KEPT_CALLS: Final = 3_000
KEPT_BODIES: Final = 1_000
# What gives text that is fenced, or that stands in a prompt with its origin.
FENCING: Final = frozenset(
    {"fence_untrusted", "stranger", "registry.run_registry_tool", "registry.run_registry_tool_sync",
     "registry.call_tool", "registry.call_tool_sync"}
)  # fmt: skip
STEPS_PER_ENTRY: Final = 100_000
# Past this much work on one entry, calls are told apart by the kinds of their labels alone, and one foreign answer ends
# the search.
STEPS_FINE: Final = 6_000
# Work that entries share (what an instance of a type holds, what else writes a field): half as much within itself.
STEPS_ASIDE: Final = 6_000
CELLS_PER_STEP: Final = 64


@final
class Env:
    """Variables of one activation of a function; `parent` is what it closes over."""

    __slots__ = ("parent", "serial", "vars")
    counter = 0

    def __init__(self, parent: Env | None) -> None:
        Env.counter += 1
        self.serial = Env.counter
        self.vars: dict[str, Value] = {}
        self.parent = parent


@final
class Frame:
    """One activation: a function, a class body or a module."""

    __slots__ = (
        "called", "caught", "definition", "effects", "env", "events", "globals", "impure", "module", "nonlocals", "ordinal",
        "owner", "path",
        "recursed", "returns", "self_value", "start", "token", "yields",
    )  # fmt: skip

    def __init__(self, module: Module, definition: Def | None, env: Env | None) -> None:
        self.module = module
        self.definition = definition
        self.env = env  # None: the variables are the module's
        self.returns: Value = EMPTY
        self.yields: Value = EMPTY
        self.path: tuple[int, ...] = ()
        self.token = 0
        self.events: dict[Any, Value] = {}  # what an exception of a kind may carry
        self.caught: list[Value] = []
        self.called: set[str] = set()  # the tools that were called from here by name; "" is a name that was computed
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.impure = False  # it did something that cannot be told again
        self.effects: Effects = {}  # what it wrote to things that were there before
        self.recursed = False
        self.start = Obj.counter
        self.owner: Cls | None = None
        self.ordinal = definition.ordinal if definition else 0
        self.self_value: Value | None = None

    @property
    def vars(self) -> dict[str, Value]:
        return self.module.env if self.env is None else self.env.vars

    @vars.setter  # noqa: A003
    def vars(self, value: dict[str, Value]) -> None:
        if self.env is None:
            self.module.env = value
        else:
            self.env.vars = value


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something that a rule wants to know, seen while code was followed."""

    rule: str
    path: str
    site: int
    text: str
    labels: Labels
    strength: str = "error"
    inside: str = ""  # the qualified name of the function that it stands in


@final
@dataclass(slots=True, kw_only=True)
class ToolSeen:
    """A tool as its definition was followed: `fields` are the arguments by name."""

    style: str
    path: str
    module: str
    site: int
    fields: dict[str, Value]
    definition: Func | None = None  # the function that a reader knows as the tool, under its decorators
    opaque: bool = False  # `**something` that could not be followed
    dispatcher: bool = False
    entry: bool = False  # seen only while its factory was followed with unknown arguments


@final
class Run:
    """Everything that one analysis knows."""

    def __init__(self, project: Project, catalog: Catalog) -> None:
        self.project = project
        self.catalog = catalog
        self.stack: list[Frame] = []
        self.memo: dict[Any, Kept] = {}
        self.bodies: dict[Def, tuple[Node, ...]] = {}
        self.active: dict[Any, list[Value]] = {}
        self.steps = 0
        self.limit = STEPS_PER_ENTRY
        self.exhausted: bool = False
        self.too_deep: set[str] = set()  # files with code that goes deeper than can be followed
        self.cut: set[str] = set()  # files with a statement at top level that took more than its budget
        self.ended = False  # the answer that was looked for is known
        self.asides = 0
        self.method_owners: tuple[int, dict[str, list[Cls]]] = (-1, {})
        self.kept: Value = EMPTY  # the state that a server's lifespan yields
        self.waiting: tuple[str, int] = ("", -1)  # the call that is awaited
        self.seeking = False  # whether the verdict is all that is asked
        self.version = 0  # grows with every change of shared state
        self.round = 0  # within a round what is known of a call stays; the next one sees what this one changed
        self.instances: dict[Cls, Value] = {}
        self.class_env: dict[Cls, dict[str, Value]] = {}
        self.class_extra: dict[Cls, dict[str, Value]] = {}
        self.bases: dict[Cls, list[Any]] = {}
        self.mros: dict[Cls, tuple[list[Cls], list[str]]] = {}
        self.shows: dict[Cls, bool] = {}
        self.fields: dict[Cls, list[Any]] = {}
        self.set_on: dict[tuple[str, int], dict[str, Value]] = {}  # attributes that functions were given
        self.making: list[Cls] = []  # the classes that a metaclass makes just now
        self.thrown: list[Value] = []  # the errors that reach a `yield`, of context managers that are left just now
        self.hooks: dict[
            Cls, tuple[Func | None, Func | None] | None
        ] = {}  # what the project says of how instances of a class are made
        self.follows = False  # whether a client of the program follows redirects
        self.handing: list[Cls] = []  # the handlers that a library calls just now
        self.sent: list[Value] = []  # what generators are sent that go on just now
        self.redirected: list[Value] = []  # the buffers that take what is printed
        self.record_names: dict[Cls, list[str]] = {}  # the fields of classes below a `namedtuple(...)`
        self.log_sinks: list[Obj] = []  # the buffers and handlers that take what is logged
        self.type_args: dict[Cls, Value] = {}  # of `Page[Issue]`, what stands in the brackets, over all uses
        self.children: dict[Cls, list[Cls]] = {}
        self.closures: dict[tuple[str, int], Any] = {}
        self.written: set[Any] = set()
        self.noted: dict[tuple[str, str, int], Noted] = {}
        self.tools: dict[Any, ToolSeen] = {}
        self.entry = False
        self.visited: set[tuple[str, int]] = set()
        self.called: set[tuple[str, int]] = set()  # of those, the ones that are called with arguments
        self.fenced: set[Root] = set()  # what was fenced on its way, and may stand in a prompt
        self.elsewhere: Elsewhere | None = None  # set in a second look alone
        self.frameworks: Any = None
        self.searched: set[Cls] = set()
        self.originals: dict[Any, list[Func]] = {}
        self.handing_on: dict[str, set[int]] = {}
        self.described: dict[str, set[str]] = {}  # names that a model is told of, and the modules that tell it
        self.named: dict[str, Value] = {}  # functions that were asked for their names
        self.maps: dict[tuple[str, int], dict[Any, Value]] = {}  # dicts of functions by name
        self.callables: dict[tuple[Cls, str], Value] = {}  # the functions that instances of a class were made with
        self.state: dict[str, Value] = {}  # what was put into the state of an application or a context
        self.variants: dict[tuple[str, int], Value] = {}  # what `functools.singledispatch` chooses from
        self.dispatching: str | None = None
        self.rewriting: set[str] = set()  # modules that write files beside the code
        self.toolkit_classes: dict[Cls, Any] = {}
        self.base_classes: dict[Cls, Any] = {}

    # -- labels

    def source(self, frame: Frame, site: int, name: str, origin: str) -> Labels:
        """The label of bytes that come in here."""
        root = Root("foreign", name, frame.module.path, site)
        step = Step(frame.module.path, site, f"{name} brings in bytes of somebody else")
        return {root: Label(root, origin, step, tag=self.tag(root, origin))}

    def passed(self, frame: Frame, site: int, name: str, origin: str, labels: Labels) -> Labels:
        """The label of bytes that came in elsewhere and went through `name` here; the way that they took is kept."""
        root = Root("foreign", name, frame.module.path, site)
        step = Step(frame.module.path, site, f"passed through {name}()")
        before = min(labels.values(), key=lambda la: (la.depth, la.root), default=None)
        origin = before.origin if before else origin
        return {root: Label(root, origin, step, before, self.tag(root, origin))}

    def tag(self, root: Root, origin: str) -> tuple[str, str, str]:
        """What of a label a function may ask for: a model's client and a fence are known by name."""
        named = root.name in FENCING or self.catalog.reads_prompts(root.name)
        return (root.kind, origin, root.name if named else "")

    def unknown(self, frame: Frame, site: int, name: str) -> Labels:
        """The label of a call that cannot be followed."""
        root = Root("unknown", name, frame.module.path, site)
        return {root: Label(root, "", Step(frame.module.path, site, f"what {name} returns is not known"))}

    def event(self, frame: Frame, labels: Labels, kind: Any = None) -> None:
        """Remember what an exception raised from here may quote."""
        if labels:
            have = frame.events.get(kind)
            new = labelled(labels)
            frame.events[kind] = new if have is None else join(have, new)

    def note(
        self,
        rule: str,
        frame: Frame,
        site: int,
        text: str,
        labels: Labels = NO_LABELS,
        strength: str = "error",
    ) -> None:
        key = (rule, frame.module.path, site)
        have = self.noted.get(key)
        if have is None and self.elsewhere is not None:
            self.elsewhere.spoken.append(key)
        if have is None or (labels and not have.labels):
            inside = frame.definition.qualname if frame.definition is not None else ""
            self.noted[key] = Noted(
                rule=rule, path=frame.module.path, site=site, text=text, labels=labels, strength=strength, inside=inside
            )

    def keep(self, key: Any, kept: Kept) -> None:
        """Keep a call for the next one of its kind."""
        forget_older(self.memo, KEPT_CALLS)
        self.memo[key] = kept

    def body(self, definition: Def) -> tuple[Node, ...]:
        """The statements of a function that is followed, kept for the next time."""
        have = self.bodies.get(definition)
        if have is None:
            forget_older(self.bodies, KEPT_BODIES)
            have = self.bodies[definition] = definition.body
        return have

    # -- heap

    def new(self, frame: Frame, kind: str, cls: Any = None) -> Obj:
        obj = Obj(kind, cls, frame.env if frame.env is not None else frame.module, frame.path)
        if frame.env is None:
            obj.shared = True
        return obj

    def write(self, frame: Frame, obj: Obj, key: Any, value: Value) -> None:
        """Store in a heap cell: replaces when nothing can have happened since the cell was made, else joins."""
        here = frame.env if frame.env is not None else frame.module
        Obj.mutations += 1
        if obj.base is not None and obj.kind == "dict":  # `vars(thing)`
            self.merge(obj.base, key, value)
        if key is not None and obj.activation is here and obj.path == frame.path and not obj.shared:
            obj.fields[key] = value
            if obj.kind == "dict":
                obj.settle(key)
            return
        self.merge(obj, key, value)

    def remove(self, frame: Frame, obj: Obj, key: Any) -> None:
        """Take out of a heap cell, where nothing can have happened since it was made."""
        here = frame.env if frame.env is not None else frame.module
        if obj.kind == "dict" and obj.activation is here and obj.path == frame.path and not obj.shared:
            Obj.mutations += 1
            obj.fields.pop(key, None)
            obj.unsettle(key)

    def merge(self, obj: Obj, key: Any, value: Value) -> None:
        """Add to what a heap cell may hold."""
        if key is None:
            old = obj.elem
            merged = join(old, value)
            changed = differs(old, merged)
            obj.elem = merged
            if obj.over and value is not EMPTY:
                obj.unsettle()
        else:
            old = obj.fields.get(key, EMPTY)
            merged = join(old, value)
            changed = key not in obj.fields or differs(old, merged)
            if obj.kind == "dict" and key not in obj.fields:
                obj.unsettle(key)
            obj.fields[key] = merged
            if len(obj.fields) > 64 and obj.kind != "inst":
                self.collapse(obj)
        if obj.shared:
            self.version += changed and says_more(old, merged)
            return
        for frame in reversed(self.stack):
            if obj.serial > frame.start:
                break
            add_effect(frame.effects, obj, key, value, news=changed)

    def set_on_function(self, place: tuple[str, int], name: str, value: Value) -> None:
        """`function.name = value`."""
        have = self.set_on.setdefault(place, {})
        old = have.get(name, EMPTY)
        have[name] = join(old, value)
        self.version += differs(old, have[name])
        for frame in self.stack:
            frame.impure = True

    @contextmanager
    def throwing(self, error: Value) -> Generator[None]:
        """While a context manager is left by an error."""
        self.thrown.append(error)
        try:
            yield
        finally:
            self.thrown.pop()

    @contextmanager
    def sending(self, value: Value) -> Generator[None]:
        """While a generator goes on with what it was sent."""
        self.sent.append(value)
        try:
            yield
        finally:
            self.sent.pop()

    @contextmanager
    def printing_into(self, buffers: list[Value]) -> Generator[None]:
        """While what is printed goes into buffers."""
        self.redirected += buffers
        try:
            yield
        finally:
            del self.redirected[len(self.redirected) - len(buffers) :]

    def around(self) -> Any:
        """What, besides its arguments, a call depends on."""
        if not self.thrown and not self.redirected and not self.sent:
            return None
        return tuple([tuple([v.digest() for v in values]) for values in (self.thrown, self.redirected, self.sent)])

    def impure(self, obj: Obj) -> None:
        for frame in reversed(self.stack):
            if obj.serial > frame.start:
                break
            frame.impure = True

    def impure_inside(self, env: Env) -> None:
        """A variable of a function was written by one that is called from it: all between them did that."""
        for frame in reversed(self.stack):
            if frame.env is env:
                break
            frame.impure = True

    def collapse(self, obj: Obj) -> None:
        obj.elem = obj.everything()
        obj.fields.clear()
        obj.over = None

    def owners_of(self, name: str) -> list[Cls]:
        """The classes read so far that define a method of a name."""
        if self.method_owners[0] != len(self.class_env):
            table: dict[str, list[Cls]] = {}
            for cls in sorted(self.class_env):
                module = self.project.module(cls.module)
                for index in module.methods(cls.at) if module is not None else ():
                    assert module is not None
                    table.setdefault(module.ir.defs[index].name, []).append(cls)
            self.method_owners = (len(self.class_env), table)
        return self.method_owners[1].get(name, [])

    # -- budget

    def is_spent(self) -> bool:
        """Whether the budget of this entry is spent."""
        return self.exhausted

    def share(self) -> int:
        """What one call may spend of what is left, so that a large callee leaves something for the next one."""
        return min(self.limit - self.steps, max(1_200, (self.limit - self.steps) * 3 // 4))

    def coarse(self) -> bool:
        """Whether so much work went into this entry that details no longer count."""
        return self.steps > STEPS_FINE

    @contextmanager
    def aside(self) -> Generator[None]:
        """Work that many entries share has a budget of its own: the first one that needs it does not pay for all."""
        saved = (self.steps, self.limit, self.exhausted)
        self.steps, self.limit, self.exhausted = 0, max(800, STEPS_ASIDE >> self.asides), False
        self.asides += 1
        try:
            yield
        finally:
            self.asides -= 1
            self.steps, self.limit, self.exhausted = saved

    def spend(self) -> bool:
        """Count one unit of work; False when the budget of this entry is spent. Looking through a large heap is work too:
        code that copies a tree into itself again and again would take hours within its budget of steps.
        """
        if self.ended or self.steps >= self.limit:
            self.exhausted = True
            return False
        self.steps += 1
        if Obj.looked >= CELLS_PER_STEP:
            self.steps += Obj.looked // CELLS_PER_STEP
            Obj.looked = 0
        return True


def forget_older(table: dict[Any, Any], most: int) -> None:
    """Forget the older half of a table that is full."""
    if len(table) >= most:
        for old in list(islice(table, most // 2)):
            del table[old]


def differs(old: Value, new: Value) -> bool:
    """Whether a join brought something new."""
    return len(old.labels) != len(new.labels) or old.refs != new.refs or (old.exact and not new.exact)


def says_more(old: Value, new: Value) -> bool:
    """Whether what everybody sees has changed: another cell of the same kind with no other bytes in it is no news."""
    if len(old.labels) != len(new.labels) or (old.exact and not new.exact):
        return True
    if old.refs == new.refs:
        return False
    return {kind_of(r) for r in old.refs} != {kind_of(r) for r in new.refs} or flat(old).keys() != flat(new).keys()


def definition_of(run: Run, func: Func) -> Def | None:
    module = run.project.module(func.module)
    return module.ir.defs[func.at] if module else None


__all__ = ["MAX_DEPTH", "Env", "Frame", "Node", "Noted", "Run", "ToolSeen", "definition_of", "differs", "says_more"]
