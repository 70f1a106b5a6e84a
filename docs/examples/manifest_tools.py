"""Makes the tools of a manifest. Its secrets are variables of the environment, by a prefix of our own."""

import os
from pathlib import Path

from connectors import manifest


def secret(name: str) -> str:
    return os.environ[f"MY_AGENT_{name.upper()}"]


TOOLS = manifest.tools(Path(__file__).with_name("manifest.toml"), secrets=secret)
