"""Our ways in, used by somebody else's project: the checker knows them by name, without the files of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools_check._running import findings, write

TOOL = """\
from enum import Enum
from pathlib import Path

from connectors.ingress import fetch, list_dir, read_file, run_process_sync, walk
from pydantic import BaseModel
from registry import OwnReply, ToolDef, ToolInput, reply

ROOT = Path("/srv/data")


class Ask(ToolInput):
    path: str


class State(Enum):
    OPEN = "open"
    SHUT = "shut"


class Issue(BaseModel):
    number: int
    state: State


def answer(request: Ask):
    {body}


TOOL = ToolDef(name="ask", description="d", input=Ask, handler=answer, untrusted_output=False)
"""

FOREIGN = {
    "a file": "return reply('file', read_file(ROOT, request.path).map(bytes.decode))",
    "a listing": "return reply('names', list_dir(ROOT, request.path).map(str))",
    "the paths below a folder": "return reply('paths', walk(ROOT).paths.map('\\n'.join))",
    "a listing for a program": "return ', '.join(e.name for e in list_dir(ROOT, request.path).for_program())",
    "a file for a program": "return read_file(ROOT, request.path).for_program().decode()",
    "what a process says": "return reply('said', run_process_sync(['ls']).stdout.map(bytes.decode))",
}
OWN = {
    "the size of a file": "return reply(f'{read_file(ROOT, request.path).measure(len)} bytes')",
    "whether a walk was whole": "return 'all' if walk(ROOT).complete else 'a part'",
    "one of our words": "return reply(read_file(ROOT, request.path).one_of('open', 'shut') or 'neither')",
    "a narrowed model": (
        "issue = read_file(ROOT, request.path).narrow(Issue)\n    return reply(f'{issue.number} is {issue.state.value}')"
    ),
}


@pytest.mark.parametrize("way", FOREIGN)
def test_what_an_ingress_brings_in_is_reported_under_false(way: str, tmp_path: Path) -> None:
    write(tmp_path, {"app/tools.py": TOOL.replace("{body}", FOREIGN[way])})
    assert [f["rule"] for f in findings(tmp_path, ".")] == ["false-declaration"]


@pytest.mark.parametrize("way", OWN)
def test_what_leaves_by_a_way_out_that_carries_no_words_is_silent(way: str, tmp_path: Path) -> None:
    write(tmp_path, {"app/tools.py": TOOL.replace("{body}", OWN[way])})
    assert findings(tmp_path, ".") == []
