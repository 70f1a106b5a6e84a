"""The command `hedgerow`: lists the tools there are, and calls one, showing the outcome as a model would read it.

It decides nothing about an answer: it goes through `run_registry_tool` as every surface does, and never prints text of the
other side outside of its fence.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from registry._deployment import Deployment
from registry._dispatch import run_registry_tool
from registry._envelope import outcome_body
from registry._fence import WORD
from registry._foreign import Foreign
from registry._load import load_registry
from registry._outcome import Answered, Failed, Outcome, Refused
from registry._registry import Registry
from registry._tooldef import AnyTool
from registry.errors import HedgerowError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

try:
    import click
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as missing:
    sys.exit(f"hedgerow needs {missing.name!r}: pip install 'hedgerow[cli]'")

__all__ = ["main"]

ANSWERED, OTHER, USAGE = 0, 1, 2

tools_option = click.option(
    "--tools",
    "references",
    multiple=True,
    metavar="MODULE:ATTRIBUTE",
    help="Where tools are: a ToolDef, a Registry, a tuple of ToolDefs or a function that returns one. May be given more than "
    "once. Without it: the connector packages that are installed.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("hedgerow"), prog_name="hedgerow")
def main() -> None:
    """Agent tools that say who chose the bytes they return."""


@main.command()
@tools_option
@json_option
def tools(references: Sequence[str], as_json: bool) -> None:
    """List the tools, what they take, and who chooses the bytes of their answers."""
    registry = registry_of(references)
    if as_json:
        click.echo(json.dumps([described(tool) for tool in registry.values()], indent=2))
    elif sys.stdout.isatty():
        Console().print(table(registry.values()))
    else:
        for tool in registry.values():
            click.echo(
                "\t".join((tool.name, tool.effect, declaration(tool), ", ".join(fields(tool)), description(tool)))
            )


@main.command()
@tools_option
@json_option
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0.1), default=60, show_default=True, metavar="SECONDS"
)
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE | KEY:=JSON]...")
@click.pass_context
def call(
    context: click.Context,
    references: Sequence[str],
    as_json: bool,
    timeout_s: float,
    name: str,
    arguments: Sequence[str],
) -> None:
    """Call the tool NAME and show the outcome as a model would read it.

    KEY=VALUE gives a text (or what the tool's input makes of it), KEY:=JSON any other value. The exit code is 0 for an
    answer, 1 for any other outcome, 2 for a wrong command line.
    """
    registry = registry_of(references)
    if name not in registry:
        near = ", ".join(registry) or "none"
        raise click.UsageError(f"There is no tool {name!r}. The tools are: {near}.")
    deployment = Deployment.single_user(registry, reply_timeout_s=timeout_s)
    outcome = waited(deployment, name, dict(map(argument, arguments)))
    show(outcome, as_json=as_json)
    if deployment.admission.in_use:
        click.echo("The tool is still running; this command ends with it. Ctrl-C leaves it.", err=True)
    context.exit(ANSWERED if isinstance(outcome, Answered) else OTHER)


def waited(deployment: Deployment, name: str, arguments: dict[str, Any]) -> Outcome:
    """Call, with a sign of life on a terminal."""
    try:
        with Console(stderr=True).status(f"Calling {name} ..."):
            return asyncio.run(run_registry_tool(deployment, name, arguments))
    except KeyboardInterrupt:
        click.echo("Left before the tool had answered.", err=True)
        raise SystemExit(130) from None


def registry_of(references: Sequence[str]) -> Registry:
    try:
        registry = load_registry(references)
    except HedgerowError as error:
        raise click.UsageError(str(error)) from error
    if not registry:
        raise click.UsageError(
            "No tools are installed. Install a package that offers some, or name yours: --tools my_tools:TOOLS."
        )
    return registry


def argument(text: str) -> tuple[str, Any]:
    """Read one KEY=VALUE or KEY:=JSON."""
    key, equals, value = text.partition("=")
    if not equals or not key.removesuffix(":"):
        raise click.UsageError(
            f"{text!r} is not an argument. Write KEY=VALUE, or KEY:=JSON for a list, a number or an object."
        )
    if not key.endswith(":"):
        return key, value
    try:
        return key[:-1], json.loads(value)
    except ValueError as error:
        raise click.UsageError(f"{text!r}: what follows ':=' is not JSON ({error}).") from error


# -- showing -------------------------------------------------------------------------------------------------------


def show(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(outcome_body(outcome), indent=2))
    elif sys.stdout.isatty():
        origins = outcome.origins if isinstance(outcome, Answered | Refused | Failed) else ()
        said = f"{outcome.code}; {'bytes chosen by: ' + ', '.join(map(repr, origins)) if origins else 'own words'}"
        Console(stderr=True).print(Text(said, style="green" if isinstance(outcome, Answered) else "yellow"))
        Console(highlight=False, soft_wrap=True).print(coloured(outcome.text))
    else:
        click.echo(outcome.text.encode("utf-8", "surrogateescape"))


def coloured(text: str) -> Text:
    """The text, with what stands inside of a fence dimmed and the fence itself marked."""
    shown = Text()
    inside = False
    for line in text.splitlines(keepends=True):
        is_fence = WORD in line
        shown.append(line, style="bold magenta" if is_fence else "dim" if inside else "")
        inside = inside != is_fence
    return shown


def table(found: Iterable[AnyTool]) -> Table:
    shown = Table("Tool", "Effect", "Who chooses the bytes", "Input", "Description")
    for tool in found:
        row = (tool.name, tool.effect, declaration(tool), "\n".join(fields(tool)), description(tool))
        shown.add_row(*map(Text, row))
    return shown


def described(tool: AnyTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": description(tool),
        "effect": tool.effect,
        "grant": tool.grant,
        "untrusted_output": False if tool.untrusted_output is False else declaration(tool),
        "input": tool.input.model_json_schema(),
    }


def declaration(tool: AnyTool) -> str:
    declared: object = tool.untrusted_output
    if declared is False:
        return "this program"
    return declared if isinstance(declared, str) else "an origin made from the input"


def description(tool: AnyTool) -> str:
    if isinstance(tool.description, Foreign):
        return "(written by a third party, not shown)"
    return " ".join(tool.description.split())


def fields(tool: AnyTool) -> list[str]:
    found = cast("dict[str, FieldInfo]", tool.input.model_fields)
    return [name if field.is_required() else f"[{name}]" for name, field in found.items()]
