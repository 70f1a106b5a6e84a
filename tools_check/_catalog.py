"""What is known of code outside the files given: a view of `sources.toml`, extended by the configuration.

Names are matched as they are defined, never as they are spelled at the call.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Final, Literal, final, get_args

from tools_check._config import ConfigError, hold_to_shape

Kind = Literal["source", "own", "pass", "new", "unknown"]


# What a client is called where a thing keeps one.
KEPT_CLIENTS: Final = frozenset({"client", "async_client", "aclient", "sdk", "api_wrapper"})

# What a deployment hands to its tools: clients of databases and services as often as settings.
DEPENDENCY: Final = "pydantic_ai.RunContext.deps."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a call of a name gives: bytes of somebody else, ours, or what was put in."""

    kind: Kind
    qname: str
    origin: str = ""
    returns: str | None = None
    listed: bool = False


@final
@dataclass(slots=True, kw_only=True)
class Library:
    """One table of the catalogue."""

    name: str
    origin: str = ""
    default: Kind = "unknown"
    silent: bool = False
    immutable: bool = False
    methods: Kind | None = None
    classes: frozenset[str] = frozenset()
    prompts: bool = False


@final
@dataclass(slots=True, kw_only=True)
class Catalog:
    """All tables together."""

    libraries: dict[str, Library] = field(default_factory=dict[str, Library])
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    returns: dict[str, str] = field(default_factory=dict[str, str])
    bases: dict[str, str] = field(default_factory=dict[str, str])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    clean: set[str] = field(default_factory=set[str])
    with_clean: frozenset[str] | None = None  # the classes that have entries there
    foreign_types: dict[str, str] = field(default_factory=dict[str, str])
    parts: dict[str, str] = field(default_factory=dict[str, str])  # attributes that hold a thing of the program's own
    part_names: set[str] = field(default_factory=set[str])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    quiet_errors: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()
    clients: tuple[str, ...] = ()  # how classes end that talk to somebody, where nothing is known of their library
    fetching: frozenset[str] = frozenset()  # how functions begin that bring something in, likewise
    connecting: frozenset[str] = frozenset()  # how functions begin that give a client
    effects: dict[str, str] = field(default_factory=dict[str, str])
    opened: set[str] = field(default_factory=set[str])
    quiet: set[str] = field(default_factory=set[str])  # sources whose errors quote nothing but our own argument
    environment: bool = False  # whether the owner's environment and configuration count as foreign
    moved: dict[tuple[str, str], Entry | None] = field(default_factory=dict[tuple[str, str], "Entry | None"])
    forced: set[str] = field(default_factory=set[str])  # what the user's own tables say, over everything else

    def resolve(self, qname: str) -> str:
        """The name under which the catalogue knows it: re-exports and moved classes have one entry."""
        for _ in range(4):
            if qname in self.aliases:
                qname = self.aliases[qname]
                continue
            head, dot, tail = qname.rpartition(".")
            if dot and head in self.aliases:
                qname = f"{self.aliases[head]}.{tail}"
                continue
            return qname
        return qname

    def library(self, qname: str) -> Library | None:
        """The table that a name falls under: the longest prefix."""
        prefix = qname
        while prefix:
            found = self.libraries.get(prefix)
            if found is not None:
                return found
            prefix = prefix.rpartition(".")[0]
        return None

    def is_silent(self, qname: str) -> bool:
        """Whether errors of a library quote nothing of what it was given."""
        library = self.library(qname)
        return library is not None and library.silent

    def is_waited_for(self, entry: Entry) -> bool:
        """Whether a method that only computes, as far as is known, has somebody behind it when it is awaited: an abstract
        class of a framework is implemented by what talks to a model, a process or a service.
        """
        if entry.kind not in ("pass", "unknown") or entry.listed:
            return False
        if entry.qname.startswith(DEPENDENCY):
            return True
        parts = entry.qname.split(".")
        if parts[0] in sys.stdlib_module_names:
            return False
        return self.waits.isdisjoint(".".join(parts[:n]) for n in range(1, len(parts)))

    def is_immutable(self, qname: str) -> bool:
        """Whether things of a library never change."""
        library = self.library(qname)
        return library is not None and library.immutable

    def call(self, qname: str) -> Entry:
        """What a call of a function, a class or a method gives."""
        qname = self.resolve(qname)
        owner, _, method = qname.rpartition(".")
        found = self.entries.get(qname)
        if found is not None:
            if found.returns is None and owner in self.bases:
                returns = next((r for b in self.ancestors(owner) if (r := self.returns.get(f"{b}.{method}"))), None)
                return replace(found, returns=returns)
            return found
        is_method = owner.rpartition(".")[2][:1].isupper() or owner in self.bases or owner in self.foreign_types
        for base in self.ancestors(owner):
            found = self.entries.get(f"{base}.{method}")
            if found is not None:
                return found
        moved = self.moved.get((qname.partition(".")[0], ".".join(qname.split(".")[-2:]))) if is_method else None
        if moved is not None:
            return moved
        library = self.library(qname)
        if library is None:
            return self.guessed(qname, method, is_method=is_method)
        if method[:1].isupper() or qname in library.classes or qname in self.foreign_types:
            return Entry(kind="new", qname=qname, origin=library.origin)
        kind = library.methods if is_method and library.methods else library.default
        fetched = self.fetches(method) and (self.is_of_client(qname) or qname.startswith(DEPENDENCY))
        if kind == "pass" and (is_clients_member(qname) or fetched):
            kind = "source"  # a library that only computes wraps a database or a service all the same
        return Entry(kind=kind, qname=qname, origin=library.origin, returns=self.returns.get(qname))

    def guessed(self, qname: str, method: str, *, is_method: bool) -> Entry:
        """What a library without a table gives: a class that is called a client talks to somebody, and so does `fetch`."""
        if method[:1].isupper():
            return Entry(kind="new", qname=qname)
        if not is_method and method.lstrip("_").partition("_")[0] in self.connecting:
            return Entry(kind="new", qname=qname, returns=f"{qname}.Connection")
        named = self.is_of_client(qname) or is_clients_member(qname) or is_of_client_library(qname)
        if named or is_of_main_class(qname) or self.fetches(method):
            return Entry(kind="source", qname=qname, origin=qname.partition(".")[0])
        return Entry(kind="unknown", qname=qname)

    def fetches(self, name: str) -> bool:
        """Whether a name begins with what functions do that bring something in."""
        return name.lstrip("_").partition("_")[0] in self.fetching

    def is_of_client(self, qname: str) -> bool:
        """Whether a member is one of a class that is called a client, or of a part of such a one (`Client.users.list`)."""
        owners = (part for part in qname.split(".")[:-1] if part[:1].isupper())
        return any(VARIANT.sub("", owner).endswith(self.clients) for owner in owners)

    def held_by_client(self, cls: str) -> str | None:
        """The origin of what a client's attribute gives that is no method: a database's schema, an account's profile."""
        library = self.library(cls)
        if library is not None:
            return library.origin if library.default == "source" and library.methods in (None, "source") else None
        return cls.partition(".")[0] if cls.endswith(self.clients) else None

    def reads_prompts(self, qname: str) -> bool:
        """Whether what is given to a call of this name is read by a model."""
        library = self.library(self.resolve(qname))
        return library is not None and library.prompts

    def index(self) -> None:
        """Classes move between the modules of their library from one version to the next: a method is known by its
        class and its library too, where that is one entry.
        """
        self.moved = {}
        for qname, entry in self.entries.items():
            parts = qname.split(".")
            if len(parts) > 2 and parts[-2][:1].isupper():
                key = (parts[0], ".".join(parts[-2:]))
                have = self.moved.get(key, entry)
                same = have is not None and (have.kind, have.returns) == (entry.kind, entry.returns)
                self.moved[key] = have if same else None

    def any_source(self, prefix: str) -> str | None:
        """Some source below a name: what an unknown member of it may be."""
        return next(
            (q for q, e in sorted(self.entries.items()) if e.kind == "source" and q.startswith(prefix + ".")),
            None,
        )

    def ancestors(self, cls: str) -> list[str]:
        """The base classes of a class outside, as far as the catalogue names them."""
        out: list[str] = []
        while cls in self.bases and len(out) < 8:
            cls = self.bases[cls]
            out.append(cls)
        return out

    def is_clean(self, cls: str, attribute: str) -> bool:
        """Whether an attribute of an instance cannot carry words of somebody else (a status number)."""
        return any(f"{c}.{attribute}" in self.clean for c in (cls, *self.ancestors(cls)))

    def knows_fields(self, cls: str) -> bool:
        """Whether some attribute of an error is known to be a number."""
        if self.with_clean is None:
            self.with_clean = frozenset(name.rpartition(".")[0] for name in (*self.clean, *self.parts))
        return any(c in self.with_clean for c in (cls, *self.ancestors(cls)))

    def part(self, cls: str, attribute: str) -> str | None:
        """The class of what an attribute holds that is the program's own (a response's request), or None."""
        return next((p for c in (cls, *self.ancestors(cls)) if (p := self.parts.get(f"{c}.{attribute}"))), None)

    def attribute(self, cls: str, attribute: str) -> str | None:
        """The origin of an attribute that is read from outside (a page's source), or None."""
        for c in (cls, *self.ancestors(cls)):
            origin = self.attributes.get(f"{c}.{attribute}")
            if origin is not None:
                return origin
        return None

    def foreign_type(self, cls: str) -> str | None:
        """The origin of a class whose instances hold bytes of somebody else, or None."""
        for c in (cls, *self.ancestors(cls)):
            if c in self.foreign_types:
                return self.foreign_types[c]
        return None


