import asyncio
import os
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

HERE = Path(__file__).parent
HEDGEROW = str(Path(sys.executable).with_name("hedgerow"))
SERVER = StdioServerParameters(command=HEDGEROW, args=["mcp", "--tools", "tools:TOOLS"], cwd=HERE)


async def main(client: Client) -> None:
    async with client:
        for tool in (await client.list_tools()).tools:
            print(tool.name, (tool.meta or {})["ifc"])
        result = await client.call_tool("look_up", {"title": "hedge"})
        print(result.content[0].text)  # type: ignore[union-attr]  # the first block is text


# What the server says at its start goes to standard error; here nobody reads it.
with Path(os.devnull).open("w") as nowhere:
    asyncio.run(main(Client(stdio_client(SERVER, errlog=nowhere))))
