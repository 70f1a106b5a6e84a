"""Comments that silence a finding: `# tools-check: ignore[rule-name] -- reason`; one without rule or reason silences
nothing."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, final

MARK: Final = re.compile(r"#\s*tools-check\s*:\s*(?P<rest>.*)$")
FORM: Final = re.compile(r"^ignore\[(?P<rules>[^\]]*)\]\s*(?:--\s*(?P<reason>.*))?$")

SHORTEST: Final = 8  # "because" is no reason


@final
@dataclass(slots=True, kw_only=True)
class Suppression:
    """One comment: which rules it silences on which line, or what is wrong with it."""

    line: int
    column: int
    covers: int  # the line that it speaks of
    rules: tuple[str, ...] = ()
    fault: str = ""
    used: bool = False
    doubted: bool = False  # what it silences may be there once files are seen that this run does not hold


def suppressions(source: str, known: Collection[str]) -> list[Suppression]:
    """The suppression comments of a file."""
    if "tools-check" not in source:
        return []
    lines = source.splitlines()
    found: list[Suppression] = []
    for line, column, text in comments(source):
        match = MARK.search(text)
        if match is None:
            continue
        alone = lines[line - 1][:column].strip() == ""
        found.append(read(match["rest"].strip(), line, column + 1, line + 1 if alone else line, known))
    return found


def comments(source: str) -> list[tuple[int, int, str]]:
    """Line, column and text of every comment; strings that look like one are none."""
    out: list[tuple[int, int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                out.append((token.start[0], token.start[1], token.string))  # noqa: PERF401
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return out


def read(text: str, line: int, column: int, covers: int, known: Collection[str]) -> Suppression:
    """One comment, or the sentence that says what it lacks."""

    def bad(fault: str) -> Suppression:
        return Suppression(line=line, column=column, covers=covers, fault=fault)

    match = FORM.match(text)
    if match is None:
        return bad("it is not of the form `# tools-check: ignore[rule-name] -- reason`")
    rules = tuple(name.strip() for name in match["rules"].split(",") if name.strip())
    if not rules:
        return bad("it names no rule")
    for name in rules:
        if name not in known:
            return bad(f"there is no rule {name!r}")
    reason = (match["reason"] or "").strip()
    if not reason:
        return bad("it gives no reason after `--` (a sentence for the reviewer)")
    if len(reason) < SHORTEST:
        return bad(f"its reason {reason!r} is shorter than {SHORTEST} characters; write a sentence for the reviewer")
    return Suppression(line=line, column=column, covers=covers, rules=rules)
