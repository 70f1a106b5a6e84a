"""The pages of the rules, made from the rules themselves."""

from __future__ import annotations

import sys
from pathlib import Path

from tools_check.rules import ALL, Rule


def terminal_page(rule: Rule) -> str:
    """A rule for the terminal: what it says, and its first cases."""
    parts = [
        f"{rule.name} ({rule.severity})",
        "",
        rule.page,
        "",
        "Reported:",
        "",
        indented(rule.reported[0].source),
    ]
    return "\n".join([*parts, "", "Left alone:", "", indented(rule.silent[0].source)]) + "\n"


def indented(source: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in source.rstrip().splitlines())


def markdown_page(rule: Rule) -> str:
    """A rule as a page of the reference."""
    lines = [f"# {rule.name}", "", f"Severity: {rule.severity}.", "", rule.page, "", "## Reported", ""]
    for case in rule.reported:
        lines += [f"### {case.title}", "", "```text", case.source.rstrip(), "```", ""]
    lines += ["## Left alone", ""]
    for case in rule.silent:
        lines += [f"### {case.title}", "", "```text", case.source.rstrip(), "```", ""]
    lines += ["These cases are run by `tools-check cases`.", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by its file name, and the list of them."""
    out = {f"{rule.name}.md": markdown_page(rule) for rule in ALL}
    index = ["# Rules of the checker", "", "Made by `python -m tools_check._pages docs/reference/rules`.", ""]
    index += [f"- [{rule.name}]({rule.name}.md) ({rule.severity}): {rule.summary}" for rule in ALL]
    out["index.md"] = "\n".join([*index, ""])
    return out


def main() -> None:
    """Write the pages into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
