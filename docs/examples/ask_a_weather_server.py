"""Ask a server of somebody else: its words are fenced, and its tool is the one that the owner has looked at and pinned."""

import asyncio
import sys
from pathlib import Path

from connectors import mcp_client
from registry import AnyTool, Deployment, catalog, run_registry_tool

HERE = Path(__file__).parent
WEATHER = mcp_client.StdioPeer(name="weather", argv=[sys.executable, str(HERE / "weather_server.py")])


def weather_tools() -> tuple[AnyTool, ...]:
    """The tools of the server, as they stand in the pins; `effects` is what the owner knows of them."""
    return mcp_client.tools_from_server(WEATHER, pins=HERE / "weather.pins.json", effects={"forecast": "read"})


async def main() -> None:
    deployment = Deployment.single_user(weather_tools())
    print(catalog(deployment).text)

    for arguments in ({"city": "Oslo"}, {"city": "Oslo", "mailbox": "all of it"}):
        outcome = await run_registry_tool(deployment, "weather_forecast", arguments)
        print(f"\n{outcome.text}")


if __name__ == "__main__":
    asyncio.run(main())
