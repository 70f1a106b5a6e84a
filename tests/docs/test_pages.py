"""What the pages show is what happens: every snippet is a file, every output is that of a run, every link leads somewhere.

A comment before a code block says where it comes from: `snippet: FILE` is the file, `output: FILE` is what it prints,
`mypy: FILE` is what `mypy --strict` says of it, `check: FILE` what `tools-check` does. A block of Python without one is an
error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])

BLOCK = re.compile(
    r"(?:<!-- (?P<kind>\w+): (?P<file>\S+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")
ID = re.compile(r"(?<=zupqurk )[0-9a-f]{20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One code block of a page."""

    page: Path
    line: int
    kind: str | None
    file: str | None
    language: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page=page, line=line, **found.groupdict())


def of_kind(kind: str) -> list[Block]:
    return [block for block in blocks() if block.kind == kind]


def test_every_block_of_python_says_which_file_it_is() -> None:
    assert [str(block) for block in blocks() if block.language == "python" and block.kind != "snippet"] == []


def test_every_kind_of_block_is_one_that_is_tested() -> None:
    assert {block.kind for block in blocks()} <= {None, "snippet", "output", "mypy", "check"}


@pytest.mark.parametrize("block", of_kind("snippet"), ids=str)
def test_a_snippet_is_its_file_or_a_part_of_it(block: Block) -> None:
    assert block.body in (ROOT / str(block.file)).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", of_kind("output"), ids=str)
def test_an_output_is_what_its_file_prints(block: Block) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", ROOT / str(block.file)], capture_output=True, text=True, check=False, timeout=60
    )

    assert (ID.sub("ID", ran.stdout), ran.stderr) == (block.body, "")


@pytest.mark.parametrize("block", of_kind("mypy"), ids=str)
def test_a_refusal_is_what_mypy_says_of_its_file(block: Block) -> None:
    file = ROOT / str(block.file)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", file.name]
    ran = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False, timeout=120)

    assert ran.stdout == block.body


@pytest.mark.parametrize("block", of_kind("check"), ids=str)
def test_a_finding_is_what_the_checker_says_of_its_file(block: Block) -> None:
    file = ROOT / str(block.file)
    command = [sys.executable, "-m", "tools_check", "--no-cache", file.name]
    ran = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False, timeout=120)

    assert (ran.stdout, ran.stderr) == (block.body, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(page.read_text(encoding="utf-8"))]

    assert [t for t in targets if not re.match(r"[a-z]+:", t) and not (page.parent / t).exists()] == []


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in sorted(folder.glob("0*.md")) if f"({path.name})" not in index] == []


def test_no_example_imports_what_is_not_public() -> None:
    """What a page says to import is a promise."""
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted((ROOT / "docs" / "examples").rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(?:from|import)\s+(?:registry|connectors|tools_check)\b.*(?:\.|import\s+)_", line)
    ]

    assert found == []


NAMED = re.compile(r"^\| [^|]+ \| (?P<names>`\w+`(?:, `\w+`)*) \| `(?P<module>connectors\.\w+)`", re.MULTILINE)


def test_the_ways_in_that_the_guide_for_connectors_names_can_be_imported() -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-connector.md").read_text(encoding="utf-8")
    named = {(row["module"], name.strip("`")) for row in NAMED.finditer(page) for name in row["names"].split(", ")}

    assert ("connectors.documents", "html_to_text") in named
    assert [(module, name) for module, name in sorted(named) if name not in import_module(module).__all__] == []
