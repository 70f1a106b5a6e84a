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


@pytest.mark.parametrize(
    "module",
    ["connectors.generate", "connectors.github", "connectors.http", "connectors.ingress", "connectors.web_search"],
)
def test_a_missing_httpx_is_said_in_one_sentence(module: str) -> None:
    said = python(f"import sys; sys.modules['httpx'] = None; import {module}")

    assert (
        said.splitlines()[-1] == "ImportError: The HTTP ingress needs httpx. Write: pip install 'hedgerow[connectors]'"
    )


@pytest.mark.parametrize("missing", ["mcp", "mcp_types"])
def test_a_missing_sdk_of_the_protocol_is_said_in_one_sentence(missing: str) -> None:
    said = python(f"import sys; sys.modules[{missing!r}] = None; import connectors.mcp_client")

    assert said.splitlines()[-1] == (
        "ImportError: connectors.mcp_client needs the SDK of the protocol. Write: pip install 'hedgerow[mcp]'"
    )


def test_peers_over_pipes_need_no_httpx_and_those_over_http_say_so() -> None:
    start = (
        "import sys; sys.modules['httpx'] = None; import connectors.mcp_client as m; from connectors import _mcp_link; "
    )

    over_pipe = python(f"{start}_mcp_link.Link(m.StdioPeer(name='p', argv=['x']), m.no_secrets); print('made')")
    over_http = python(f"{start}_mcp_link.Link(m.HttpPeer(name='p', url='https://a.example/'), m.no_secrets)")

    assert over_pipe == "made\n"
    assert over_http.splitlines()[-1].endswith("Write: pip install 'hedgerow[connectors]'")


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


def test_a_missing_psycopg_is_said_in_one_sentence_where_the_tools_are_made() -> None:
    said = python(
        "import sys; sys.modules['psycopg'] = None; from connectors import sql; "
        "sql.tools(sql.Postgres(name='shop', secrets=str))"
    )

    assert said.splitlines()[-1] == "ImportError: PostgreSQL needs psycopg. Write: pip install 'hedgerow[sql]'"


def test_sqlite_needs_no_psycopg_and_no_httpx() -> None:
    said = python(
        "import sys; sys.modules['psycopg'] = sys.modules['httpx'] = None; from pathlib import Path; "
        "from connectors import sql; sql.tools(sql.Sqlite(name='shop', path=Path('x'))); print('imported')"
    )

    assert said == "imported\n"


def test_a_missing_duckdb_is_said_in_one_sentence() -> None:
    said = python("import sys; sys.modules['duckdb'] = None; import connectors.metrics")

    assert said.splitlines()[-1] == "ImportError: Metrics need DuckDB. Write: pip install 'hedgerow[metrics]'"


@pytest.mark.parametrize("missing", ["inscriptis", "markdown_it"])
def test_what_the_knowledge_store_needs_is_said_in_one_sentence(missing: str) -> None:
    # Not by an entry of sys.modules, since one of the two is looked for and never imported in this process.
    said = python(
        "from importlib.machinery import PathFinder\n"
        "real = PathFinder.find_spec\n"
        f"is_missing = lambda name: name.partition('.')[0] == {missing!r}\n"
        "PathFinder.find_spec = lambda name, *more: None if is_missing(name) else real(name, *more)\n"
        "import connectors.knowledge"
    )

    assert said.splitlines()[-1] == (
        "ImportError: The knowledge store needs inscriptis and markdown-it-py. Write: pip install 'hedgerow[knowledge]'"
    )
