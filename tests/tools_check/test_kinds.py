"""The kinds of code that real tools are made of: each case is one kind, with what must be seen beside what must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools_check._running import rows, write
from tools_check._inventory import take_inventory
from tools_check._options import Options

CASES = rows("kinds.jsonl")
OFFERED = rows("offered.jsonl")  # tools that no table names, and what looks like them and is none


def verdicts(folder: Path) -> dict[str, str]:
    """Every way in below a folder, by its qualified name."""
    found = take_inventory([folder], Options(cache=False))
    assert not found.faults
    return {row.qualname: row.verdict for row in found.rows}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_kind_has_its_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, {"tools.py": case["source"]})
    assert verdicts(tmp_path) == case["verdicts"], case["note"]


@pytest.mark.parametrize("case", OFFERED, ids=[case["id"] for case in OFFERED])
def test_what_is_offered_to_a_model_is_listed_and_nothing_else(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, case.get("files") or {"tools.py": case["source"]})
    assert verdicts(tmp_path) == case["verdicts"], case["note"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_name_of_a_package_changes_no_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, {"lib/renamed/__init__.py": "", "lib/renamed/other_name.py": case["source"]})
    assert verdicts(tmp_path) == case["verdicts"], case["note"]


def endless(returned: str) -> str:
    """A tool beside a function that no budget is enough for: each level calls the next one twice, always anew."""
    levels = [
        f"def level_{n}(text):\n    return level_{n + 1}(text + 'a') + level_{n + 1}(text + 'b')\n" for n in range(20)
    ]
    return (
        "import httpx\nfrom fastmcp import FastMCP\n\nserver = FastMCP('x')\n\n"
        + "\n".join(levels)
        + "\ndef level_20(text):\n    return httpx.get(text).status_code\n\n"
        + f"@server.tool\ndef act(url: str) -> str:\n    steps = level_0('')\n    {returned}\n"
    )


@pytest.mark.parametrize(
    ("returned", "verdict"),
    [
        ("return httpx.get(url).text", "foreign"),
        ("return 'done'", "own"),
    ],
)
def test_a_callee_that_is_too_large_leaves_the_rest_of_its_caller_to_be_seen(
    returned: str, verdict: str, tmp_path: Path
) -> None:
    write(tmp_path, {"tools.py": endless(returned)})
    assert verdicts(tmp_path) == {"act": verdict}


@pytest.mark.parametrize(("gathered", "verdict"), [("httpx.get(url).text", "foreign"), ("'nothing'", "undecided")])
def test_a_function_that_was_cut_gives_what_its_answer_had_taken_in(
    gathered: str, verdict: str, tmp_path: Path
) -> None:
    """Each loop is followed twice, so that these never end: what `page` holds by then stands in the `return`."""
    loops = "".join("    " * depth + "for _ in range(9):\n" for depth in range(1, 19))
    write(
        tmp_path,
        {
            "tools.py": "import httpx\nfrom fastmcp import FastMCP\n\nserver = FastMCP('x')\n\n"
            f"def work(url: str):\n    page = {gathered}\n    total = 0\n{loops}{'    ' * 19}total = total + 1\n"
            "    return page + str(total)\n\n@server.tool\ndef act(url: str):\n    return work(url)\n"
        },
    )
    assert verdicts(tmp_path) == {"act": verdict}


GAPS = rows("gaps.jsonl")
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-the-checker-cannot-see.md"


@pytest.mark.parametrize("gap", GAPS, ids=[gap["id"] for gap in GAPS])
def test_a_gap_is_as_the_page_says(gap: dict[str, Any], tmp_path: Path) -> None:
    """When this fails because the verdict is the truth, the gap is closed: move the case to `kinds.jsonl`."""
    write(tmp_path, {"tools.py": gap["source"]})
    assert verdicts(tmp_path) == gap["verdicts"] != gap["truth"]


def test_the_page_names_every_gap_that_has_a_case() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [gap["id"] for gap in GAPS if f"(`{gap['id']}`)" not in page] == []


INSTALLED = """\
import requests
from frame.tools import BaseToolSpec


class Tools(BaseToolSpec):
    spec_functions = ["get", "count"]

    def get(self, url: str) -> str:
        return requests.get(url).text

    def count(self, words: str) -> int:
        return len(words)
"""


def test_a_package_that_is_called_as_a_library_within_a_folder_is_not_that_library(tmp_path: Path) -> None:
    """The folder that holds `*.dist-info` is the one modules are imported from, so `requests` there is the library."""
    source = INSTALLED.replace("frame.tools", "llama_index.core.tools.tool_spec.base")
    write(
        tmp_path,
        {
            "frame_tools_requests-1.0.dist-info/METADATA": "Name: frame-tools-requests\n",
            "frame/tools/requests/__init__.py": "from frame.tools.requests.base import Tools\n",
            "frame/tools/requests/base.py": source,
        },
    )
    assert verdicts(tmp_path) == {"Tools.get": "foreign", "Tools.count": "own"}
    assert verdicts(tmp_path / "frame" / "tools") == {"Tools.get": "foreign", "Tools.count": "own"}


def test_a_name_that_a_package_within_a_namespace_lacks_is_the_librarys(tmp_path: Path) -> None:
    """Without a folder of an installation `wonder` may be the package itself: what it lacks it wraps."""
    source = INSTALLED.replace("frame.tools", "llama_index.core.tools.tool_spec.base")
    source = source.replace("import requests", "from wonder import Wonder")
    source = source.replace("requests.get(url).text", 'Wonder(api_key="key").read(url)')
    write(
        tmp_path,
        {
            "frame/tools/wonder/__init__.py": "from frame.tools.wonder.base import Tools\n",
            "frame/tools/wonder/base.py": source,
        },
    )
    assert verdicts(tmp_path) == {"Tools.get": "foreign", "Tools.count": "own"}
