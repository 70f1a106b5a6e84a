"""Run a program for its output: an argument is never read by a shell, and what is printed is foreign."""

import asyncio

from connectors.ingress import run_process


async def main() -> None:
    ran = await run_process(["echo", "$(id); rm -rf /"], origin="the program echo", timeout_s=5)

    print(ran.exit_code, repr(ran.stdout))
    print("printed", ran.stdout.measure(len), "bytes")
    print("as it was given:", ran.stdout.map(bytes.strip).measure(lambda out: out == b"$(id); rm -rf /"))


asyncio.run(main())
