"""Finding the tools that a command line names, and saying in one sentence what is wrong when they are not there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any, cast

from registry._foreign import class_name
from registry._raised import in_words, is_of_ours, place_of, told_frames
from registry._registry import Registry
from registry._tooldef import AnyTool, ToolDef
from registry.errors import DeclarationError, HedgerowError

__all__ = ["load_attribute", "load_registry", "load_tools", "theirs"]


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
    named = f"{option} {reference!r}"
    if callable(found):
        hold_to_no_arguments(found, named)
    with theirs(named):
        return tools_of(found() if callable(found) else found, named)


def hold_to_no_arguments(function: Callable[..., object], named: str) -> None:
    try:
        signature(function).bind()
    except TypeError as error:
        raise DeclarationError(
            f"{named} is a function that cannot be called without arguments. Write one that needs none, or name the tools "
            "that a call of it returned."
        ) from error
    except ValueError:
        return  # a function of C that does not say what it takes


@contextmanager
def theirs(what: str, doing: str = "the function") -> Generator[None]:
    """Runs somebody's code, and tells what it raises with the place in their file.

    Raises:
        DeclarationError: the code raised; the frames of theirs are noted on it.
    """
    try:
        yield
    except HedgerowError as error:
        raise placed(error, what) from error
    except (Exception, SystemExit) as error:  # the edge: it may raise anything at all
        if isinstance(error, ImportError) and is_of_ours(error):
            raise placed(error, what) from error  # an extra is missing, and the sentence has the line that installs it
        raise broken(error, f"{what}: {doing} raised") from error


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
    named = f"{option} {reference!r}"
    with theirs(named, f"importing {module_name!r}"):
        try:
            found: object = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if is_of_ours(error):
                raise
            if error.name is None or f"{module_name}.".startswith(f"{error.name}."):
                raise DeclarationError(
                    f"{named}: there is no module {module_name!r} in this folder or among the installed packages."
                ) from error
            raise DeclarationError(
                f"{named}: module {module_name!r} needs {error.name!r}, which is missing ({place_of(error)})."
            ) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise DeclarationError(f"{named}: {module_name!r} has no attribute {attribute!r}.")
        found = getattr(found, name)
    return found


def placed(error: Exception, what: str) -> Exception:
    """A sentence of ours that somebody's code met, with the line of theirs that it is about."""
    place = place_of(error)
    return DeclarationError(f"{what}, {place}: {error}") if place else error


def broken(error: BaseException, what: str) -> DeclarationError:
    """What somebody's code raised, by class and place; what it says is in a note, which no text of ours holds."""
    made = DeclarationError(f"{what} {in_words(error)}.")
    if not isinstance(error, SystemExit):
        made.add_note(told_frames(error))
    return made


def tools_of(found: Any, named: str) -> tuple[AnyTool, ...]:
    if isinstance(found, ToolDef):
        return (found,)  # pyright: ignore[reportUnknownVariableType]  # a tool of any kind
    if isinstance(found, Registry):
        return tuple(found.values())
    if isinstance(found, Iterable) and not isinstance(found, str | bytes):
        tools = tuple(cast("Iterable[AnyTool]", found))
        wrong = next((at for at, tool in enumerate(tools) if not isinstance(cast("object", tool), ToolDef)), None)
        if wrong is None:
            return tools
        if isinstance(found, list | tuple):
            whole, part = class_name(cast("object", found)), class_name(tools[wrong])
            raise DeclarationError(
                f"{named} is a {whole} of which item {wrong + 1} is a {part}. Each "
                "must be a ToolDef; what a connector's tools(...) returns is unpacked with *."
            )
    got = class_name(cast("object", found))
    raise DeclarationError(
        f"{named} is a {got}. It must be a ToolDef, a Registry, a tuple or list of ToolDefs, or "
        "a function without arguments that returns one of them."
    )
