"""The script `tools-check`; says in one sentence what to install when its libraries are missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    missing = next((name for name in ("click", "libcst", "rich") if find_spec(name) is None), None)
    if missing is not None:
        sys.exit(f"tools-check needs {missing}: pip install 'hedgerow[check]'")
    from tools_check._cli import run

    run()


if __name__ == "__main__":
    main()
