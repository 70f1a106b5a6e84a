"""The collection of tools: immutable, without duplicates, and gathered from installed packages."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# The handlers are lambdas in tables, which no annotation reaches; mypy takes what they get for Any.

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from registry import Registry
from registry import _registry as module
from registry.errors import DeclarationError
from tests.support.deployments import Nothing, tool


def one(request: Nothing) -> str:
    return "one"


def two(request: Nothing) -> str:
    return "two"


def test_it_is_a_mapping_from_name_to_tool_in_the_order_given() -> None:
    first, second = tool(one, name="b"), tool(two, name="a")
    registry = Registry([first, second])

    assert list(registry.items()) == [("b", first), ("a", second)]
    assert (len(registry), "a" in registry, "c" in registry) == (2, True, False)
    assert repr(registry) == "Registry(b, a)"


def test_it_cannot_be_changed() -> None:
    registry: Any = Registry([tool(one)])

    with pytest.raises(TypeError):
        registry["other"] = tool(two)
    with pytest.raises(TypeError):
        del registry["tool"]


def test_two_tools_of_one_name_are_refused_and_both_definitions_shown() -> None:
    with pytest.raises(DeclarationError) as caught:
        Registry([tool(one), tool(two)])

    line_one, line_two = one.__code__.co_firstlineno, two.__code__.co_firstlineno
    assert str(caught.value) == (
        f"Registry: two tools are named 'tool': {__name__}.one ({__file__}:{line_one}) and {__name__}.two "
        f"({__file__}:{line_two}). Rename one, for example with dataclasses.replace(tool, name=...)."
    )


def test_a_connectors_tuple_that_was_not_unpacked_is_named() -> None:
    nested: Any = [(tool(one),)]
    with pytest.raises(DeclarationError, match=r"got a tuple\. Write ToolDef values; .* unpacked with \*"):
        Registry(nested)


TOOLS = (tool(one, name="constant"),)


def make() -> list[Any]:
    return [tool(two, name="made")]


def broken() -> list[Any]:
    raise LookupError("no configuration")


def install(monkeypatch: pytest.MonkeyPatch, *attributes: str) -> None:
    """Make it look as if a package with these entry points were installed, as the import machinery reports it."""
    found = [EntryPoint(name, f"{__name__}:{name}", module.ENTRY_POINT_GROUP) for name in attributes]
    monkeypatch.setattr(module, "entry_points", lambda group: found if group == "hedgerow.tools" else [])
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def test_it_collects_installed_tools_from_constants_and_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "TOOLS", "make")

    assert list(Registry.from_entry_points()) == ["constant", "made"]


@pytest.mark.parametrize("name", ["broken", "missing"])
def test_an_entry_point_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    install(monkeypatch, name)

    with pytest.raises(DeclarationError, match=f"Entry point '{name}' of group 'hedgerow.tools' did not load"):
        Registry.from_entry_points()
