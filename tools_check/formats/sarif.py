"""SARIF 2.1.0, with the way of the bytes as a code flow."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tools_check._finding import Finding, TraceStep
from tools_check._report import VERSION, Report

LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """One log with one run."""
    from tools_check.rules import ALL

    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.page},
            "defaultConfiguration": {"level": LEVELS[rule.severity]},
        }
        for rule in ALL
    ]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tools-check", "version": VERSION, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.faults,
                        "toolExecutionNotifications": [
                            {
                                "level": "error",
                                "message": {"text": f"cannot be read as Python: {text}"},
                                "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(file)}}}],
                            }
                            for file, text in report.faults
                        ],
                    }
                ],
                "results": [result(f, [r["id"] for r in rules]) for f in report.findings],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def result(finding: Finding, rules: list[Any]) -> dict[str, Any]:
    """One finding."""
    out: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message} Write instead: {finding.repair}"},
        "locations": [location(finding.file, finding.line, finding.column)],
    }
    if finding.identity:
        out["partialFingerprints"] = {"hedgerow/v1": f"{finding.rule}|{finding.tool or ''}|{finding.identity}"}
    if finding.trace:
        steps = [{"location": station(step)} for step in finding.trace]
        out["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
        out["relatedLocations"] = [{**station(finding.trace[0]), "id": 1}]
    return out


def station(step: TraceStep) -> dict[str, Any]:
    return {**location(step.file, step.line, 1), "message": {"text": step.why}}


def location(file: str, line: int, column: int) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(file)},
            "region": {"startLine": max(1, line), "startColumn": max(1, column)},
        }
    }


def uri(file: str) -> str:
    return quote(file)
