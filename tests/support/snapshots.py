"""Committed files that are generated: compared byte for byte, and rewritten with REWRITE_SNAPSHOTS=1."""

from __future__ import annotations

import os
from pathlib import Path


def assert_committed(path: Path, content: str) -> None:
    """Compare a committed file with what it would be now. After a rewrite, read the difference line by line."""
    if os.environ.get("REWRITE_SNAPSHOTS") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    assert path.read_text("utf-8") == content, f"{path.name} is not what is generated; REWRITE_SNAPSHOTS=1 rewrites it"
