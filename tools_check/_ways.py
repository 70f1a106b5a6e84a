"""The ways in for bytes that somebody else chose, one row each: tools, calls of the fence, and what reaches a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools_check._analysis import Judged
from tools_check._config import ConfigError
from tools_check._facts import Facts, statement_site
from tools_check._files import shown
from tools_check._row import SEAMS, Listed, Row
from tools_check._run import Noted


def row_of(facts: Facts, judged: Judged) -> Row:
    """A tool's row."""
    path = judged.handler_path or judged.tool.path
    line = facts.places(path).of(statement_site(judged.handler_ordinal)).line
    label = judged.first("foreign") or judged.first("unknown")
    kind = "foreign" if judged.verdict == "foreign" else "unknown"
    labels = [la for root, la in sorted(judged.labels.items()) if root.kind == kind]
    return Row(
        file=path,
        line=line,
        qualname=judged.handler_name,
        name=declared_name(judged) if judged.tool.style == "registry" else judged.handler_name.rpartition(".")[2],
        style=judged.tool.style,
        declaration=declaration(judged),
        verdict=judged.verdict,
        origins=tuple(sorted({la.origin for la in labels if la.origin})),
        sources=tuple(sorted({la.root.name for la in labels})),
        trace=facts.trace(label),
    )


def declared_name(judged: Judged) -> str:
    """The name that a tool of the registry has, or empty; never that of its handler, which no model calls it by."""
    value = judged.tool.fields.get("name")
    return " or ".join(sorted(value.strings())) if value is not None and value.exact else ""


def declaration(judged: Judged) -> str:
    """What the tool says of itself, as far as it is a constant."""
    if judged.tool.style != "registry":
        return ""
    value = judged.tool.fields.get("untrusted_output")
    if value is None:
        return "missing"
    if value.exact and value.consts:
        return " or ".join(sorted("False" if c == ("bool", False) else repr(c[1]) for c in value.consts))
    return "a function of the input" if value.refs else "computed"


def seams(facts: Facts) -> list[Row]:
    """Ways in past the dispatcher: calls of the fence, and what reaches a prompt or a model."""
    return [row for rule, style, declared in SEAMS for row in seam(facts, rule, style, declared)]


def seam(facts: Facts, rule: str, style: str, declared: str) -> list[Row]:
    out: list[Row] = []
    for noted in facts.noted(rule):
        line = facts.places(noted.path).of(noted.site).line
        label = min(noted.labels.values(), key=lambda la: (la.depth, la.root), default=None)
        out.append(
            Row(
                file=noted.path,
                line=line,
                qualname=seam_name(noted),
                name=noted.text,
                style=style,
                declaration=declared,
                verdict="foreign",
                origins=tuple(sorted({la.origin for la in noted.labels.values() if la.origin})),
                sources=tuple(sorted({la.root.name for la in noted.labels.values()})),
                trace=facts.trace(label),
            )
        )
    return out


def seam_name(noted: Noted) -> str:
    """The function that it stands in, and what is called there; never the name of a handler alone."""
    return f"{noted.inside or '<module>'}: {noted.text}"


# -- the committed list

CELL: Final = re.compile(r"(?<!\\)\|")


def listed(path: Path) -> frozenset[Listed]:
    """File, name and style of each way in that a committed list (Markdown, or jsonl by its name) holds.

    Raises:
        ConfigError: when the file cannot be read as such a list.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in lines if line.strip()]
            return frozenset((str(row["file"]), str(row["qualname"]), str(row["style"])) for row in rows)
    except FileNotFoundError as error:
        name = shown(path)
        again = f"tools-check inventory --write {name}"
        raise ConfigError(f"ingresses: there is no {name}; make it with {again}") from error
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"ingresses: {shown(path)} is no list of ways in ({type(error).__name__})") from error
    cut = [
        [cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]] for line in lines if line.startswith("| ")
    ]
    # By the heads, since a list that an older version wrote has other columns.
    at = [cut[0].index(head) for head in ("file", "handler", "style") if head in cut[0]] if cut else []
    if len(at) < 3:
        return frozenset()
    file, handler, style = at
    return frozenset((cell[file], cell[handler], cell[style]) for cell in cut[2:] if len(cell) > max(at))


def rows_of(facts: Facts, judged: Iterable[Judged]) -> list[Row]:
    """The rows of these tools, and of every other way in that was seen."""
    return [row_of(facts, one) for one in judged if one.handler_name] + seams(facts)
