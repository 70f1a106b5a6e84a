"""The table of modules: which file an import means, parsed when first needed; knows nothing of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, final

from tools_check._files import SourceFile
from tools_check._ir import Def, ModuleIR, Node, walk
from tools_check._values import Value

MUTATORS = frozenset(
    {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "push", "put",
     "put_nowait", "write", "set", "__setitem__"}
)  # fmt: skip


class Spoken(NamedTuple):
    """The names that a function's text holds, and the last names of what it calls or, inside another one,
    stands under.
    """

    mentioned: frozenset[str]
    called: frozenset[str]


@final
@dataclass(slots=True, kw_only=True)
class Module:
    """One module of the files given: its small form, and its variables once it has been run in the abstract."""

    file: SourceFile
    ir: ModuleIR
    env: dict[str, Value] = field(default_factory=dict[str, Value])
    state: str = "new"  # new, running, done
    stars: list[str] = field(default_factory=list[str])
    _writers: dict[str, list[int]] | None = None
    _class_writers: dict[int, dict[str, list[int]]] = field(default_factory=dict[int, dict[str, list[int]]])
    _by_owner: dict[int, list[int]] | None = None
    _spoken: tuple[Spoken, ...] | None = None

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def path(self) -> str:
        return self.file.shown

    def spoken(self) -> tuple[Spoken, ...]:
        """What each function names and calls."""
        if self._spoken is None:
            self._spoken = tuple(spoken_by(d) for d in self.ir.defs)
        return self._spoken

    def forget_spoken(self) -> None:
        """Give back the room of what is hardly asked for again once the tools are known."""
        self._spoken = None

    def methods(self, index: int) -> list[int]:
        """The functions written directly in a class."""
        if self._by_owner is None:
            table: dict[int, list[int]] = {}
            for i, d in enumerate(self.ir.defs):
                if d.owner >= 0:
                    table.setdefault(d.owner, []).append(i)
            self._by_owner = table
        return self._by_owner.get(index, [])

    def writers(self, name: str) -> list[int]:
        """The functions of this module that write to the module variable, or into what it holds."""
        if self._writers is None:
            table: dict[str, list[int]] = {}
            for i, d in enumerate(self.ir.defs):
                for written in written_names(d):
                    table.setdefault(written, []).append(i)
            self._writers = table
        return self._writers.get(name, [])

    def field_writers(self, index: int, name: str) -> list[int]:
        """The methods of a class, `__init__` aside, that write to a field of `self` or into what it holds."""
        table = self._class_writers.get(index)
        if table is None:
            table = dict[str, list[int]]()
            for i in self.methods(index):
                d = self.ir.defs[i]
                if d.name != "__init__" and d.params:
                    for written in written_fields(d):
                        table.setdefault(written, []).append(i)
            self._class_writers[index] = table
        return table.get(name, [])


def spoken_by(definition: Def) -> Spoken:
    """The names in a function's text; of the strings, those that could be a quoted annotation."""
    mentioned: set[str] = set()
    called: set[str] = set()
    if definition.parent >= 0:
        called.update(last_name(d[2] if d[0] == "x" else d) for d in definition.decorators)
    signature = (tuple(p.annotation for p in definition.params), definition.returns, definition.decorators)
    collect_names(signature, mentioned, set())
    collect_names(definition.body, mentioned, called)
    return Spoken(frozenset(mentioned), frozenset(called))


def collect_names(node: Node, mentioned: set[str], called: set[str]) -> None:
    """Collect below a node; a loop of its own, since every function of a project passes through it."""
    stack: list[Node] = [node]
    while stack:
        node = stack.pop()
        tag, size = (node[0], len(node)) if node else (None, 0)
        if size == 2 and tag == "n":
            if node[1] is not None:  # `import n` looks alike
                mentioned.add(node[1])
            continue
        if size == 2 and tag == "k":
            if node[1].__class__ is str and len(node[1]) < 80:
                mentioned.add(node[1].partition("[")[0])
            continue
        if size == 4 and tag == "a":
            mentioned.add(node[2])
        elif size == 4 and tag == "x":
            called.add(last_name(node[2]))
            called.update(f"{keyword}=" for _, keyword, _ in node[3] if keyword)
        stack.extend(part for part in node if part.__class__ is tuple)


def last_name(node: Node) -> str:
    return node[2] if node[0] == "a" else node[1] if node[0] == "n" else ""


