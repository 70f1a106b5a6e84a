"""The command `hedgerow`: lists the tools there are, and calls one, showing the outcome as a model would read it.

It decides nothing about an answer: it goes through `run_registry_tool` as every surface does, and never prints text of the
other side outside of its fence.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast, final, get_args

from registry._catalog import catalog as catalog_of
from registry._deployment import CatalogProse, Deployment
from registry._dispatch import run_registry_tool
from registry._envelope import outcome_body
from registry._fence import WORD
from registry._foreign import Foreign
from registry._load import load_attribute, load_registry, theirs
from registry._outcome import Answered, Failed, Outcome, Refused
from registry._raised import in_words, visible
from registry._registry import Registry
from registry._tooldef import AnyTool
from registry.errors import HedgerowError

try:
    import click
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ModuleNotFoundError as missing:
    print(f"hedgerow needs {missing.name}. Write: pip install 'hedgerow[cli]'", file=sys.stderr)
    sys.exit(2)  # as for a wrong command line: nothing was called

from registry._cli_http import serve, token
from registry._cli_mcp import mcp
from registry._cli_mistake import Unusable, mistake

__all__ = ["Unusable", "load_attribute", "main", "mistake", "theirs"]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

ANSWERED, OTHER, USAGE, INTERRUPTED = 0, 1, 2, 130


def timeout_option(text: str) -> Callable[[F], F]:
    """The option `--timeout` of a command that calls tools; `text` says what it bounds."""
    seconds = click.FloatRange(min=0.1)
    return click.option(
        "--timeout", "timeout_s", type=seconds, default=60, show_default=True, metavar="SECONDS", help=text
    )


tools_option = click.option(
    "--tools",
    "references",
    multiple=True,
    metavar="MODULE:ATTRIBUTE",
    help="Where tools are: a ToolDef, a Registry, a tuple of ToolDefs or a function that returns one. May be given more than "
    "once. Without it: the connector packages that are installed.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")
verbose_option = click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Show on standard error what an exception of a handler says, and where it was raised.",
)
prose_option = click.option(
    "--prose",
    type=click.Choice(get_args(CatalogProse)),
    default="quoted",
    show_default=True,
    help="What becomes of descriptions that a third party wrote.",
)


class Interruptible(click.Group):
    """Ends on Ctrl-C with one line and the code that a shell gives for it."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("hedgerow: stopped", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Interruptible, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("hedgerow"), prog_name="hedgerow")
def main() -> None:
    """Agent tools that say who chose the bytes they return."""


main.add_command(mcp)
main.add_command(serve)
main.add_command(token)


@main.command()
@tools_option
@json_option
@prose_option
def tools(references: Sequence[str], as_json: bool, prose: CatalogProse) -> None:
    """List the tools, what they take, and who chooses the bytes of their answers.

    In lines and in a table, descriptions that a third party wrote are never shown; --prose decides for --json.
    """
    registry = registry_of(references)
    if as_json:
        body = catalog_of(deployed(registry, prose)).body()
        listed = cast("list[dict[str, Any]]", body["tools"])
        declared = [{**entry, **declarations(tool)} for entry, tool in zip(listed, registry.values(), strict=True)]
        click.echo(json.dumps({**body, "tools": declared}, indent=2))
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
@prose_option
def catalog(references: Sequence[str], as_json: bool, prose: CatalogProse) -> None:
    """Show the tools as a model is shown them, with a third party's descriptions quoted or omitted."""
    shown = catalog_of(deployed(registry_of(references), prose))
    if as_json:
        click.echo(json.dumps(shown.body(), indent=2))
        return
    click.echo(shown.text.encode("utf-8", "surrogateescape"))


@main.command()
@tools_option
@json_option
@timeout_option("How long to wait for the tool.")
@verbose_option
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE | KEY:=JSON]...")
@click.pass_context
def call(
    context: click.Context,
    references: Sequence[str],
    as_json: bool,
    timeout_s: float,
    verbose: bool,
    name: str,
    arguments: Sequence[str],
) -> None:
    """Call the tool NAME and show the outcome as a model would read it.

    KEY=VALUE gives a text (or what the tool's input makes of it), KEY:=JSON any other value. The exit code is 0 for an
    answer, 1 for any other outcome, 2 for a wrong command line.
    """
    log_to_stderr(verbose=verbose)
    registry = registry_of(references)
    if name not in registry:
        near = get_close_matches(name, registry, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"There is no tool {name!r}.{meant} The tools are: {', '.join(registry)}.")
    deployment = Deployment.single_user(registry, reply_timeout_s=timeout_s)
    outcome = waited(f"Calling {name} ...", run_registry_tool(deployment, name, given(arguments)))
    show(outcome, as_json=as_json)
    end(context, deployment, ANSWERED if isinstance(outcome, Answered) else OTHER)


