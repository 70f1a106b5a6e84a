"""For programs: one JSON document, or one JSON object a line."""

from __future__ import annotations

import json

from tools_check._report import Report


def render(report: Report) -> str:
    """One document with findings, files that could not be read, and counts."""
    document = {
        "findings": [f.as_json() for f in report.findings],
        "unreadable": [{"file": file, "message": text} for file, text in report.faults],
        "files": report.files,
        "silenced": report.silenced,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def render_lines(report: Report) -> str:
    """One finding a line."""
    return "".join(json.dumps(f.as_json(), ensure_ascii=False) + "\n" for f in report.findings)
