import asyncio
from typing import Any

from agents import Agent
from tools import TOOLS  # type: ignore[import-not-found]  # the file beside this one

from registry import Deployment, fence_notice
from registry.adapters.openai_agents import function_tools

agent = Agent(
    name="gardener",
    instructions=fence_notice(),
    tools=list(function_tools(Deployment.single_user(TOOLS))),
)

# What the agent's model would read if it called the second tool.
look_up: Any = agent.tools[1]
print(asyncio.run(look_up.on_invoke_tool(None, '{"title": "hedge"}')))