@main.command()
@tools_option
@json_option
@click.option("--dry-run", is_flag=True, help="Check the pipeline and print the plan; call nothing.")
@timeout_option("For each step.")
@verbose_option
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("inputs", nargs=-1, metavar="[KEY=VALUE | KEY:=JSON]...")
@click.pass_context
def run(
    context: click.Context,
    references: Sequence[str],
    as_json: bool,
    dry_run: bool,
    timeout_s: float,
    verbose: bool,
    file: Path,
    inputs: Sequence[str],
) -> None:
    """Run the pipeline in FILE (.json or .toml) and show its outcome as a model would read it.

    The inputs that the pipeline lists are given as for `call`, and count as yours. The exit code is 0 for an answer, 1 for
    any other outcome, 2 for a pipeline that cannot run.
    """
    log_to_stderr(verbose=verbose)
    # Here and not above: no other command needs pipelines, nor the library that they need.
    from registry.documents import read_document
    from registry.pipeline import parse_pipeline, plan_pipeline, run_pipeline

    registry = registry_of(references)
    deployment = Deployment.single_user(registry, reply_timeout_s=timeout_s)
    values = given(inputs)
    try:
        document = read_document(file)
        pipeline = parse_pipeline(document.data, document=document)
        known = values if values or not dry_run else None
        plan = plan_pipeline(deployment, pipeline, inputs=known, document=document)
    except (HedgerowError, ModuleNotFoundError) as error:
        raise click.UsageError(str(error)) from error
    if dry_run:
        click.echo(json.dumps(asdict(plan), indent=2) if as_json else plan.text)
        return
    result = waited(f"Running {file.name} ...", run_pipeline(deployment, pipeline, inputs=values))
    show(result.outcome, as_json=as_json)
    end(context, deployment, ANSWERED if isinstance(result.outcome, Answered) else OTHER)


@final
class Told(logging.Formatter):
    """A record for a person. What an exception says may be a stranger's words, so it is shown on demand alone."""

    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self.verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        if self.verbose:
            return visible(super().format(record))
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage()
        return said if error is None else f"{said} It raised {in_words(error)}; --verbose shows what that says."


@final
class ToStderr(logging.Handler):
    """Writes to what standard error is at that moment: the sign of life puts itself into its place, to stay below."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


def log_to_stderr(*, verbose: bool) -> None:
    """What the dispatcher logs, for a person: one line, or all of it."""
    log = logging.getLogger("hedgerow")
    handler = ToStderr()
    handler.setFormatter(Told(verbose=verbose))
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
    log.propagate = False


def waited(doing: str, work: Coroutine[Any, Any, T]) -> T:
    """Wait for a call, with a sign of life on a terminal."""
    try:
        with Console(stderr=True).status(doing):
            return asyncio.run(work)
    except KeyboardInterrupt:
        click.echo("Left before the tool had answered.", err=True)
        if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
            leave(INTERRUPTED)
        raise SystemExit(INTERRUPTED) from None


def end(context: click.Context, deployment: Deployment, code: int) -> None:
    """End the command; with a handler that runs on in a thread, which Python waits for, only after that."""
    if deployment.admission.in_use:
        try:
            click.echo("The tool is still running; this command ends with it. Ctrl-C leaves it.", err=True)
            deployment.admission.threads.shutdown()
        except KeyboardInterrupt:
            leave(code)
    context.exit(code)


def leave(code: int) -> NoReturn:
    """End without the threads, for which the end of a Python program would wait."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def deployed(registry: Registry, prose: CatalogProse) -> Deployment:
    return replace(Deployment.single_user(registry), catalog_prose=prose)


def registry_of(references: Sequence[str]) -> Registry:
    try:
        registry = load_registry(references)
    except HedgerowError as error:
        raise mistake(error) from error
    if not registry:
        raise click.UsageError(
            "No tools are installed. Install a package that offers some, or name yours: --tools my_tools:TOOLS."
        )
    return registry


def given(arguments: Iterable[str]) -> dict[str, Any]:
    """The arguments by name; one that is given twice is a mistake, and no way to write a list."""
    found: dict[str, Any] = {}
    for key, value in map(argument, arguments):
        if key in found:
            raise click.UsageError(f"{key!r} is given twice. Give it once; a list is written {key}:='[1, 2]'.")
        found[key] = value
    return found


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
    shown = Table()
    for head in ("Tool", "Effect", "Who chooses the bytes", "Input", "Description"):
        shown.add_column(head, overflow="fold")  # a narrow terminal shows names whole, on more lines
    for tool in found:
        row = (tool.name, tool.effect, declaration(tool), "\n".join(fields(tool)), description(tool))
        shown.add_row(*map(Text, row))
    return shown


def declarations(tool: AnyTool) -> dict[str, Any]:
    """What the owner of the tools reads beside what a model is shown."""
    return {
        "grant": tool.grant,
        "untrusted_output": False if tool.untrusted_output is False else declaration(tool),
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
    """The names of the input's fields; those that may be left out stand in brackets."""
    schema = catalog_of(deployed(Registry([tool]), "omitted")).tools[0].schema()
    required: list[str] = schema.get("required", [])
    return [name if name in required else f"[{name}]" for name in schema.get("properties", {})]
