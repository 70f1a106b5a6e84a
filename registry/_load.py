"""Finding the tools that a command line names, and saying in one sentence what is wrong when they are not there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from registry._foreign import class_name
from registry._registry import Registry
from registry._tooldef import AnyTool, ToolDef
from registry.errors import DeclarationError

__all__ = ["load_attribute", "load_registry", "load_tools"]


def load_registry(references: Iterable[str], *, option: str = "--tools") -> Registry:
    """Collect the tools that references name; without any, those of the installed entry points.

    Args:
        references: of the form `module:attribute`.
        option: the option of the command line that they were given with, for the message.

    Raises:
        DeclarationError: a reference names nothing that holds tools; the message says what to write.
    """
    references = tuple(references)
    if not references:
        return Registry.from_entry_points()
    return Registry(tool for reference in references for tool in load_tools(reference, option=option))


def load_tools(reference: str, *, option: str = "--tools") -> tuple[AnyTool, ...]:
    """Return the tools that `module:attribute` names: a tool, a registry, a collection, or a function that makes one."""
    found = load_attribute(reference, option=option)
    return tools_of(found() if callable(found) else found, f"{option} {reference!r}")


def load_attribute(reference: str, *, option: str) -> object:
    """Return what `module:attribute` names.

    Raises:
        DeclarationError: there is no such module or attribute; the message says what to write.
    """
    module_name, colon, attribute = reference.partition(":")
    if not (module_name and colon and attribute):
        raise DeclarationError(
            f"{option} {reference!r} is not of the form module:attribute. Write one such as my_tools:TOOLS."
        )
    # As for `python -m`: the folder that the command is given in holds the user's modules.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module_name}.".startswith(f"{error.name}."):
            raise DeclarationError(
                f"{option} {reference!r}: module {module_name!r} needs {error.name!r}, which is missing."
            ) from error
        raise DeclarationError(
            f"{option} {reference!r}: there is no module {module_name!r} in this folder or among the installed packages."
        ) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise DeclarationError(f"{option} {reference!r}: {module_name!r} has no attribute {attribute!r}.")
        found = getattr(found, name)
    return found


def tools_of(found: Any, named: str) -> tuple[AnyTool, ...]:
    if isinstance(found, ToolDef):
        return (found,)  # pyright: ignore[reportUnknownVariableType]  # a tool of any kind
    if isinstance(found, Registry):
        return tuple(found.values())
    if isinstance(found, Iterable) and not isinstance(found, str | bytes):
        tools = tuple(cast("Iterable[AnyTool]", found))
        if all(isinstance(cast("object", tool), ToolDef) for tool in tools):
            return tools
    got = class_name(cast("object", found))
    raise DeclarationError(
        f"{named} is a {got}. It must be a ToolDef, a Registry, a tuple or list of ToolDefs, or "
        "a function without arguments that returns one of them."
    )
