"""Files of one module name are told apart: none of them is passed over because another one came first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools_check._running import HONEST, LYING, findings, tools_check, write

SHARED = "import httpx\n\ndef load(url: str) -> str:\n    return httpx.get(url).text\n"
USING = """\
from registry import ToolDef, ToolInput
from common.web import load

class Page(ToolInput):
    url: str

def page(request: Page) -> str:
    return load(request.url)

TOOL = ToolDef(name="page", description="Reads.", input=Page, handler=page, untrusted_output=False)
"""


def where(folder: Path) -> list[str]:
    return sorted(f["file"] for f in findings(folder) if f["rule"] == "false-declaration")


@pytest.mark.parametrize("first", [LYING, HONEST])
def test_two_services_with_a_package_of_one_name_are_both_checked(tmp_path: Path, first: str) -> None:
    services = {f"{name}/app/__init__.py": "" for name in ("one", "two", "three")}
    write(tmp_path, {**services, "one/app/tools.py": first, "two/app/tools.py": LYING, "three/app/tools.py": LYING})
    lying = ["one/app/tools.py"] * (first is LYING)
    assert where(tmp_path) == sorted([*lying, "three/app/tools.py", "two/app/tools.py"])


def test_scripts_of_one_name_in_folders_that_are_no_packages_are_each_checked(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.py": LYING, "b/main.py": LYING, "b/c/main.py": LYING})
    assert where(tmp_path) == ["a/main.py", "b/c/main.py", "b/main.py"]


def test_a_package_and_a_module_of_one_name_beside_it_are_both_checked(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING, "app/__init__.py": LYING})
    assert where(tmp_path) == ["app.py", "app/__init__.py"]


def test_what_both_services_import_is_followed_from_both(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "libs/common/__init__.py": "",
            "libs/common/web.py": SHARED,
            "one/app/__init__.py": "",
            "one/app/tools.py": USING,
            "two/app/__init__.py": "",
            "two/app/tools.py": USING,
        },
    )
    assert where(tmp_path) == ["one/app/tools.py", "two/app/tools.py"]


def test_a_service_does_not_see_the_module_of_another_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "one/common/__init__.py": "",
            "one/common/web.py": SHARED,
            "two/common/__init__.py": "",
            "two/common/web.py": "def load(url: str) -> str:\n    return 'our own'\n",
            "two/tools.py": USING,
        },
    )
    assert where(tmp_path) == []


def test_a_tool_in_each_of_many_scripts_has_a_row(tmp_path: Path) -> None:
    write(tmp_path, {f"job_{number}/main.py": HONEST for number in range(30)})
    done = tools_check(tmp_path, "inventory", "--format", "jsonl")
    assert len(done.stdout.splitlines()) == 30
