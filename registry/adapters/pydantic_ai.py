"""The tools of a deployment as a toolset of Pydantic AI. Its own validation is left out: ours alone refuses arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast, final

try:
    from pydantic_ai import BinaryContent, ModelRetry, RunContext, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ModuleNotFoundError as missing:
    raise ImportError(
        f"registry.adapters.pydantic_ai needs {missing.name}. Write: pip install 'hedgerow[pydantic-ai]'",
        name=missing.name,
    ) from missing

from registry._catalog import catalog
from registry._deployment import Caller, Deployment
from registry._dispatch import run_registry_tool
from registry._fence import fence_notice
from registry._outcome import Malformed, Outcome
from registry._reply import Media
from registry.adapters._mapping import arguments_of, is_error, parts_of
from registry.surfaces._wire import wire_body, wire_text

__all__ = ["HedgerowToolset"]


@final
class HedgerowToolset(AbstractToolset[Any]):
    """A toolset for `Agent(toolsets=[...])`. It adds the sentence that explains the fence to the instructions.

    Malformed arguments are a retry, a call that failed is a failed tool result, and a refusal is an answer. The structured
    half goes to the application alone, as the metadata of the tool return, in its envelope.

    Args:
        deployment: what the composition root decided.
        caller: who asks, as a value or as a function of the run context; None is the process itself.
        max_retries: how often a model may correct malformed arguments of one tool.
        id: the toolset's name in Pydantic AI.
    """

    def __init__(
        self,
        deployment: Deployment,
        *,
        caller: Caller | Callable[[RunContext[Any]], Caller | None] | None = None,
        max_retries: int = 2,
        id: str | None = "hedgerow",  # noqa: A002  # the runtime's name
    ) -> None:
        self.deployment = deployment
        self.caller = caller
        self.max_retries = max_retries
        self._id = id

    @property
    def id(self) -> str | None:
        """The toolset's name."""
        return self._id

    def caller_of(self, context: RunContext[Any]) -> Caller | None:
        """Say who asks in a run."""
        return self.caller(context) if callable(self.caller) else self.caller

    async def get_instructions(self, ctx: RunContext[Any]) -> str:  # noqa: ARG002
        """Explain the fence."""
        return fence_notice()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """List what the caller may use."""
        shown = catalog(self.deployment, self.caller_of(ctx)).tools
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=tool.schema()
                ),
                max_retries=self.max_retries,
                args_validator=Unvalidated(),
            )
            for tool in shown
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> ToolReturn[Any]:
        """Call a tool through the dispatcher."""
        arguments = cast("Mapping[str, Any]", None) if isinstance(tool_args, NotAnObject) else tool_args
        outcome = await run_registry_tool(self.deployment, name, arguments, caller=self.caller_of(ctx))
        if isinstance(outcome, Malformed):
            raise ModelRetry(wire_text(outcome.text))
        if is_error(outcome):
            raise ToolFailed(wire_text(outcome.text))
        return returned(outcome)


def returned(outcome: Outcome) -> ToolReturn[Any]:
    parts = [
        BinaryContent(data=part.content, media_type=part.mime) if isinstance(part, Media) else part
        for part in parts_of(outcome)
    ]
    return ToolReturn(return_value=parts[0] if len(parts) == 1 else parts, metadata=wire_body(outcome))


@final
class NotAnObject(dict[str, Any]):
    """Stands for arguments that are no JSON object. It holds a key that no input has, should it be copied on the way."""

    def __init__(self) -> None:
        super().__init__({"": None})


@final
class Unvalidated:
    """Takes any arguments. The runtime's own error would repeat their values."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002  # the runtime's name
        """Read the arguments."""
        return self.validate_python(
            arguments_of(input if isinstance(input, str) else bytes(input).decode("utf-8", "replace"))
        )

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002  # the runtime's name
        """Take the arguments."""
        return cast("dict[str, Any]", input) if isinstance(input, dict) else NotAnObject()
