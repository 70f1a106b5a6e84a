"""Findings that are known and put off: a committed file that a run may make shorter, never longer, without a word.

An entry is named by its rule, file, tool and the way of the bytes, never by a line, so that it survives edits above it. It
holds no text of the code.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, final

from tools_check._finding import Finding
from tools_check._report import Report

VERSION: Final = 1
Known = Counter[tuple[str, str, str]]


class BaselineError(Exception):
    """The file is no baseline."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A report beside a baseline."""

    report: Report
    known: int
    new: tuple[Finding, ...]
    gone: int


def compare(report: Report, known: Known, folder: Path) -> Compared:
    """Leave out what is known: of each entry as many findings as it counts. Notes (`info`) are never put off."""
    left = Counter(known)
    kept: list[Finding] = []
    for finding in report.findings:
        name = entry(finding, folder)
        if finding.severity != "info" and left[name] > 0:
            left[name] -= 1
        else:
            kept.append(finding)
    return Compared(
        report=replace(report, findings=tuple(kept)),
        known=len(report.findings) - len(kept),
        new=tuple(f for f in kept if f.severity != "info"),
        gone=sum(left.values()),
    )


def entry(finding: Finding, folder: Path) -> tuple[str, str, str]:
    """Rule, file as seen from the baseline, and a digest of the rest."""
    way = [step.why for step in finding.trace]
    text = "\0".join([finding.tool or "", finding.identity, *way])
    digest = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return finding.rule, Path(os.path.relpath(finding.file, folder)).as_posix(), digest


def read(path: Path) -> Known:
    """The entries of a file.

    Raises:
        BaselineError: when there is no such file, or it is no baseline.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["version"] != VERSION:
            raise BaselineError(
                f"{path} is a baseline of version {raw['version']!r}; remove it and make it with --update-baseline"
            )
        rows: list[dict[str, Any]] = raw["findings"]
        return Counter({(str(row["rule"]), str(row["file"]), str(row["identity"])): int(row["count"]) for row in rows})
    except FileNotFoundError as error:
        raise BaselineError(f"there is no file {path}; make it with --update-baseline") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BaselineError(
            f"{path} is no baseline ({type(error).__name__}); remove it and make it with --update-baseline"
        ) from error


def write(path: Path, findings: Iterable[Finding], folder: Path) -> None:
    """Write the entries of these findings, in one order."""
    counted = Counter(entry(f, folder) for f in findings if f.severity != "info")
    rows = [
        {"rule": rule, "file": file, "identity": identity, "count": count}
        for (rule, file, identity), count in sorted(counted.items())
    ]
    text = json.dumps({"version": VERSION, "findings": rows}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
