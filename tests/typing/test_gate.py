"""The type checkers accept and refuse what they must: over the source, and over the built wheel as a user has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CASES = ("accepted.py", "rejected.py")
# What the core needs, taken from the environment that runs the tests, so that nothing is fetched.
NEEDED = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions.py", "typing_inspection")

MYPY = ("--strict", "--warn-unreachable", "--no-incremental", "--config-file", os.devnull)


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=280, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("hedgerow-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and what the core needs, and nothing else; returns its interpreter."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    assert run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=wheel.parent).returncode == 0
    (site,) = folder.glob("lib/python3*/site-packages")
    shutil.unpack_archive(wheel, site, "zip")
    import pydantic

    for name in NEEDED:
        (site / name).symlink_to(Path(pydantic.__file__).parent.parent / name)
    return folder / "bin" / "python"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """The cases in a folder of their own, where nothing of this repository is found by its place."""
    for name in CASES:
        shutil.copy(HERE / name, tmp_path / name)
    return tmp_path


def test_mypy_accepts_and_refuses_what_it_must_over_the_wheel(environment: Path, cases: Path) -> None:
    checked = run(sys.executable, "-m", "mypy", *MYPY, "--python-executable", environment, *CASES, cwd=cases)

    assert (checked.stdout, checked.returncode) == ("Success: no issues found in 2 source files\n", 0)


def test_pyright_accepts_and_refuses_what_it_must_over_the_wheel(environment: Path, cases: Path) -> None:
    checked = run(sys.executable, "-m", "pyright", "--pythonpath", environment, *CASES, cwd=cases)

    assert checked.returncode == 0, checked.stdout
    assert "0 errors" in checked.stdout


def test_a_wheel_without_its_marker_turns_the_gate_off_so_the_marker_is_there(environment: Path, cases: Path) -> None:
    """Without `py.typed` a checker takes every name of the package for Any: this is what shows that it reads it."""
    (site,) = environment.parent.parent.glob("lib/python3*/site-packages")
    assert all((site / package / "py.typed").exists() for package in ("registry", "connectors", "tools_check"))
    marker = site / "registry" / "py.typed"
    marker.rename(marker.with_suffix(".gone"))
    try:
        checked = run(sys.executable, "-m", "mypy", *MYPY, "--python-executable", environment, *CASES, cwd=cases)
    finally:
        marker.with_suffix(".gone").rename(marker)

    assert "module is installed, but missing library stubs or py.typed marker" in checked.stdout
    assert 'Unused "type: ignore" comment' in checked.stdout


MISTAKES = {
    "a tool that does not answer": (
        'ToolDef(name="a", description="d", input=Page, handler=text)',
        'error: Missing named argument "untrusted_output" for "ToolDef"  [call-arg]',
    ),
    "a tool that lies": (
        'ToolDef(name="a", description="d", input=Page, handler=mixed, untrusted_output=False)',
        'error: Cannot infer value of type parameter "DeclaredT" of "ToolDef"  [misc]',
    ),
}

PROLOGUE = """\
from registry import Foreign, MixedReply, ToolDef, ToolInput, reply

class Page(ToolInput):
    url: str

def text(request: Page) -> str:
    return request.url

def mixed(request: Page) -> MixedReply:
    return reply("one page", Foreign("text"))

"""


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mypy_refuses_in_the_words_that_the_pages_show(
    environment: Path, tmp_path: Path, mistake: str, message: str
) -> None:
    (tmp_path / "tools.py").write_text(PROLOGUE + mistake + "\n")
    checked = run(sys.executable, "-m", "mypy", *MYPY, "--python-executable", environment, "tools.py", cwd=tmp_path)

    assert checked.stdout.splitlines() == [
        f"tools.py:{len(PROLOGUE.splitlines()) + 1}: {message}",
        "Found 1 error in 1 file (checked 1 source file)",
    ]
