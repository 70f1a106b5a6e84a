"""The tools of a deployment as function tools of the OpenAI Agents SDK. Arguments are read and refused by us alone."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext
except ModuleNotFoundError as missing:
    raise ImportError(
        f"registry.adapters.openai_agents needs {missing.name}. Write: pip install 'hedgerow[openai-agents]'",
        name=missing.name,
    ) from missing

from registry._catalog import catalog
from registry._deployment import Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._reply import Media
from registry.adapters._mapping import arguments_of, parts_of

__all__ = ["function_tools"]


def function_tools(deployment: Deployment, *, caller: Caller | None = None) -> list[FunctionTool]:
    """Return the tools that a caller may use, for `Agent(tools=...)`.

    Every outcome is a result that the model reads; none is raised, since an exception would end the run. Give the agent
    `fence_notice()` in its instructions.

    Args:
        deployment: what the composition root decided.
        caller: who asks; None is the process itself.
    """
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.schema(),
            on_invoke_tool=partial(invoke, deployment, caller, tool.name),
            # Strict mode takes every field for required; the input of a tool may have defaults.
            strict_json_schema=False,
        )
        for tool in catalog(deployment, caller).tools
    ]


async def invoke(
    deployment: Deployment, caller: Caller | None, name: str, _: ToolContext[Any], arguments: str
) -> str | list[ToolOutputText | ToolOutputImage | ToolOutputFileContent]:
    outcome = await run_registry_tool(deployment, name, arguments_of(arguments), caller=caller)
    text, *media = parts_of(outcome)
    if not media:
        return str(text)
    return [output_of(number, part) for number, part in enumerate((text, *media))]


def output_of(number: int, part: str | Media) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    if isinstance(part, str):
        return ToolOutputText(text=part)
    url = f"data:{part.mime};base64,{base64.b64encode(part.content).decode('ascii')}"
    if part.mime.startswith("image/"):
        return ToolOutputImage(image_url=url)
    return ToolOutputFileContent(file_data=url, filename=f"media-{number}")