SECTIONS: Final[dict[str, type]] = {
    **dict.fromkeys(("sources", "own", "pass", "clean", "types", "attributes", "effects", "classes", "quiet"), list),
    **dict.fromkeys(("returns", "bases", "aliases", "parts"), dict),
    **dict.fromkeys(("origin", "default", "methods"), str),
    "opened": list,
    "prompts": bool,
}


def is_clients_member(qname: str) -> bool:
    """Whether a member is one of what an instance keeps under the name of a client (`BaseTool.client.get`)."""
    parts = qname.split(".")
    first = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return any(part.lstrip("_") in KEPT_CLIENTS for part in parts[first + 1 : -1])


def is_of_client_library(qname: str) -> bool:
    """Whether a method is one of a library, or of a module of one, that is called a client (`strange_client.Strange.get`)."""
    parts = qname.split(".")
    first = next((i for i, part in enumerate(parts[:-1]) if part[:1].isupper()), 0)
    return any(CLIENT_LIBRARY.search(part) for part in parts[:first])


def is_of_main_class(qname: str) -> bool:
    """Whether a method is one of the class that is called as its library is (`strangeapp.StrangeApp.people.list`)."""
    parts = qname.split(".")
    first = next((i for i, part in enumerate(parts[:-1]) if part[:1].isupper()), 0)
    return first > 0 and parts[first].lower() == parts[0].replace("_", "").lower()


