"""The page of the commands is what they say of themselves, and what it says of their exit codes is held elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_page import MARK, made
from tests.support.snapshots import Snapshots

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_every_command_and_every_option_is_on_the_page(snapshots: Snapshots) -> None:
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    whole = f"{head}{mark}\n{made()}"
    if snapshots.rewrite:
        PAGE.write_text(whole, encoding="utf-8", newline="\n")

    assert mark != ""
    assert PAGE.read_bytes().decode() == whole, "Rewrite with: pytest tests/docs/test_commands.py --rewrite-snapshots"
