"""How much memory the processes of a browser hold, and which of them is killed when it is too much.

Where there is no /proc nothing is found, and nothing killed.
"""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from connectors._process import marked

__all__ = ["end_large", "mark_of", "share_of"]

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
SHARE: Final = re.compile(rb"^Pss:\s*([0-9]+) kB$", re.MULTILINE)


def mark_of(home: str) -> bytes:
    """What the environment of every process of the browser holds, and nobody else's."""
    return f"HOME={home}".encode()


def end_large(home: str, most: int, most_together: int) -> None:
    """Kill a process of the browser that holds more memory than a page may, and the largest where all hold more than they may
    together: so a page crashes, and not the machine."""
    sizes = {pid: resident(pid) for pid in marked(mark_of(home))}
    for pid in [pid for pid, size in sizes.items() if size > most]:
        kill(pid)
        del sizes[pid]
    if sum(sizes.values()) <= most_together:
        return
    # What several processes share was counted for each of them; to divide it costs the system more than to count it.
    shares = {pid: share_of(pid) for pid in sizes}
    for pid in sorted(shares, key=lambda pid: shares[pid], reverse=True):
        if sum(shares.values()) <= most_together:
            return
        kill(pid)
        del shares[pid]


def resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE_BYTES
    return 0


def share_of(pid: int) -> int:
    """What a process holds, of what it shares with others its part alone."""
    with suppress(OSError, ValueError):
        found = SHARE.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
        return 0 if found is None else int(found[1]) * 1024
    return resident(pid)


def kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