# What stands after the name of a class that has a twin or an older sister.
VARIANT: Final = re.compile(r"(?:Sync|Async|V?\d+)+$")
# How a library is called that talks to a service, perhaps with the name of the language after it: `strange_sdk_py`.
CLIENT_LIBRARY: Final = re.compile(r"(?:^|_)(?:client|api|sdk)(?:_(?:py|python)?\d*)?$")


def load(*extras: Mapping[str, Any] | None) -> Catalog:
    """The catalogue that ships with the checker, with tables of the user's own after it.

    Raises:
        ConfigError: when a table holds a key that is not known.
    """
    text = resources.files("tools_check").joinpath("sources.toml").read_text(encoding="utf-8")
    catalog = Catalog()
    raw = tomllib.loads(text)
    catalog.quiet_errors = frozenset(raw.pop("quiet_errors"))
    catalog.transparent = frozenset(raw.pop("transparent"))
    silent, immutable = raw.pop("silent"), raw.pop("immutable")
    catalog.waits = frozenset(raw.pop("waits"))
    catalog.clients, catalog.fetching = tuple(raw.pop("clients")), frozenset(raw.pop("fetching"))
    catalog.connecting = frozenset(raw.pop("connecting"))
    defaults = raw.pop("defaults")
    for kind in ("pass", "own"):
        for name in defaults[kind]:
            add(catalog, name, {"default": kind})
    for origin, names in defaults["source"].items():
        for name in names:
            add(catalog, name, {"default": "source", "origin": origin})
    for name, table in raw.items():
        add(catalog, name, table)
    for name in silent:
        catalog.libraries[name].silent = True
    for name in immutable:
        catalog.libraries[name].immutable = True
    for extra in extras:
        for name, table in (extra or {}).items():
            before = set(catalog.entries)
            add(catalog, name, table)
            catalog.forced |= set(catalog.entries) - before
            catalog.forced |= {
                full_name(name, short) for kind in ("sources", "own", "pass") for short in table.get(kind, ())
            }
    catalog.index()
    return catalog


