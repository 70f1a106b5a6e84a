"""The tools of a deployment: `hedgerow tools --tools my_tools:TOOLS`."""

from pathlib import Path

from connectors import files, http, terminal

TOOLS = (*http.tools(), *files.tools(Path.cwd()), *terminal.tools(Path.cwd()))
