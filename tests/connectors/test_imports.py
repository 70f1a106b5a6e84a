"""What importing the connectors costs, and what is said where an extra is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest


def python(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return ran.stdout + ran.stderr


def test_importing_the_package_loads_nothing() -> None:
    said = python("import sys; before = set(sys.modules); import connectors; print(sorted(set(sys.modules) - before))")

    assert said == "['connectors']\n"


@pytest.mark.parametrize("module", ["connectors.http", "connectors.ingress"])
def test_a_missing_httpx_is_said_in_one_sentence(module: str) -> None:
    said = python(f"import sys; sys.modules['httpx'] = None; import {module}")

    assert (
        said.splitlines()[-1] == "ImportError: The HTTP ingress needs httpx. Write: pip install 'hedgerow[connectors]'"
    )


@pytest.mark.parametrize("module", ["connectors.files", "connectors.terminal", "connectors.mail", "connectors.browser"])
def test_what_asks_no_web_server_itself_needs_no_httpx(module: str) -> None:
    said = python(f"import sys; sys.modules['httpx'] = None; import {module}; print('imported')")

    assert said == "imported\n"


@pytest.mark.parametrize(
    ("package", "module", "sentence"),
    [
        (
            "playwright.async_api",
            "connectors.browser",
            "The browser connector needs playwright. Write: pip install 'hedgerow[browser]'",
        ),
        ("imap_tools", "connectors.mail", "The mail connector needs imap-tools. Write: pip install 'hedgerow[mail]'"),
        (
            "inscriptis",
            "connectors._html",
            "Turning HTML into text needs inscriptis. Write: pip install 'hedgerow[documents]'",
        ),
    ],
)
def test_a_missing_extra_is_said_in_one_sentence(package: str, module: str, sentence: str) -> None:
    said = python(f"import sys; sys.modules[{package!r}] = None; import {module}")

    assert said.splitlines()[-1] == f"ImportError: {sentence}"
