"""The script `tools-check`; says in one sentence what to install when its libraries are missing."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    missing = next((name for name in ("click", "libcst", "rich") if not is_there(name)), None)
    if missing is not None:
        print(f"tools-check needs {missing}. Write: pip install 'hedgerow[check]'", file=sys.stderr)
        sys.exit(2)
    try:
        from tools_check._cli import run

        run()
    except KeyboardInterrupt:
        stop()


def is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:
        return False  # it was taken out of this process


def stop() -> None:
    """End at once, by the signal that asked for it, so that a shell's loop ends too.

    The run goes on in its thread and cannot be interrupted there; nothing that it leaves behind is half written.
    """
    pools = sys.modules.get("multiprocessing")
    for child in pools.active_children() if pools is not None else ():
        child.terminate()
    shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # the cursor, which the progress line hides
    print(f"{shown}tools-check: stopped", file=sys.stderr, flush=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
