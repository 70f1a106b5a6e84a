"""Modules that are broken, deep, huge or circular: the checker ends, and says what it could not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools_check._running import LYING, findings, tools_check, write

DEEP = {
    "brackets": "X = " + "(" * 5_000 + ")" * 5_000 + "\n",
    "lists": "X = " + "[" * 3_000 + "]" * 3_000 + "\n",
    "not": "X = " + "not " * 20_000 + "1\n",
    "minus": "X = " + "-" * 20_000 + "1\n",
    "lambdas": "X = " + "lambda: " * 5_000 + "1\n",
    "sum": "X = " + " + ".join(["a"] * 8_000) + "\n",
    "or": "X = " + " or ".join(["a"] * 8_000) + "\n",
    "strings": "X = (" + "'a' " * 5_000 + ")\n",
    "null bytes": "X = 1\0\n",
    "bytes": "\udcff = 1\n",
}
LONG = {
    "string": "X = '" + "a" * 1_000_000 + "'\n",
    "number": "X = " + "9" * 100_000 + "\n",
    "dict": "X = {" + ", ".join(f"'k{i}': {i}" for i in range(20_000)) + "}\n",
    "elif": "if a:\n    pass\n" + "".join(f"elif a == {i}:\n    pass\n" for i in range(400)),
    "attributes": "X = a" + ".b" * 900 + "\n",
    "calls": "X = a" + "()" * 900 + "\n",
}
MENTION = "from registry import ToolDef\n"


@pytest.mark.parametrize("name", DEEP)
def test_code_that_is_too_deep_is_a_fault_of_that_file_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_bytes((MENTION + DEEP[name]).encode("utf-8", "surrogateescape"))
    write(tmp_path, {"app.py": LYING})
    done = tools_check(tmp_path, "check", "--format", "concise", ".")
    assert done.returncode in (1, 2), done.stderr[-500:]
    assert "Traceback" not in done.stderr
    assert "app.py:17:8" in done.stdout


@pytest.mark.parametrize("name", LONG)
def test_code_that_is_only_long_is_read(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"long.py": MENTION + LONG[name], "app.py": LYING})
    done = tools_check(tmp_path, "check", "--format", "concise", ".")
    assert done.returncode == 1, done.stderr[-500:]
    assert "app.py:17:8" in done.stdout


def test_circles_of_imports_aliases_classes_and_calls_end(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": "from b import *\nfrom b import y as x\nfrom registry import ToolDef\nclass A(A): pass\n",
            "b.py": "from a import *\nfrom a import x as y\nfrom a import A as B\nclass C(B): pass\n",
            "app.py": LYING.replace(
                "def load(url: str) -> str:\n",
                "from a import x\n\ndef load(url: str) -> str:\n    load(load(x(url)))\n",
            ),
        },
    )
    assert "false-declaration" in {f["rule"] for f in findings(tmp_path)}
