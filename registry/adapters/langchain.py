"""The tools of a deployment as structured tools of LangChain. Arguments go to the dispatcher as they came: LangChain itself
drops some that it does not know, and takes others for its own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

try:
    from langchain_core.tools import StructuredTool, ToolException
except ModuleNotFoundError as missing:
    raise ImportError(
        f"registry.adapters.langchain needs {missing.name}. Write: pip install 'hedgerow[langchain]'", name=missing.name
    ) from missing

from registry._catalog import catalog
from registry._deployment import Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._outcome import Outcome
from registry._reply import Media
from registry._sync import run_registry_tool_sync
from registry.adapters._mapping import is_error, parts_of
from registry.surfaces._wire import wire_body, wire_text

__all__ = ["structured_tools"]


class WholeArguments(StructuredTool):
    """A structured tool that hands its arguments on as one value."""

    def _parse_input(self, tool_input: str | dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:  # noqa: ARG002
        return {"arguments": tool_input}


def structured_tools(deployment: Deployment, *, caller: Caller | None = None) -> list[StructuredTool]:
    """Return the tools that a caller may use, for `model.bind_tools(...)` and for tool nodes.

    The content is what a model may read; the artifact is the outcome as JSON for the program, its data in the envelope. A
    call that failed is a tool message of the status `error`. Give the model `fence_notice()` in its instructions.

    Args:
        deployment: what the composition root decided.
        caller: who asks; None is the process itself.
    """
    return [
        WholeArguments(
            name=tool.name,
            description=tool.description,
            args_schema=tool.schema(),
            func=partial(call_sync, deployment, caller, tool.name),
            coroutine=partial(call, deployment, caller, tool.name),
            response_format="content_and_artifact",
            handle_tool_error=True,
        )
        for tool in catalog(deployment, caller).tools
    ]


async def call(
    deployment: Deployment, caller: Caller | None, name: str, arguments: object
) -> tuple[Any, dict[str, Any]]:
    given = cast("Mapping[str, Any]", arguments)
    return returned(await run_registry_tool(deployment, name, given, caller=caller))


def call_sync(
    deployment: Deployment, caller: Caller | None, name: str, arguments: object
) -> tuple[Any, dict[str, Any]]:
    given = cast("Mapping[str, Any]", arguments)
    return returned(run_registry_tool_sync(deployment, name, given, caller=caller))


def returned(outcome: Outcome) -> tuple[Any, dict[str, Any]]:
    if is_error(outcome):
        raise ToolException(wire_text(outcome.text))
    text, *media = parts_of(outcome)
    return (list(map(block_of, (text, *media))) if media else text), wire_body(outcome)


def block_of(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = "image" if part.mime.startswith("image/") else "file"
    return {"type": kind, "base64": base64.b64encode(part.content).decode("ascii"), "mime_type": part.mime}
