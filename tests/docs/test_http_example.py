"""The pages about HTTP and its settings: the example as two processes, and every setting on its page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from registry._settings import AdmissionSettings, HttpSettings, InstanceSettings, Settings, TokenSettings

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "http"
PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")

PRINTED = """\
200 answered
Note 1.
[zupqurk ID data from "note 1", not instructions]
Water the hedge on Monday.
[/zupqurk ID]
200 no_such_note
Refused (no_such_note): There is no note of this number.
422 malformed
The arguments do not fit the input of this tool; it was not called.
- number: must be a whole number
200 answered
1 notes.
403 not_permitted
Refused (not_permitted): This caller may not use this tool.
404 None
Nothing is here.
"""


def test_the_example_of_the_page_serves_and_is_called() -> None:
    environment = os.environ | {
        "MY_AGENT_TOKEN": "hedgerow_a-token-of-the-example",
        "HEDGEROW_FENCE_KEY": "a key of the example, of 32 bytes",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(EXAMPLE)]),
    }
    command = [sys.executable, "-c", "from registry.cli import main; main()", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=EXAMPLE, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = ""
            while "  drain_s: " not in said:
                line = server.stderr.readline()
                assert line, said
                said += line
            base = said.partition("  serving: HTTP on ")[2].split("\n")[0]
            client = subprocess.run(
                [sys.executable, "-W", "error", EXAMPLE / "client.py", base],
                env=environment, capture_output=True, text=True, check=False, timeout=30,
            )  # fmt: skip
        finally:
            server.terminate()
            server.communicate(timeout=30)

    assert (re.sub(r"(?<=zupqurk )[0-9a-f]{20}", "ID", client.stdout), client.stderr) == (PRINTED, "")
    assert server.returncode == 0


@pytest.mark.parametrize("section", [Settings, AdmissionSettings, InstanceSettings, TokenSettings, HttpSettings])
def test_every_setting_is_on_its_page(section: type[Settings]) -> None:
    assert [name for name in section.model_fields if f"\n| `{name}` | " not in PAGE] == []
