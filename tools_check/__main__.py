"""The script `tools-check`; says in one sentence what to install when its libraries are missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        import click  # noqa: F401
        import libcst  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        sys.exit(f"tools-check needs {error.name}: pip install 'hedgerow[check]'")
    from tools_check._cli import run

    run()


if __name__ == "__main__":
    main()
