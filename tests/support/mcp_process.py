"""A server of the Model Context Protocol as a process of its own: `python -m tests.support.mcp_process module:function`."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from registry.surfaces.mcp import serve_stdio


def main(reference: str, *options: str) -> None:
    module, _, name = reference.partition(":")
    limits = dict(option.split("=", 1) for option in options if "=" in option)
    deployment = getattr(importlib.import_module(module), name)(*json.loads(limits.get("given", "[]")))
    running = asyncio.run(
        serve_stdio(
            deployment,
            structured="structured" in options,
            max_message_bytes=int(limits.get("max_message_bytes", 4_194_304)),
            drain_s=float(limits.get("drain_s", 5)),
        )
    )
    print(f"still running: {running}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
