"""Runs the cases that live in the rules, each as a project of one file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tools_check._check import check_paths
from tools_check._config import Config
from tools_check._finding import Case
from tools_check._options import Options
from tools_check.rules import ALL, Rule


def run_cases() -> tuple[list[str], int]:
    """A sentence for each case that is wrong, and the number of cases."""
    failures: list[str] = []
    count = 0
    for rule in ALL:
        for speaks, group in ((True, rule.reported), (False, rule.silent)):
            for case in group:
                count += 1
                said = run_case(rule, case)
                fault = judge(case, said, speaks=speaks)
                if fault:
                    failures.append(f"{rule.name}: {case.title}: {fault}")
    return failures, count


def run_case(rule: Rule, case: Case) -> list[int]:
    """The lines on which the rule reports something."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.py"
        path.write_text(case.source, encoding="utf-8")
        config = Config(folder=Path(folder), ingresses=write_list(Path(folder), case))
        report = check_paths([path], Options(config=config, cache=False))
    if report.faults:
        raise ValueError(f"{rule.name}: {case.title}: the case is no Python: {report.faults[0][1]}")
    return [f.line for f in report.findings if f.rule == rule.name]


def write_list(folder: Path, case: Case) -> Path | None:
    """The committed list of the case's project."""
    if case.listed is None:
        return None
    path = folder / "ingresses.jsonl"
    rows = [{"file": "case.py", "qualname": name, "style": style} for name, style in case.listed]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def judge(case: Case, lines: list[int], *, speaks: bool) -> str:
    """What is wrong about the answer, or nothing."""
    if speaks and not lines:
        return "not reported"
    if speaks and case.line is not None and case.line not in lines:
        return f"reported on line {lines[0]}, not on line {case.line}"
    if not speaks and lines:
        return f"reported on line {lines[0]}, but must be left alone"
    return ""
