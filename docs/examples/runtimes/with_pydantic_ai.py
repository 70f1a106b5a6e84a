from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tools import TOOLS  # type: ignore[import-not-found]  # the file beside this one

from registry import Deployment
from registry.adapters.pydantic_ai import HedgerowToolset


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands in for a model: it calls a tool, and then says what it has read."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("look_up", {"title": "hedge"})])
    return ModelResponse(parts=[TextPart(str(messages[-1].parts[0].content))])  # type: ignore[union-attr]


agent = Agent(FunctionModel(scripted), toolsets=[HedgerowToolset(Deployment.single_user(TOOLS))])
print(agent.run_sync("What do you know of hedges?").output)
