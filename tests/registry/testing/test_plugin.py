"""The pytest plugin, in a pytest of its own, in a folder of an author who writes no test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = """
from pathlib import Path
from pydantic import Field
from registry import Foreign, MixedReply, ToolDef, ToolInput, reply

class Page(ToolInput):
    code: str = Field(pattern="^[0-9]{3}$")

class Nothing(ToolInput):
    pass

def page(request: Page) -> MixedReply:
    return reply("One page.", Foreign("a page"))

def lamp(request: Nothing) -> str:
    return "It is on."

def notes(request: Nothing) -> str:
    return Path(__file__).read_text()

def code(request: Page) -> str:
    return request.code

PAGE = ToolDef(name="page", description="d", input=Page, handler=page, untrusted_output="web")
LAMP = ToolDef(name="lamp", description="d", input=Nothing, handler=lamp, untrusted_output=False, effect="read")
SWITCH = ToolDef(name="switch", description="d", input=Nothing, handler=lamp, untrusted_output=False)
CODE = ToolDef(name="code", description="d", input=Page, handler=code, untrusted_output=False, effect="read")
NOTES = ToolDef(name="notes", description="d", input=Nothing, handler=notes, untrusted_output=False, effect="read")
ARGUMENTS = {"code": {"code": "123"}}
GOOD = (PAGE, LAMP)
"""
USES = """
import asyncio
from pathlib import Path
from registry import Deployment, catalog, run_registry_tool
import my_tools

def test_the_fixtures(hedgerow_corpus, hedgerow_caller, hedgerow_ingress):
    assert len(hedgerow_corpus.BODIES) > 100
    deployment = Deployment.single_user([my_tools.NOTES])
    assert catalog(deployment, hedgerow_caller()).tools == ()
    asyncio.run(run_registry_tool(deployment, "notes", {}))
    assert [seen.tool for seen in hedgerow_ingress.undeclared] == ["notes"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_whole_kit_runs_without_a_test_being_written(folder: Path) -> None:
    done = run(folder, "--hedgerow-registry", "my_tools:GOOD")

    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_tool_that_reads_a_file_under_false_fails_in_one_sentence(folder: Path) -> None:
    done = run(folder, "--hedgerow-registry", "my_tools:NOTES", "--hedgerow-registry", "my_tools:SWITCH")

    assert done.returncode == 1
    assert "Tool 'notes' declares untrusted_output=False and opened:\n  notes: open" in done.stdout
    assert "Tool 'switch' was not run: its effect is 'write', and only a 'read' is run unasked." in done.stdout
    assert "1 failed, 4 passed, 1 skipped" in done.stdout


def test_arguments_can_be_given_where_none_can_be_made(folder: Path) -> None:
    without = run(folder, "--hedgerow-registry", "my_tools:CODE")
    given = run(folder, "--hedgerow-registry", "my_tools:CODE", "--hedgerow-arguments", "my_tools:ARGUMENTS")

    assert "Tool 'code' was not run: no arguments can be made from its schema. Give some." in without.stdout
    assert "3 passed" in given.stdout


def test_the_fixtures_are_there_for_an_author_who_writes_tests(folder: Path) -> None:
    (folder / "test_mine.py").write_text(USES)
    done = run(folder)

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("my_tools:ABSENT", "--hedgerow-registry 'my_tools:ABSENT': 'my_tools' has no attribute 'ABSENT'."),
        ("my_tools", "--hedgerow-registry 'my_tools' is not of the form module:attribute."),
        ("my_tools:ARGUMENTS", "--hedgerow-registry 'my_tools:ARGUMENTS' is a dict. It must be a ToolDef"),
    ],
)
def test_a_wrong_reference_is_said_in_one_sentence(folder: Path, reference: str, said: str) -> None:
    done = run(folder, "--hedgerow-registry", reference)

    assert done.returncode == 4
    assert said in done.stderr


def test_a_project_whose_own_modules_have_our_names_still_runs_its_tests(folder: Path) -> None:
    """pytest imports every installed plugin, so the plugin must import nothing with a common name until it is asked."""
    for name in ("registry", "connectors"):
        (folder / f"{name}.py").write_text("raise SystemExit('a module of the project that must not be imported')")
    # Other plugins may import pydantic; that none of ours came is what counts.
    (folder / "test_mine.py").write_text(
        "import sys\ndef test(): assert not {'registry', 'connectors'} & set(sys.modules)\n"
    )
    done = run(folder)

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