def full_name(name: str, short: str) -> str:
    """A name of a table in full."""
    if short.startswith("="):
        return short[1:]
    return f"{name}.{short}"


def add(catalog: Catalog, name: str, table: Mapping[str, Any]) -> None:
    """Enter one table."""
    hold_to_shape(f"sources table {name!r}", table, SECTIONS)
    for key in ("default", "methods"):
        if table.get(key, "unknown") not in get_args(Kind):
            raise ConfigError(
                f"sources table {name!r}: {key} is {table[key]!r}; write one of {', '.join(get_args(Kind))}"
            )
    origin = str(table.get("origin", name))

    def full(short: str) -> str:
        return full_name(name, short)

    classes = frozenset(full(c) for c in table.get("classes", ()))
    above = catalog.library(name)
    have = catalog.libraries.get(name, Library(name=name, origin=origin, default=above.default if above else "unknown"))
    catalog.libraries[name] = Library(
        name=name,
        origin=have.origin,
        default=table.get("default", have.default),
        methods=table.get("methods", have.methods),
        classes=have.classes | classes,
        prompts=bool(table.get("prompts", have.prompts)),
    )
    for short, target in table.get("returns", {}).items():
        catalog.returns[full(short)] = full(target)
    for kind in ("source", "own", "pass"):
        for short in table.get("sources" if kind == "source" else kind, ()):
            qname = full(short)
            catalog.entries[qname] = Entry(
                kind=kind,
                qname=qname,
                origin=origin,
                returns=catalog.returns.get(qname),
                listed=True,
            )
    for short in table.get("returns", {}):
        qname = full(short)
        if qname not in catalog.entries:
            catalog.entries[qname] = Entry(kind="new", qname=qname, origin=origin, returns=catalog.returns[qname])
    for short, target in table.get("parts", {}).items():
        catalog.parts[full(short)] = full(target)
        catalog.part_names.add(short.rpartition(".")[2])
    for short, target in table.get("bases", {}).items():
        catalog.bases[full(short)] = full(target)
    for short, target in table.get("aliases", {}).items():
        catalog.aliases[full(short)] = full(target)
    catalog.opened.update(full(short) for short in table.get("opened", ()))
    catalog.quiet.update(full(short) for short in table.get("quiet", ()))
    catalog.clean.update(full(short) for short in table.get("clean", ()))
    for short in table.get("types", ()):
        catalog.foreign_types[full(short)] = origin
    for short in table.get("attributes", ()):
        catalog.attributes[full(short)] = origin
    for short in table.get("effects", ()):
        catalog.effects[full(short)] = origin
