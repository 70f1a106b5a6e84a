"""The setting `catalog_prose`, from the command line of a real process to both halves of what it prints.

Each field of the third party holds a text of its own, so that one that slips through is seen by its name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from registry._fence import omitted_notice, quoted_notice

TOOLS = '''
from typing import Any
from pydantic import Field
from registry import Foreign, ToolDef, ToolInput

class Peer(ToolInput):
    """PROSE-docstring"""
    prose_origin = "a server"

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "title": "PROSE-title",
            "description": "PROSE-schema",
            "$comment": "PROSE-comment",
            "additionalProperties": False,
            "required": ["mode"],
            "properties": {
                "mode": {
                    "type": "string",
                    "title": "PROSE-property-title",
                    "description": "PROSE-property\\nPROSE-property-line",
                    "enum": ["PROSE-label", "PROSE-label-2"],
                    "default": "PROSE-default",
                    "examples": ["PROSE-example"],
                },
                "code": {"pattern": "PROSE-pattern", "$comment": "PROSE-property-comment"},
                "deep": {"items": {"anyOf": [{"const": "PROSE-constant"}, {"description": "PROSE-deep"}]}},
            },
        }

class Lamp(ToolInput):
    """OWN-docstring"""
    room: str = Field("hall", description="OWN-field")

def done(request: ToolInput) -> str:
    return "done"

PEER = ToolDef(name="peer", description=Foreign("PROSE-tool\\u2028PROSE-tool-line", "a list"), input=Peer, handler=done,
               untrusted_output="a server")
MIXED = ToolDef(name="mixed", description="OWN-tool", input=Peer, handler=done, untrusted_output="a server")
LAMP = ToolDef(name="lamp", description="OWN-lamp", input=Lamp, handler=done, untrusted_output=False)
TOOLS = (PEER, MIXED, LAMP)
'''
# Every text of the third party that stands in what the tools above are made of; the class's docstring never enters.
THEIRS = {word.strip("\"',\\") for word in TOOLS.replace("\\n", " ").replace("\\u2028", " ").replace('"', " ").split()
          if word.startswith("PROSE-") and "docstring" not in word}  # fmt: skip
OURS = {"OWN-field", "OWN-tool", "OWN-lamp"}


# What a process prints, by half and setting; each is started once for all tests of this file.
HALVES = {"text": ("catalog",), "body": ("catalog", "--json"), "tools": ("tools", "--json"), "lines": ("tools",)}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    folder = tmp_path_factory.mktemp("peers")
    (folder / "peers.py").write_text(TOOLS)
    started = {
        (half, prose): subprocess.Popen(
            [Path(sys.executable).parent / "hedgerow", *command, "--tools", "peers:TOOLS", "--prose", prose],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        for half, command in HALVES.items()
        for prose in ("quoted", "omitted")
    }
    outputs = {key: process.communicate(timeout=120)[0] for key, process in started.items()}
    assert {process.returncode for process in started.values()} == {0}
    return outputs


def held(printed: str, words: set[str]) -> set[str]:
    return {word for word in words if word in printed}


def test_there_is_a_text_in_every_place_where_prose_can_stand() -> None:
    assert len(THEIRS) == 16


Printed = dict[tuple[str, str], str]


@pytest.mark.parametrize("half", ["text", "body", "tools"])
def test_quoted_shows_every_text_of_the_third_party_in_each_half(printed: Printed, half: str) -> None:
    shown = printed[half, "quoted"]

    assert held(shown, THEIRS) == THEIRS
    assert held(shown, OURS) == OURS
    assert "docstring" not in shown


@pytest.mark.parametrize("half", ["text", "body", "tools"])
def test_omitted_shows_none_of_them_in_either_half_and_says_so(printed: Printed, half: str) -> None:
    shown = printed[half, "omitted"]

    assert "PROSE" not in shown
    assert omitted_notice() in shown
    assert held(shown, OURS) == OURS


@pytest.mark.parametrize("prose", ["quoted", "omitted"])
@pytest.mark.parametrize("half", ["body", "tools"])
def test_every_body_carries_the_setting_as_a_field(printed: Printed, half: str, prose: str) -> None:
    body = json.loads(printed[half, prose])

    assert body["catalog_prose"] == prose
    assert body["notice"] == (quoted_notice() if prose == "quoted" else None)
    assert [set(tool["description"]) for tool in body["tools"]] == [
        {"untrusted" if prose == "quoted" else "omitted", "origins"},
        {"own"},
        {"own"},
    ]


def test_in_the_text_every_line_of_theirs_is_quoted_and_the_boundary_is_named_once(printed: Printed) -> None:
    shown = printed["text", "quoted"]

    assert shown.count(quoted_notice()) == 1
    assert [line for line in shown.splitlines() if "PROSE" in line and not line.startswith("> ")] == []


def test_in_the_body_every_text_of_theirs_is_exact_and_under_an_untrusted_key(printed: Printed) -> None:
    peer, mixed, lamp = json.loads(printed["body", "quoted"])["tools"]

    assert peer["description"]["untrusted"] == "PROSE-tool\u2028PROSE-tool-line"
    assert (
        peer["input_schema"]["untrusted"]["properties"]["mode"]["description"] == "PROSE-property\nPROSE-property-line"
    )
    del peer["description"], peer["input_schema"], mixed["input_schema"]
    assert "PROSE" not in json.dumps([peer, mixed, lamp])


@pytest.mark.parametrize("prose", ["quoted", "omitted"])
def test_the_lines_of_the_owner_show_no_third_party_text_at_all(printed: Printed, prose: str) -> None:
    shown = printed["lines", prose]

    assert "PROSE" not in shown
    assert shown.splitlines()[0] == "peer\twrite\ta server\tmode, [code], [deep]\t(written by a third party, not shown)"
