"""Every public name of every public module has a page, and what it says is what the code says."""

from __future__ import annotations

from pathlib import Path

from tests.support.api_pages import exported, gaps, pages, public_modules
from tests.support.snapshots import Snapshots

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "api"
# Packages that hold modules and nothing of their own.
EMPTY = {"connectors", "registry.adapters", "registry.surfaces"}


def test_every_public_module_writes_out_what_it_exports() -> None:
    assert {module for module in public_modules() if exported(module) is None} == EMPTY


def test_of_every_public_name_and_each_of_its_fields_something_is_said() -> None:
    """An alias and a constant have their docstring below them."""
    assert gaps() == []


def test_the_pages_of_the_public_names_are_what_the_code_says(snapshots: Snapshots) -> None:
    made = pages()
    if snapshots.rewrite:
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.glob("*.md"):
            path.unlink()
        for name, text in made.items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")

    assert {path.name: path.read_bytes().decode() for path in FOLDER.glob("*.md")} == made, (
        "Rewrite with: pytest tests/docs/test_api_pages.py --rewrite-snapshots"
    )


def test_the_page_of_a_module_has_a_heading_for_each_of_its_names() -> None:
    for module in set(public_modules()) - EMPTY:
        lines = (FOLDER / f"{module}.md").read_text(encoding="utf-8").splitlines()
        assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == list(exported(module) or ())
