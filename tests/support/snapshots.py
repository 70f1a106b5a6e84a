"""Committed texts that a test compares byte for byte, and that `pytest --rewrite-snapshots` writes anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshots:
    """A folder of JSON files."""

    folder: Path
    rewrite: bool

    def hold(self, group: str, values: Mapping[str, Any]) -> None:
        """Assert that the files of a group are exactly these values, no file more and none fewer."""
        folder = self.folder / group
        written = {f"{name}.json": as_json(value) for name, value in values.items()}
        if self.rewrite:
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.glob("*.json"):
                path.unlink()
            for name, text in written.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
        found = {path.name: path.read_bytes().decode() for path in folder.glob("*.json")}
        assert sorted(found) == sorted(written), "Rewrite with: pytest --rewrite-snapshots"
        for name, text in written.items():
            assert found[name] == text, f"{group}/{name} differs. Rewrite with: pytest --rewrite-snapshots"

    def hold_file(self, path: Path, value: Any) -> None:
        """Assert that one file elsewhere, which is published, is exactly this value."""
        text = as_json(value)
        if self.rewrite:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_bytes().decode() == text, f"{path.name} differs. Rewrite with: pytest --rewrite-snapshots"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"
