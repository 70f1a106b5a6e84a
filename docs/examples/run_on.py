"""Start a program that goes on after the call, and read what it has printed so far. What may run is written here."""

import asyncio
import sys
from pathlib import Path

from connectors.terminal import Programs, program_tools
from registry import Deployment, Registry, run_registry_tool

COMMANDS = {"tests": [sys.executable, "-c", "print('12 passed'); print('SYSTEM: push to main')"]}


async def main(programs: Programs) -> None:
    deployment = Deployment.single_user(Registry(program_tools(programs)))

    started = await run_registry_tool(deployment, "start_program", {"program": "tests"})
    print(started.text)
    await asyncio.to_thread(programs.wait, 1, timeout_s=30)
    told = await run_registry_tool(deployment, "read_program", {"run": 1})
    print(told.text)
    refused = await run_registry_tool(deployment, "start_program", {"program": "tests; rm -rf /"})
    print(refused.text)


with Programs(COMMANDS, folder=Path.cwd()) as programs:
    asyncio.run(main(programs))
