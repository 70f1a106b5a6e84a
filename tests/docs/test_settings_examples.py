"""The files of settings that the pages show are taken by what reads them."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from registry import Registry
from registry._registry import ENTRY_POINT_GROUP
from registry.errors import DeclarationError
from tests.tools_check._running import LYING, findings, write

ROOT = Path(__file__).parent.parent.parent
CI = ROOT / "docs" / "examples" / "ci"


def test_the_settings_of_the_page_make_a_client_of_the_users_own_a_source(tmp_path: Path) -> None:
    settings = (CI / "settings.toml").read_text(encoding="utf-8")
    app = LYING.replace("import httpx", "import acme_client").replace(
        "httpx.get(url)", "acme_client.Client().read(url)"
    )
    write(tmp_path, {"pyproject.toml": settings, "app.py": app, "tests/app.py": app})
    write(
        tmp_path,
        {"docs/ingresses.md": "| file | handler | style |\n| --- | --- | --- |\n| app.py | page | registry |\n"},
    )
    (found,) = findings(tmp_path)
    assert (found["rule"], found["file"], found["repair"]) == (
        "false-declaration",
        "app.py",
        'untrusted_output="acme",',
    )


def test_the_hook_that_the_page_names_is_that_of_the_repository() -> None:
    named = re.search(r"- id: (\S+)", (CI / "pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert named is not None
    assert named[0] in (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


def test_the_entry_point_of_the_page_is_one_of_the_group_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found, and fails for want of the package that it names."""
    shown = tomllib.loads((ROOT / "docs" / "examples" / "entry_point.toml").read_text(encoding="utf-8"))
    ((name, target),) = shown["project"]["entry-points"][ENTRY_POINT_GROUP].items()
    about = {
        "METADATA": "Name: acme-lamps\nVersion: 1\n",
        "entry_points.txt": f"[{ENTRY_POINT_GROUP}]\n{name} = {target}\n",
    }
    write(tmp_path, {f"acme_lamps-1.dist-info/{file}": text for file, text in about.items()})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(DeclarationError, match=r"^Entry point 'lamps' of group 'hedgerow.tools' did not load"):
        Registry.from_entry_points()