def written_names(definition: Def) -> set[str]:
    """The free variables that a function may change: rebound by `global`, or mutated in place."""
    declared: set[str] = set()
    bound: set[str] = {p.name for p in definition.params}
    touched: set[str] = set()
    for node in walk(definition.body):
        tag = node[1] if isinstance(node[0], int) else node[0]
        if tag == "global" and isinstance(node[0], int):
            declared.update(node[2])
        elif tag in ("=", "aug", "ann", "for") and isinstance(node[0], int):
            targets = node[2] if tag == "=" else (node[2],)
            for target in targets:
                if target[0] == "n":
                    bound.add(target[1])
                else:
                    touched.update(roots_of(target))
        elif tag == "x" and len(node) == 4:
            func = node[2]
            if func[0] == "a" and func[2] in MUTATORS:
                touched.update(roots_of(func[1]))
    return declared | (touched - bound)


def written_fields(definition: Def) -> set[str]:
    """The fields of the first parameter that a method assigns or mutates."""
    me = definition.params[0].name
    out: set[str] = set()
    for node in walk(definition.body):
        if isinstance(node[0], int):
            if node[1] in ("=", "aug", "ann", "for"):
                targets = node[2] if node[1] == "=" else (node[2],)
                for target in targets:
                    collect_fields(target, me, out)
            elif node[1] == "with":
                for _, target in node[2]:
                    if target is not None:
                        collect_fields(target, me, out)
        elif node[0] == "x" and len(node) == 4:
            func = node[2]
            if func[0] == "a" and func[2] in MUTATORS:
                collect_fields(func[1], me, out)
    return out


def collect_fields(target: Node, me: str, out: set[str]) -> None:
    if target[0] in ("t", "l"):
        for item in target[1]:
            collect_fields(item, me, out)
        return
    while target[0] in ("a", "s", "*"):
        if target[0] == "a" and target[1] == ("n", me):
            out.add(target[2])
            return
        target = target[1]


def roots_of(target: Node) -> set[str]:
    """The names at the bottom of a target: `a.b[c]` is `a`."""
    if target[0] in ("t", "l"):
        return set[str]().union(*(roots_of(item) for item in target[1])) if target[1] else set()
    while target[0] in ("a", "s", "*", "x"):
        target = target[2] if target[0] == "x" else target[1]
    return {target[1]} if target[0] == "n" else set()


@final
class Project:
    """The files given, by module name."""

    def __init__(self, files: Iterable[SourceFile], load: Callable[[SourceFile], ModuleIR | None]) -> None:
        self._load = load
        self._files: dict[str, SourceFile] = {}
        self._modules: dict[str, Module | None] = {}
        self._packages: set[str] = set()
        self.users: dict[str, list[str]] = {}  # by module: the modules that import it
        listed = list(files)
        for rank in range(8):
            for source in listed:
                if rank < len(source.names):
                    self._files.setdefault(source.names[rank], source)
        for name in self._files:
            while "." in name:
                name = name.rpartition(".")[0]
                self._packages.add(name)

    def has(self, name: str) -> bool:
        """Whether a module or package of that name is among the files."""
        return name in self._files or name in self._packages

    def has_file(self, name: str) -> bool:
        return name in self._files

    def module(self, name: str) -> Module | None:
        """The module of that name, parsed on first use; None when it is not among the files or is no Python."""
        if name in self._modules:
            return self._modules[name]
        source = self._files.get(name)
        if source is None:
            return None
        if source.name != name:
            found = self.module(source.name)
        else:
            ir = self._load(source)
            found = Module(file=source, ir=ir) if ir is not None else None
        self._modules[name] = found
        return found

    def loaded(self) -> list[Module]:
        """The modules parsed so far, each once, by path."""
        unique = {id(m): m for m in self._modules.values() if m is not None}
        return sorted(unique.values(), key=lambda m: m.path)

    def absolute(self, module: Module, level: int, name: str) -> str:
        """The absolute name of a relative import."""
        if level == 0:
            return name
        parts = module.name.split(".")
        keep = len(parts) - level + (1 if module.file.is_package else 0)
        return ".".join([*parts[: max(0, keep)], *([name] if name else [])])


def lazy_table(module: Module, name: str) -> tuple[str, str] | None:
    """Where a module-level `__getattr__` finds a name: looked up in the literal tables of the module.

    Tables are written `{"Name": "pkg.module"}` or `{"Name": ("pkg.module", "Name")}`.
    """
    for statement in module.ir.body:
        value = statement[3] if statement[1] == "=" else statement[4] if statement[1] == "ann" else None
        if not value or value[0] != "d":
            continue
        for key, item in value[1]:
            if key == ("k", name):
                if item[0] == "k" and isinstance(item[1], str):
                    return split_target(item[1], name)
                if item[0] in ("t", "l") and item[1] and all(i[0] == "k" for i in item[1]):
                    parts = [i[1] for i in item[1] if isinstance(i[1], str)]
                    if parts:
                        return parts[0], parts[1] if len(parts) > 1 else name
    return None


def split_target(text: str, name: str) -> tuple[str, str]:
    """`pkg.module:Name` or `pkg.module`."""
    module, colon, attribute = text.partition(":")
    return module, attribute if colon else name
