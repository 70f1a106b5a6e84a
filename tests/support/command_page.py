"""The commands as a page has them, made from what they say of themselves with `--help`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from connectors._cli_pin import pin
from registry.cli import main
from tests.support.api_pages import SENTENCE
from tools_check._cli import cli

MARK = "<!-- from here on made by: pytest tests/docs/test_commands.py --rewrite-snapshots -->\n"


def made() -> str:
    """The part of the page that is made."""
    lines: list[str] = []
    for name, command in sorted(main.commands.items() | {("pin", pin)}):
        lines += section(f"hedgerow {name}", command)
    for name, command in sorted(cli.commands.items()):
        lines += section(f"tools-check {name}", command)
    return "\n".join(lines)


def section(title: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=title)
    yield f"## {title}\n\n```text\n{title} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield "\n".join(SENTENCE.split(paragraph.replace("\n", " "))) + "\n"
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield f"- `{record[0]}`: {record[1]}"
    yield ""
