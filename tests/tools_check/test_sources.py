"""The catalogue names what is there: every entry of a library that is installed here is found in it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
import warnings
from importlib import resources
from types import FunctionType
from typing import Any

import pytest

from tools_check import _catalog

CATALOG = _catalog.load()

# Names of our own for things that have none: a file that is only written, a process whose output nobody takes, the
# answer of `urlopen` whatever its class, an object whose members are known by their behaviour alone.
OUR_OWN_NAMES = (
    "io.Written",
    "io.IOBase.write",  # every file that can be written has it, the base class has not
    "urllib.request.Response",
    "csv.writer.writerow",  # of what the function `csv.writer` gives
    "subprocess.Uncaptured",
)
LATER = {"pathlib.Path.walk": (3, 12)}


def names() -> list[str]:
    """Every qualified name of the catalogue."""
    found = {q for q, entry in CATALOG.entries.items() if entry.listed}
    found |= {*CATALOG.attributes, *CATALOG.foreign_types, *CATALOG.bases, *CATALOG.clean, *CATALOG.quiet}
    return sorted(found)


def is_installed(name: str) -> bool:
    top = name.partition(".")[0]
    if top in ("registry", "connectors"):
        return False  # the checker knows ours by where it is defined; `test_own_repository.py` walks them
    return top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None


def find(name: str) -> bool:
    """Whether a name is a module, or an attribute, an annotation or a field below one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                thing: Any = importlib.import_module(".".join(parts[:size]))
        except ImportError:
            continue
        return has(thing, parts[size:])
    return False


def has(thing: Any, path: list[str]) -> bool:
    if not path:
        return True
    try:
        inner = getattr(thing, path[0])
    except AttributeError:
        known = {n for c in getattr(thing, "__mro__", ()) for n in getattr(c, "__annotations__", {})}
        return path[0] in known or may_be_set_by_init(thing, path[0])
    return has(inner, path[1:])


def may_be_set_by_init(thing: Any, name: str) -> bool:
    """Whether the code of a class assigns the attribute: instances have it, the class has not."""
    bases: tuple[type, ...] = getattr(thing, "__mro__", ())
    members = [member for base in bases for member in base.__dict__.values()]
    return any(name in f.__code__.co_names for f in members if isinstance(f, FunctionType))


def test_the_catalogue_names_at_least_four_hundred_sources() -> None:
    assert sum(entry.kind == "source" and entry.listed for entry in CATALOG.entries.values()) >= 400


@pytest.mark.parametrize("name", [n for n in names() if is_installed(n)])
def test_every_entry_of_an_installed_library_is_found_there(name: str) -> None:
    if name.startswith(OUR_OWN_NAMES) or sys.version_info < LATER.get(name, (3,)):
        return
    assert find(name), f"{name} stands in tools_check/sources.toml and is not in the library as installed"


def test_every_module_of_the_standard_library_has_a_table() -> None:
    public = [name for name in sys.stdlib_module_names if not name.startswith("_")]
    assert [name for name in sorted(public) if CATALOG.library(CATALOG.resolve(name)) is None] == []


def test_a_library_stands_under_one_default() -> None:
    text = resources.files("tools_check").joinpath("sources.toml").read_text(encoding="utf-8")
    defaults = tomllib.loads(text)["defaults"]
    listed = [*defaults["pass"], *defaults["own"], *(n for names in defaults["source"].values() for n in names)]
    assert sorted({name for name in listed if listed.count(name) > 1}) == []
