"""Shows texts to a real browser through real renderers, and says what it asked for and where it points."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

FOLDER = Path(__file__).parent.parent / "browser"
PROGRAMS = ("node", "npm", "chromium")
# Decided, and said in docs/explanation/egress.md: a bare mail address stays (a click opens a draft), `www.` alone
# is a word, and a path in a C++ name is no scheme that acts.
CONVERTERS = "any|float|int|path|str|string|uuid"
DECIDED = re.compile(rf"a@href=(?:mailto:[^?]*|http://www/|[A-Za-z_]\w*::\S*|(?:{CONVERTERS}):\w+)\Z")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one text led to in one renderer."""

    id: str
    renderer: str
    requests: tuple[str, ...]
    links: tuple[str, ...]


def install() -> None:
    """Installs the renderers as the lock file pins them; nothing is done when that is how they are."""
    stamp = FOLDER / "node_modules" / ".hedgerow-lock"
    lock = (FOLDER / "package-lock.json").read_text("utf-8")
    if stamp.exists() and stamp.read_text("utf-8") == lock:
        return
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(command, cwd=FOLDER, check=True, timeout=240, capture_output=True, text=True)
    stamp.write_text(lock, "utf-8")


def show(texts: Mapping[str, str]) -> list[Seen]:
    """Renders every text with every renderer and loads it; returns what is outside the page, one row each."""
    chromium = shutil.which("chromium")
    assert chromium is not None  # the caller has asked for the programs
    if not texts:
        return []
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "texts.jsonl"
        rows.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))
        command = ["node", str(FOLDER / "harness.mjs"), chromium, str(rows)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [read(json.loads(line)) for line in ran.stdout.splitlines()]


def read(row: Mapping[str, Any]) -> Seen:
    """One row of the harness, without what was decided to stay."""
    links = [link for link in map(str, row["links"]) if DECIDED.match(link) is None]
    return Seen(
        id=str(row["id"]),
        renderer=str(row["renderer"]),
        requests=tuple(map(str, row["requests"])),
        links=tuple(links),
    )
