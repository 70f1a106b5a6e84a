"""Imports point one way, so that each module can be read with only those below it in mind."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent

# From the bottom up. A module may import those before it, never one after it or beside it.
ORDER = (
    # The strip stands alone: it reads a model's words, and nothing of it knows a tool.
    ("registry._egress_markup", "registry._egress_terminal"),
    ("registry._egress_triggers", "registry._egress_swallow"),
    ("registry._egress_machine",),
    ("registry._egress_filter",),
    ("registry._egress_events",),
    ("registry.egress",),
    ("registry.errors",),
    ("registry._narrow", "registry.documents"),
    ("registry._foreign", "registry._as_text", "registry._lookalikes", "registry._control_tokens"),
    ("registry._encoded", "registry._raised"),
    ("registry._windows",),
    ("registry._fence", "registry._text"),
    ("registry._reply", "registry._schema"),
    ("registry._closed_schema",),
    ("registry._tooldef", "registry._outcome"),
    ("registry._registry", "registry._admission", "registry._envelope"),
    ("registry._deployment",),
    ("registry._call", "registry._arguments", "registry._render"),
    ("registry._work",),
    ("registry._dispatch",),
    ("registry._nested", "registry._catalog"),
    ("registry._sync",),
    ("registry.prompt",),
    ("registry._pipeline_refs",),
    ("registry._pipeline_model",),
    ("registry._pipeline_check",),
    ("registry._pipeline_plan",),
    ("registry._pipeline_run",),
    ("registry.pipeline",),
    ("registry",),
    ("registry._load", "registry._cli_mistake"),
    ("registry.testing._marks", "registry.testing._samples", "registry.testing._observer"),
    ("registry.testing.corpus",),
    ("registry.testing._kit",),
    ("registry.testing",),
    ("registry.surfaces",),
    ("registry.surfaces._chat_schema", "registry.surfaces._wire"),
    ("registry.surfaces.chat",),
    (
        "registry.surfaces._headers",
        "registry.surfaces._uvicorn",
        "registry.surfaces._posture",
        "registry.surfaces._problems",
        "registry.surfaces._tokens",
    ),
    ("registry._settings",),
    ("registry.surfaces._openapi",),
    ("registry.surfaces.http",),
    ("registry.surfaces._ending", "registry.surfaces._mcp_results"),
    ("registry.surfaces._serve",),
    ("registry._cli_http",),
    ("registry.surfaces._mcp_stdio", "registry.surfaces._mcp_http"),
    ("registry.surfaces.mcp",),
    ("registry._cli_mcp",),
    ("registry.adapters", "registry.adapters._mapping"),
    (
        "registry.adapters.langchain",
        "registry.adapters.openai_agents",
        "registry.adapters.opentelemetry",
        "registry.adapters.pydantic_ai",
    ),
    ("registry.cli",),
    ("connectors",),
)
HEIGHT = {name: height for height, names in enumerate(ORDER) for name in names}


def modules(package: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> set[str]:
    """The modules that a file imports, those for type checkers alone left out."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            known = {name for name in submodules if name in HEIGHT}
            found.update(known or {node.module})
        todo.extend(ast.iter_child_nodes(node))
    return found


def height(name: str) -> int | None:
    """Where a module stands: by its own name, or with the nearest package above it that has a place."""
    while name:
        if name in HEIGHT:
            return HEIGHT[name]
        name = name.rpartition(".")[0]
        if name == "registry":
            return None  # a module of the core has a place of its own in ORDER, or this test fails
    return None


def test_every_module_of_the_core_has_a_place_in_the_order() -> None:
    assert [name for name in modules("registry") if height(name) is None] == []


def test_imports_point_downward() -> None:
    wrong = [
        f"{name} imports {other}"
        for package in ("registry", "connectors")
        for name, path in modules(package).items()
        for other in imported(path)
        if other.partition(".")[0] in ("registry", "connectors")
        and not name.startswith("connectors")
        and (height(other) or 0) >= (height(name) or 0)
    ]
    assert wrong == []


def test_connectors_use_the_public_names_of_the_core() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in modules("connectors").items()
        for other in imported(path)
        if other.startswith("registry._")
    ]
    assert wrong == []


def test_the_checker_imports_nothing_of_what_it_reads() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in modules("tools_check").items()
        if name
        != "tools_check.pytest_plugin"  # lives there for its name, and is no part of the checker (docs/adr/0042)
        for other in imported(path)
        if other.partition(".")[0] in ("registry", "connectors")
    ]
    assert wrong == []
