"""Stands between this process and a peer, as a program of its own: when we are gone, however we went, it kills the peer.

`python -I -S _mcp_guard.py FD PROGRAM ARGUMENT...`: FD is the reading end of a pipe whose other end we hold and never write
to. It imports nothing of ours, says nothing, and ends as the program ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys

__all__ = ["main"]

LOOK_MS = 100


def main(lifeline: int, argv: list[str]) -> int:
    """Run the program until it ends, or until the lifeline does; the whole group ends with it."""
    process = subprocess.Popen(argv)
    # The program has its own copies. Ours would keep a stream open that it has closed.
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    held = select.poll()  # not `select`, which takes no descriptor beyond 1023
    held.register(lifeline, select.POLLIN | select.POLLHUP)
    while process.poll() is None:
        if held.poll(LOOK_MS):
            # We are of the group too, so nothing comes after this.
            os.killpg(0, signal.SIGKILL)
    return process.returncode


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
