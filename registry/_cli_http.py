"""The commands `hedgerow serve` and `hedgerow token`: HTTP from the command line.

`serve` decides nothing by itself: the file does, or the posture of a single user with the one token of the environment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from registry._cli_mistake import mistake
from registry._deployment import Deployment
from registry._load import load_registry
from registry._settings import FILE, Composition, HttpSettings, compose, posture_of, read_settings, secret_of
from registry.errors import HedgerowError
from registry.surfaces._tokens import Token, Tokens, digest_of, new_token

__all__ = ["serve", "token"]

VARIABLE = "HEDGEROW_TOKEN"
CUT_OFF = 1


@click.command()
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The settings. Without it: {FILE} in this folder, if there is one and no --tools is given.",
)
@click.option(
    "--tools",
    "references",
    multiple=True,
    metavar="MODULE:ATTRIBUTE",
    help=f"Instead of a file: these tools as the instance 'main', all of them for the holder of the token in {VARIABLE}.",
)
@click.option("--host", help="The address to listen on, instead of that of the file.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port, instead of that of the file (or 8000); 0 is a free one."
)
def serve(config: Path | None, references: Sequence[str], host: str | None, port: int | None) -> None:
    """Serve tools over HTTP until SIGTERM or Ctrl-C, to those who have a token.

    What was decided is printed to standard error at the start. The exit code is 0 when all that was running has ended, 1
    when something was cut off, 2 for a wrong setting.
    """
    try:
        composition = composed(config, references)
    except HedgerowError as error:
        raise mistake(error) from error
    changed = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    ended = serving(replace(composition, http=composition.http.model_copy(update=changed)))
    if not ended:
        # A thread that does not end would hold the process for ever.
        sys.stderr.flush()
        os._exit(CUT_OFF)


@click.command()
def token() -> None:
    """Make a token: the token on standard output, what hedgerow.toml needs of it on standard error."""
    made = new_token()
    click.echo(made)
    click.echo(f'sha256 = "{digest_of(made)}"', err=True)


def composed(config: Path | None, references: Sequence[str]) -> Composition:
    if config is not None and references:
        raise click.UsageError("--config and --tools are two ways to say the same. Give one of them.")
    if config is None and not references and Path(FILE).exists():
        config = Path(FILE)
    if config is not None:
        return compose(read_settings(config))
    if not references:
        raise click.UsageError(
            f"There is no {FILE} in this folder. Write one, or name your tools: --tools my_tools:TOOLS."
        )
    deployment = Deployment.single_user(load_registry(references))
    secret = secret_of("--tools", VARIABLE, os.environ)
    holder = Token(id="owner", sha256=digest_of(secret), instances=frozenset({"main"}), grants=None)
    return Composition(
        deployments={"main": deployment},
        admission=deployment.admission,
        tokens=Tokens([holder]),
        http=HttpSettings(),
        fence_key_is="random",
    )


def serving(composition: Composition) -> bool:
    """Serve, and return whether all that was running has ended."""
    http = composition.http
    try:
        from registry.surfaces._serve import serve as until_told
        from registry.surfaces.http import HttpSurface
    except ModuleNotFoundError as error:
        raise click.UsageError(str(error)) from error
    if composition.tokens is None:
        raise click.UsageError("tokens: there is none, so nobody could come in. Make one with `hedgerow token`.")
    surface = HttpSurface(
        composition.deployments,
        tokens=composition.tokens,
        max_body_bytes=http.max_body_bytes,
        body_timeout_s=http.body_timeout_s,
    )
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    def started(host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        click.echo(posture_of(composition, f"HTTP on http://{shown}:{port}"), err=True)

    try:
        return asyncio.run(
            until_told(
                surface,
                host=http.host,
                port=http.port,
                head_timeout_s=http.head_timeout_s,
                lame_duck_s=http.lame_duck_s,
                drain_s=http.drain_s,
                max_connections=http.max_connections,
                started=started,
            )
        )
    except OSError as error:
        raise click.ClickException(f"It cannot listen on {http.host} port {http.port}: {error.strerror}.") from error
