"""What an import costs and what it exports."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# The handlers are lambdas in tables, which no annotation reaches; mypy takes what they get for Any.

from __future__ import annotations

import subprocess
import sys

import pytest

import registry
from registry import errors

# Beside the standard library: what the core depends on, and what that depends on.
ALLOWED = {
    "registry", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection", "annotated_types",
}  # fmt: skip


def test_importing_the_core_loads_its_two_dependencies_and_nothing_more() -> None:
    script = (
        "import sys; before = set(sys.modules); import registry; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    # `_sysconfigdata...` is a part of the standard library whose name depends on the platform.
    standard = sys.stdlib_module_names
    assert {name for name in loaded if name not in standard and not name.startswith("_sysconfigdata")} == ALLOWED


def test_importing_connectors_loads_no_connector() -> None:
    script = "import sys, connectors; print('httpx' in sys.modules, 'registry' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert loaded == "False False\n"


@pytest.mark.parametrize("module", [registry, errors], ids=lambda module: module.__name__)
def test_what_is_exported_is_written_out_sorted_and_there(module: object) -> None:
    exported = module.__all__  # type: ignore[attr-defined]  # each has one, which is what is tested
    public = {
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("registry")
    }  # fmt: skip

    assert exported == sorted(exported)
    assert all(hasattr(module, name) for name in exported)
    assert public <= set(exported)
