"""The command line: reads options, runs a command, prints in a format; every mistake of use is one sentence and exit 2."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import click

from tools_check._check import check_paths
from tools_check._config import Config, ConfigError, find_config, read_config
from tools_check._files import NoEntry, NoPython, NotFound
from tools_check._options import Options
from tools_check._report import Report
from tools_check.formats import FORMATS

STACK: Final = 512 * 1024 * 1024
RECURSION: Final = 12_000
CODES: Final = "Exit codes: 0 nothing is wrong, 1 {one}, 2 wrong use, or a file that could not be read."

NOTHING_READ: Final = "`exclude` in the settings leaves out all that was given, so nothing was checked"

T = TypeVar("T")


class DefaultCheck(click.Group):
    """`tools-check PATHS` is `tools-check check PATHS`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "--version")):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=DefaultCheck, context_settings={"help_option_names": ["-h", "--help"]}, epilog=CODES.format(one="findings")
)
@click.version_option(package_name="hedgerow", prog_name="tools-check")
def cli() -> None:
    """Find tools whose declaration lies about who chose the bytes that they return.

    `tools-check PATHS` is `tools-check check PATHS`. Nothing that is read is imported or run.
    """


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `check` and `inventory` have in common."""
    for option in (
        click.option(
            "--jobs",
            type=click.IntRange(0),
            default=0,
            help="Processes that parse; 0 lets the checker choose.",
        ),
        click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of parsed files."),
        click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            help="The file whose [tool.tools_check] holds the settings, instead of the pyproject.toml nearest above PATHS.",
        ),
        click.argument("paths", nargs=-1, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@cli.command(epilog=CODES.format(one="findings (remarks, of severity info, do not count)"))
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(FORMATS)),
    default="full",
    show_default=True,
    help="full is for people; github annotates a pull request; sarif is 2.1.0.",
)
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Check standard input as this file of the project, which need not be saved yet.",
)
@click.option(
    "--baseline", type=click.Path(path_type=Path, dir_okay=False), help="A file of known findings to leave out."
)
@click.option("--update-baseline", is_flag=True, help="Write the findings of this run into the baseline.")
@click.option("--statistics", is_flag=True, help="Count the findings by rule instead of printing them.")
@click.option("--show-files", is_flag=True, help="Print the files that would be read, and stop.")
@shared
def check(
    paths: tuple[Path, ...],
    format_: str,
    stdin_filename: Path | None,
    baseline: Path | None,
    update_baseline: bool,
    statistics: bool,
    show_files: bool,
    jobs: int,
    no_cache: bool,
    config: Path | None,
) -> None:
    """Check files and folders (the current folder by default)."""
    targets = (*paths, *((stdin_filename,) if stdin_filename else ())) or (Path(),)
    options = make_options(targets, jobs, no_cache, config)
    if stdin_filename is not None:
        if not stdin_filename.parent.is_dir():
            raise click.UsageError(f"--stdin-filename: there is no folder {stdin_filename.parent}")
        options.overlay[shown_as(stdin_filename)] = sys.stdin.buffer.read()
    baseline = baseline or options.config.baseline
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE, or `baseline` in [tool.tools_check]")
    if update_baseline and stdin_filename is not None:
        raise click.UsageError("--update-baseline: a check of standard input does not see what the baseline holds")
    if show_files:
        click.echo("".join(f"{name}\n" for name in listed(targets, options)), nl=False)
        return
    with Progress() as progress:
        options.tick = progress.tick
        report = guarded(lambda: check_paths(targets, options), options)
    if baseline is not None:
        report = put_off(report, baseline, update=update_baseline)
    if statistics:
        click.echo("".join(f"{count:>6}  {rule}\n" for rule, count in report.statistics()), nl=False)
    else:
        click.echo(FORMATS[format_](report), nl=False)
    tell(report)
    sys.exit(report.exit_code)


def put_off(report: Report, path: Path, *, update: bool) -> Report:
    """The report without what the baseline knows. The file shrinks without a word; what it grows by is told."""
    from tools_check import _baseline

    try:
        if not update:
            compared = _baseline.compare(report, _baseline.read(path), path.parent)
            if compared.known:
                click.echo(f"tools-check: {path} holds back {counted(compared.known, 'known finding')}", err=True)
            return compared.report
        if report.faults:
            click.echo("tools-check: the baseline was not written, since a file could not be read", err=True)
            return report
        first = not path.exists()
        compared = _baseline.compare(report, _baseline.Known() if first else _baseline.read(path), path.parent)
        _baseline.write(path, report.findings, path.parent)
    except (_baseline.BaselineError, OSError) as error:
        raise click.UsageError(f"--baseline: {error}") from error
    for finding in () if first else compared.new:
        click.echo(f"tools-check: new in the baseline: {finding.file}:{finding.line} {finding.rule}", err=True)
    new = len(compared.new)
    held = counted(compared.known + new, "finding")
    click.echo(f"tools-check: {path} holds {held} ({new} new, {compared.gone} gone)", err=True)
    return _baseline.compare(report, _baseline.read(path), path.parent).report


@cli.command(epilog=CODES.format(one="the list of --check is not current"))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "markdown", "jsonl"]),
    default="table",
    show_default=True,
    help="How the list is printed; jsonl has the way of the bytes of each row.",
)
@click.option(
    "--write",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the list into a file: Markdown, or jsonl if it is named so.",
)
@click.option(
    "--check",
    "compare",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Compare with a file that --write wrote, and show the rows that changed.",
)
@shared
def inventory(
    paths: tuple[Path, ...],
    format_: str,
    write: Path | None,
    compare: Path | None,
    jobs: int,
    no_cache: bool,
    config: Path | None,
) -> None:
    """List every tool and every other way in of foreign bytes.

    Tools of other frameworks too, which declare nothing. The verdict of a row is own (only the program's and its owner's
    words come back), foreign (somebody else chose bytes that come back) or undecided (the checker cannot see it).
    """
    from tools_check._inventory import FORMATS as SHAPES
    from tools_check._inventory import take_inventory

    if write is not None and compare is not None:
        raise click.UsageError("--write and --check: give one of them")
    targets = paths or (Path(),)
    options = make_options(targets, jobs, no_cache, config)
    with Progress() as progress:
        options.tick = progress.tick
        found = guarded(lambda: take_inventory(targets, options), options)
    for note in found.notes:
        click.echo(f"tools-check: {note}", err=True)
    for file, text in found.faults:
        click.echo(f"tools-check: {file} could not be read: {text}", err=True)
    code = 2 if found.faults else 0
    committed = write or compare
    shape = format_ if committed is None else "jsonl" if committed.suffix == ".jsonl" else "markdown"
    rendered = SHAPES[shape](found)
    if not found.files:
        click.echo(f"tools-check: {NOTHING_READ}", err=True)
    if write is not None:
        put(write, rendered)
        click.echo(f"tools-check: {write} holds {counted(len(found.rows), 'row')}", err=True)
    elif compare is not None:
        code = code or differs(compare, rendered, " ".join(map(str, paths)))
    else:
        click.echo(rendered, nl=False)
    sys.exit(code)


def put(path: Path, rendered: str) -> None:
    """Write a list; a place that cannot be written is a mistake of use."""
    try:
        path.write_text(rendered, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--write: {path} cannot be written: {error.strerror}") from error


def differs(path: Path, rendered: str, paths: str) -> int:
    """Compare a committed list with the one just made, and show what changed."""
    import difflib

    again = f"tools-check inventory --write {path} {paths}".rstrip()
    if not path.is_file():
        raise click.UsageError(f"--check: there is no file {path}; make it with {again}")
    try:
        have = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--check: {path} cannot be read: {error}") from error
    if have == rendered:
        return 0
    lines = difflib.unified_diff(have.splitlines(), rendered.splitlines(), str(path), "as it is now", lineterm="", n=0)
    click.echo("\n".join(lines))
    click.echo(f"tools-check: {path} is not current; read what changed, then write it: {again}", err=True)
    return 1


@cli.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Say what a rule finds, why it matters and what to do; without a rule, list them."""
    from tools_check.rules import ALL, BY_NAME

    if rule is None:
        click.echo("".join(f"{r.name:<22} {r.severity:<8} {r.summary}\n" for r in ALL), nl=False)
        return
    if rule not in BY_NAME:
        near = get_close_matches(rule, BY_NAME, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise click.UsageError(f"there is no rule {rule!r}; {meant}`tools-check explain` lists them")
    from tools_check._pages import terminal_page

    click.echo(terminal_page(BY_NAME[rule]), nl=False)


@cli.command()
def cases() -> None:
    """Run the cases that live in the rules."""
    from tools_check._cases import run_cases

    failures, count = run_cases()
    for failure in failures:
        click.echo(failure)
    click.echo(f"{count - len(failures)} of {count} cases right")
    sys.exit(1 if failures else 0)


def make_options(paths: tuple[Path, ...], jobs: int, no_cache: bool, config: Path | None) -> Options:
    """The options of a run; a configuration that is not understood ends it."""
    if config is not None and not config.is_file():
        raise click.UsageError(f"--config: there is no file {config}")
    start = paths[0] if paths and paths[0].is_dir() else (paths[0].parent if paths else Path())
    found = config or find_config(start)
    try:
        settings = read_config(found, rule_names)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if found is None:
        settings = Config(folder=start if start.is_dir() else Path())
    return Options(config=settings, jobs=jobs or min(4, os.cpu_count() or 1), cache=not no_cache)


def rule_names() -> Collection[str]:
    from tools_check.rules import NAMES

    return NAMES


def listed(paths: tuple[Path, ...], options: Options) -> list[str]:
    from tools_check._files import find_files

    exclude, unsaved = options.config.exclude, options.overlay
    return guarded(lambda: [f.shown for f in find_files(paths, exclude, unsaved, strict=True)], options)


def guarded(work: Callable[[], T], options: Options) -> T:
    """The mistakes of use that a run can find."""
    try:
        return work()
    except NotFound as error:
        hint = "; for standard input write --stdin-filename FILE" if str(error) == "-" else ""
        near = get_close_matches(str(error), cli.commands, 1)
        hint = f"; did you mean the command {near[0]}?" if near else hint
        raise click.UsageError(f"there is no file or folder {error}{hint}") from error
    except NoEntry as error:
        raise click.UsageError(str(error)) from error
    except NoPython as error:
        where = f"in {options.config.path} `exclude` leaves out every Python file of {error}"
        said = where if error.left_out else f"there is no Python file in {error}"
        raise click.UsageError(f"{said}, so nothing was checked; give the folders that hold your code") from error
    except ConfigError as error:
        raise click.UsageError(f"{options.config.path}: {error}") from error


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def shown_as(path: Path) -> str:
    from tools_check._files import shown

    return shown(path)


def tell(report: Report) -> None:
    """What does not belong into the output goes to standard error."""
    if not report.files:
        click.echo(f"tools-check: {NOTHING_READ}", err=True)
    for note in report.notes:
        click.echo(f"tools-check: {note}", err=True)
    for file, text in report.faults:
        click.echo(f"tools-check: {file} could not be read: {text}", err=True)


class Progress:
    """What is being read, on a terminal, when it takes longer than a second."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.shown = 0.0
        self.status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.status is not None:
            self.status.stop()

    def tick(self, text: str) -> None:
        """Show where the run is, at most ten times a second."""
        now = time.monotonic()
        if now - self.started < 1 or now - self.shown < 0.1 or not sys.stderr.isatty():
            return
        self.shown = now
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status("")
            self.status.start()
        self.status.update(f"checking {text}")


def run() -> None:
    """The whole program in a thread with room for deep code: parsers and the analysis follow what they are given."""
    sys.setrecursionlimit(RECURSION)
    threading.stack_size(STACK)
    code: list[int] = []

    def work() -> None:
        try:
            cli.main(standalone_mode=True)
        except SystemExit as end:
            code.append(end.code if isinstance(end.code, int) else 1 if end.code else 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    sys.exit(code[0] if code else 2)
