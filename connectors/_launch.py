"""Starts the command `hedgerow`, after making sure that the package `registry` is ours.

The name is generic, and a module of the user's that comes first on the import path would shadow it. This lives here because
a shadowed package cannot report that it is shadowed.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Run `hedgerow`."""
    try:
        start()
    except KeyboardInterrupt:  # while it was loaded; the command itself answers for the rest
        print("hedgerow: stopped", file=sys.stderr)
        sys.exit(130)


def start() -> None:
    try:
        from registry.cli import main as run
    except ImportError as error:
        print(shadowed() or f"hedgerow does not start: {error}", file=sys.stderr)
        sys.exit(2)
    # After the core, which says what is missing; and from here, since the core knows no connectors.
    from connectors._cli_pin import pin

    run.add_command(pin)
    run()


def shadowed() -> str | None:
    """Say in one sentence that another module named `registry` is in the way, or None."""
    found = find_spec("registry")
    ours = Path(__file__).parent.parent / "registry" / "__init__.py"
    if found is None or (found.origin is not None and Path(found.origin) == ours):
        return None
    where = found.origin or "a folder without __init__.py"
    return (
        f"hedgerow does not start: the module 'registry' that Python finds first is {where}. Rename it, or take its folder "
        "off the import path."
    )
