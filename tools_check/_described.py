"""Tools by the schemas that describe them: the function, method or chain of comparisons that answers for a name which a
schema gives to a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools_check import _classes, _frameworks, _names, _offered, _spelled
from tools_check._ir import Node, walk
from tools_check._link import Module
from tools_check._run import Run, definition_of
from tools_check._values import (
    CLEAN,
    EMPTY,
    Cls,
    Func,
    Value,
    join,
    of,
)


def name_of(run: Run, func: Func) -> Value:
    """`f.__name__`, as one of the names that it may be."""
    written = definition_of(run, func)
    if written is None:
        return CLEAN
    have = run.named.get(written.name)
    run.named[written.name] = of(func) if have is None else join(have, of(func))
    return Value(refs=CLEAN.refs, consts=frozenset({("str", written.name)}))


def by_schema(run: Run, modules: list[Module]) -> None:
    """The functions that schemas describe: by a map, by their name, by a method's name, or by a chain of comparisons."""
    if not run.described:
        return
    served = {tool.module for tool in run.tools.values() if tool.dispatcher}
    described = {name: places - served for name, places in run.described.items() if places - served}
    found: set[str] = set()
    for fields in list(run.maps.values()):
        named = [k for k, v in fields.items() if isinstance(k, str) and any(_offered.functions_of(v))]
        hits = [k for k in named if k in described]
        if hits and 2 * len(hits) >= len(named):
            for key in hits:
                _offered.note_items(run, fields[key])
            found.update(hits)
    for name, places in sorted(described.items()):
        if name in found:
            continue
        for place in sorted(places):
            module = run.project.module(place)
            value = _names.global_name(run, module, name) if module is not None and name in module.env else None
            value = join(value or EMPTY, run.named.get(name, EMPTY))
            if any(_offered.functions_of(value)):
                _offered.note_items(run, Value(refs=frozenset(_offered.functions_of(value))))
                found.add(name)
    left = {n: p for n, p in described.items() if n not in found and n.isidentifier()}
    for module in modules:
        by_method(run, module, left)
        by_comparison(run, module, described)


def by_method(run: Run, module: Module, described: Mapping[str, set[str]]) -> None:
    """Methods that have the names of schemas, all with the same words before or after them."""
    by_function(run, module, described)
    for index in range(len(module.ir.classes)):
        cls = Cls(module.name, index)
        if cls not in run.class_env:
            continue
        own = run.class_env[cls]
        here = [n for n, places in described.items() if module.name in places]
        for before in _offered.BEFORE:
            for after in _offered.AFTER:
                hits = [n for n in described if f"{before}{n}{after}" in own]
                if len(hits) >= 2 or any(n in here for n in hits):
                    for name in sorted(hits):
                        _offered.note_method(run, cls, f"{before}{name}{after}")


def by_function(run: Run, module: Module, described: Mapping[str, set[str]]) -> None:
    """Functions of a module likewise; those that have the bare names are known already."""
    own = {d.name: i for i, d in enumerate(module.ir.defs) if d.owner < 0 and d.parent < 0}
    for before in _offered.BEFORE:
        for after in _offered.AFTER:
            hits = [n for n in described if (before or after) and f"{before}{n}{after}" in own]
            for name in sorted(hits) if len(hits) >= 2 else ():
                func = Func(module.name, own[f"{before}{name}{after}"], None, None, None)
                if (func.module, func.at) not in _spelled.listed(run):
                    _frameworks.record(run, _spelled.STYLE, of(func))


def by_comparison(run: Run, module: Module, described: Mapping[str, set[str]]) -> None:
    """A function that asks which of the described names it was given answers for all of them."""
    for index, written in enumerate(module.ir.defs):
        names = {p.name for p in written.params}
        if not names or not any(n in module.spoken()[index].mentioned for n in described):
            continue
        if not answers_for(compared(written.body, names), described):
            continue
        func = Func(module.name, index, run.closures.get((module.name, index)), None, None)
        if written.owner >= 0:
            cls = Cls(module.name, written.owner)
            method = _classes.find_method(run, cls, written.name) if cls in run.class_env else None
            if method is None:
                continue
            func = _classes.bind(method, _classes.typed_instance(run, cls))
        elif written.parent >= 0 and func.env is None:
            continue
        if (func.module, func.at) not in _spelled.listed(run):
            _frameworks.record(run, _spelled.STYLE, of(func), dispatcher=True)


def answers_for(asked: set[str], described: Mapping[str, set[str]]) -> bool:
    """Whether names are most of those that some module describes, and are not among many others: whoever asks for one or
    two of them has another reason."""
    places = set[str]().union(*(described[n] for n in asked if n in described))
    for place in places:
        told = {n for n, where in described.items() if place in where}
        if 2 * len(asked & told) >= max(len(told), len(asked)):
            return True
    return False


def compared(body: Node, names: set[str]) -> set[str]:
    """The constants that parameters are compared with, or matched against."""
    out: set[str] = set()
    asked = {("n", name) for name in names}
    for node in walk(body):
        if (
            node[0] == "cmp"
            and (node[1][0] in asked or {"In", "NotIn"}.isdisjoint(node[2]))
            and any(v in asked for v in node[1])
        ):
            out.update(k for v in node[1] for k in constants(v))
        elif isinstance(node[0], int) and node[1] == "match" and node[2][0] == "n" and node[2][1] in names:
            out.update(k for pattern, _, _ in node[3] for k in constants(pattern))
    return out


def constants(node: Node) -> Iterator[str]:
    return (n[1] for n in walk(node) if n[0] == "k" and len(n) == 2 and isinstance(n[1], str))
