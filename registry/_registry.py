"""The tools of a deployment, by name. Immutable: a tool cannot appear after somebody has looked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import cast, final

from registry._foreign import class_name
from registry._raised import in_words, told_frames
from registry._tooldef import AnyTool, ToolDef
from registry.errors import DeclarationError

__all__ = ["ENTRY_POINT_GROUP", "Registry"]

ENTRY_POINT_GROUP = "hedgerow.tools"


@final
class Registry(Mapping[str, AnyTool]):
    """An immutable mapping from name to tool.

    Args:
        tools: the tools, in the order in which they are to be listed.

    Raises:
        DeclarationError: something is not a `ToolDef`, or two tools share a name; the message shows where both handlers
            are defined.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        found: dict[str, AnyTool] = {}
        for tool in tools:
            if not isinstance(cast("object", tool), ToolDef):
                raise DeclarationError(
                    f"Registry: got a {class_name(tool)}. Write ToolDef values; a connector's tools(...) returns a tuple "
                    "of them, to be unpacked with *."
                )
            if tool.name in found:
                raise DeclarationError(
                    f"Registry: two tools are named {tool.name!r}: {place(found[tool.name])} and {place(tool)}. "
                    "Rename one, for example with dataclasses.replace(tool, name=...)."
                )
            found[tool.name] = tool
        self._tools = MappingProxyType(found)

    @classmethod
    def from_entry_points(cls) -> Registry:
        """Collect the tools of the installed connector packages (entry points of the group `hedgerow.tools`).

        An entry point names a tuple of tools, or a function without arguments that returns one. It is code of the
        packages that are installed: they are trusted as every import is.

        Raises:
            DeclarationError: an entry point is neither, or fails to load; the message names it.
        """
        return cls(tool for point in entry_points(group=ENTRY_POINT_GROUP) for tool in loaded(point.name, point.load))

    def __getitem__(self, name: str) -> AnyTool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._tools)})"


def loaded(name: str, load: Callable[[], object]) -> tuple[AnyTool, ...]:
    try:
        found = load()
        tools = tuple(cast("Iterable[AnyTool]", found() if callable(found) else found))
    except Exception as error:
        made = DeclarationError(
            f"Entry point {name!r} of group {ENTRY_POINT_GROUP!r} did not load ({in_words(error)}). It must name a tuple "
            "of tools, or a function without arguments that returns one."
        )
        made.add_note(told_frames(error))
        raise made from error
    return tools


def place(tool: AnyTool) -> str:
    """Say where a tool's handler is defined, as `module.qualname` and, where it can be known, file and line."""
    handler: object = tool.handler
    handler = getattr(handler, "func", handler)  # a partial
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    module = getattr(handler, "__module__", "?")
    qualname = getattr(handler, "__qualname__", class_name(handler))
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"{module}.{qualname}{where}"
