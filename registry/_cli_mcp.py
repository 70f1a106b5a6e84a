"""The command `hedgerow mcp`: the Model Context Protocol from the command line.

It decides nothing by itself: the file does, or the posture of a single user.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from registry._cli_mistake import mistake
from registry._deployment import Caller, CatalogProse, Deployment
from registry._load import load_registry
from registry._settings import FILE, compose, read_settings, secret_of
from registry.errors import HedgerowError
from registry.surfaces._tokens import Token, Tokens, digest_of

__all__ = ["mcp"]

CUT_OFF = 1


@click.command()
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The settings. Without it: {FILE} in this folder, if there is one and no --tools is given.",
)
@click.option("--instance", default="main", show_default=True, help="Which instance of the file is served.")
@click.option(
    "--tools",
    "references",
    multiple=True,
    metavar="MODULE:ATTRIBUTE",
    help="Instead of a file: these tools, all of them for whoever holds the pipe or the token. With neither: the connector "
    "packages that are installed.",
)
@click.option(
    "--prose",
    type=click.Choice(get_args(CatalogProse)),
    help="What becomes of descriptions that a third party wrote, instead of what the file says (or quoted).",
)
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve over HTTP on 127.0.0.1 instead, to the file's tokens if it has any; 0 is any free port.",
)
@click.option(
    "--token-env", metavar="VARIABLE", help="With --http and --tools: the variable that holds the token to ask for."
)
@click.option("--structured", is_flag=True, help="Send the structured half of foreign answers too, in its envelope.")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Instead of the file's (or 60)."
)
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(min=0),
    default=5,
    show_default=True,
    metavar="SECONDS",
    help="How long the end waits for what still runs.",
)
def mcp(
    config: Path | None,
    instance: str,
    references: Sequence[str],
    prose: CatalogProse | None,
    port: int | None,
    token_env: str | None,
    structured: bool,
    timeout_s: float | None,
    drain_s: float,
) -> None:
    """Serve the tools over the Model Context Protocol, on standard input and output or over HTTP.

    The posture (who may call what, and every limit) is printed to standard error at the start.
    """
    try:
        from registry.surfaces import mcp as surface
    except ImportError as error:
        raise click.UsageError(str(error)) from error
    if token_env is not None and port is None:
        raise click.UsageError("--token-env needs --http: there is no place for a token on standard input.")
    try:
        deployment, tokens = composed(config, instance, references, token_env, timeout_s)
        if prose is not None:
            deployment = replace(deployment, catalog_prose=prose)
        if timeout_s is not None:
            deployment = replace(deployment, reply_timeout_s=timeout_s)
    except HedgerowError as error:
        raise mistake(error) from error

    def verify(presented: str) -> Caller | None:
        holder = tokens.holder(presented.encode("utf-8", "surrogatepass")) if tokens is not None else None
        return holder.caller(deployment) if holder is not None and instance in holder.instances else None

    if port is None:
        serving = surface.serve_stdio(deployment, structured=structured, drain_s=drain_s)
    else:
        asks = None if tokens is None else verify
        serving = surface.serve_http(deployment, port=port, verify=asks, structured=structured, drain_s=drain_s)
    try:
        running = asyncio.run(serving)
    except OSError as error:
        raise click.ClickException(f"It cannot listen on port {port}: {error.strerror}.") from error
    if running:
        click.echo(f"{running} calls still run and end with this process.", err=True)
        sys.stderr.flush()
        # A thread that does not end would hold the process for ever.
        os._exit(CUT_OFF)


def composed(
    config: Path | None, instance: str, references: Sequence[str], token_env: str | None, timeout_s: float | None
) -> tuple[Deployment, Tokens | None]:
    """Return what is served, and who may come in over HTTP; None is everybody on this machine."""
    if config is not None and references:
        raise click.UsageError("--config and --tools are two ways to say the same. Give one of them.")
    if config is None and not references and Path(FILE).exists():
        config = Path(FILE)
    if config is None:
        return alone(instance, references, token_env, timeout_s)
    if token_env is not None:
        raise click.UsageError(f"--token-env goes with --tools. Name the token in {config.name}.")
    composition = compose(read_settings(config))
    if instance not in composition.deployments:
        raise click.UsageError(f"There is no instance {instance!r}. There are: {', '.join(composition.deployments)}.")
    return composition.deployments[instance], composition.tokens


def alone(
    instance: str, references: Sequence[str], token_env: str | None, timeout_s: float | None
) -> tuple[Deployment, Tokens | None]:
    registry = load_registry(references)
    if not registry:
        raise click.UsageError(
            "No tools are installed. Install a package that offers some, or name yours: --tools my_tools:TOOLS."
        )
    deployment = Deployment.single_user(registry, reply_timeout_s=60 if timeout_s is None else timeout_s)
    if token_env is None:
        return deployment, None
    digest = digest_of(secret_of("--token-env", token_env, os.environ))
    return deployment, Tokens([Token(id="owner", sha256=digest, instances=frozenset({instance}), grants=None)])
