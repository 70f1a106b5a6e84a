"""A comment that the whole project needs is not called unused in a part of it; one that nothing needs is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools_check._running import findings, write

PAGES = """\
from registry import ToolFailed


def missing(name: str) -> ToolFailed:
    return ToolFailed(f"There is no page {name}.")  # tools-check: ignore[foreign-error] -- held to letters by `load`
"""
LOADED = """\
from pathlib import Path

from app.pages import missing
from registry import ToolFailed


def load(path: Path) -> ToolFailed:
    return missing(path.read_text())
"""
OWN = """\
from app.pages import missing
from registry import ToolFailed


def load() -> ToolFailed:
    return missing("front")
"""
WORDS = """\
from registry import ToolDef, ToolInput
from app.words import motto


class Nothing(ToolInput):
    pass


def say(request: Nothing) -> str:
    return motto()


TOOL = ToolDef(  # tools-check: ignore[false-declaration] -- the file comes with us
    name="say", description="Says.", input=Nothing, handler=say, untrusted_output=False
)
"""
ORIGIN = WORDS.replace("=False", '="motto"').replace("false-declaration", "needless-origin")
READ = "from pathlib import Path\n\n\ndef motto(path: str = '/etc/motd') -> str:\n    return Path(path).read_text()\n"
FIXED = "def motto() -> str:\n    return 'onward'\n"
OUTSIDE = """\
import some_library
from registry import ToolFailed


def missing() -> ToolFailed:
    return ToolFailed(some_library.name())  # tools-check: ignore[foreign-error] -- nobody has looked at it
"""
ALIAS = """\
from app.failures import Gone


def missing(name: str) -> Exception:
    return Gone(f"no {name}")  # tools-check: ignore[foreign-error] -- held to letters
"""
GONE = "from registry import ToolFailed as Gone\n\n__all__ = ['Gone']\n"


@pytest.mark.parametrize(
    ("files", "checked", "unused"),
    [
        pytest.param({"pages": PAGES, "load": LOADED}, "app", [], id="the-caller-that-brings-a-text-is-here"),
        pytest.param({"pages": PAGES, "load": LOADED}, "app/pages.py", [], id="it-is-not-here"),
        pytest.param({"pages": PAGES, "load": LOADED, "own": OWN}, "app/pages.py app/own.py", [], id="only-another-is"),
        pytest.param({"pages": PAGES, "own": OWN}, "app", [5], id="all-callers-are-here-and-bring-our-own-words"),
        pytest.param({"pages": PAGES, "own": OWN}, "app/pages.py", [], id="of-those-none-is-here"),
        pytest.param({"pages": PAGES.replace("{name}", "x")}, "app/pages.py", [5], id="no-caller-could-make-it-speak"),
        pytest.param({"tool": WORDS, "words": READ}, "app", [], id="what-a-handler-calls-is-foreign"),
        pytest.param({"tool": WORDS, "words": READ}, "app/tool.py", [], id="what-it-calls-is-not-here"),
        pytest.param({"tool": WORDS, "words": FIXED}, "app/tool.py", [], id="what-is-not-here-may-be-our-own"),
        pytest.param({"tool": WORDS, "words": FIXED}, "app", [13], id="what-it-calls-is-our-own"),
        pytest.param({"tool": ORIGIN, "words": FIXED}, "app", [], id="an-origin-that-is-needless"),
        pytest.param({"tool": ORIGIN, "words": FIXED}, "app/tool.py", [], id="an-origin-that-may-be-needless"),
        pytest.param({"tool": ORIGIN, "words": READ}, "app", [13], id="an-origin-that-is-needed"),
        pytest.param({"pages": OUTSIDE}, "app", [6], id="a-library-is-in-no-run-and-is-not-waited-for"),
        pytest.param({"pages": ALIAS, "failures": GONE}, "app/pages.py", [], id="what-is-called-is-defined-elsewhere"),
    ],
)
def test_a_comment_is_unused_where_no_larger_run_could_need_it(
    tmp_path: Path, files: dict[str, str], checked: str, unused: list[int]
) -> None:
    write(tmp_path, {"app/__init__.py": "", **{f"app/{name}.py": text for name, text in files.items()}})

    found = findings(tmp_path, "--no-cache", *checked.split())

    assert [item["line"] for item in found if item["rule"] == "unused-suppression"] == unused
