"""The command `inventory`: every tool and every other way in of foreign bytes, with what the checker sees of
it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from tools_check._files import find_files
from tools_check._options import Options, answer_key, make_store, state_digest
from tools_check._row import HEADS, Row, cells


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The list, and what could not be read."""

    rows: tuple[Row, ...]
    faults: tuple[tuple[str, str], ...]
    files: int
    notes: tuple[str, ...] = ()


def take_inventory(paths: Iterable[Path], options: Options) -> Inventory:
    """List the ways in of foreign bytes below some paths.

    Raises:
        NotFound: when a path does not exist.
        NoPython: when a folder holds no Python file.
    """
    files = find_files(paths, options.config.exclude, strict=True)
    store = make_store(options)
    store.scan_all(files)
    key = answer_key("inventory", files, options)
    if store.unchanged():
        kept = store.answer(key)
        if kept.get("digest") == state_digest(store):
            return Inventory(
                rows=tuple(Row.kept(row) for row in kept["rows"]),
                faults=tuple(kept["faults"]),
                files=len(files),
                notes=tuple(kept["notes"]),
            )
    # The analysis is most of what a run imports, and a run that finds its answer kept has no use for it.
    from tools_check._take import take_anew

    rows_taken, notes = take_anew(files, store, options)
    found = Inventory(rows=rows_taken, faults=tuple(sorted(store.faults.items())), files=len(files), notes=notes)
    store.finish()
    rows = [row.to_keep() for row in found.rows]
    store.keep(key, {"digest": state_digest(store), "rows": rows, "faults": found.faults, "notes": found.notes})
    return found


# -- formats


def jsonl(found: Inventory) -> str:
    return "".join(json.dumps(row.as_json(), ensure_ascii=False) + "\n" for row in found.rows)


def table(found: Inventory) -> str:
    """Columns for a terminal."""
    head = ("where", *HEADS)
    lines = [head, *(cells(row) for row in found.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    return text + "\n" + summary(found) + "\n"


def markdown(found: Inventory) -> str:
    """A page that can be committed: no line numbers, so that only a change of the ways in changes it."""
    lines = ["# Ways in for bytes that somebody else chose", ""]
    lines += ["Made by `tools-check inventory --write`; compared by `tools-check inventory --check`.", ""]
    lines += [f"| {' | '.join(('file', *HEADS))} |", "| --- " * (len(HEADS) + 1) + "|"]
    for row in found.rows:
        where, *rest = cells(row)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (where.rpartition(":")[0], *rest)) + " |")
    return "\n".join([*lines, "", summary(found), ""])


def summary(found: Inventory) -> str:
    counts = {v: sum(r.verdict == v for r in found.rows) for v in ("foreign", "own", "undecided")}
    return f"{len(found.rows)} ways in: " + ", ".join(f"{n} {v}" for v, n in counts.items())


FORMATS: Final = {"table": table, "markdown": markdown, "jsonl": jsonl}
