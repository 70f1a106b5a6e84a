import asyncio

from tools import TOOLS  # type: ignore[import-not-found]  # the file beside this one

from registry import Deployment
from registry.adapters.langchain import structured_tools

greet, look_up = structured_tools(Deployment.single_user(TOOLS))

message = asyncio.run(look_up.ainvoke({"name": "look_up", "args": {"title": "hedge"}, "id": "1", "type": "tool_call"}))
print(message.content)
print(message.artifact["origins"])
