"""The command `hedgerow pin`: look at what peers say of their tools, and keep it as what may reach a model.

It shows nothing that a peer wrote but names that keep to the grammar of names: the words are for an editor and a diff, where
they cannot be taken for ours.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from registry.cli import Unusable, load_attribute, mistake, theirs
from registry.errors import HedgerowError, IngressRefused

if TYPE_CHECKING:
    from connectors._mcp_peer import Peer

__all__ = ["pin"]

FILE = "hedgerow.pins.json"
DIFFERENT = 1


@click.command()
@click.argument("references", nargs=-1, required=True, metavar="MODULE:ATTRIBUTE...")
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(FILE),
    show_default=True,
    help="The file of pins. Peers that are not named keep what stands in it.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; the exit code is 1 where a peer differs from its pins, and 2 where one cannot be asked.",
)
@click.option(
    "--secret-prefix",
    default="HEDGEROW_SECRET_",
    show_default=True,
    metavar="PREFIX",
    help="A secret of a peer is the variable of this prefix and its name, in capitals, with '_' for '-'.",
)
@click.pass_context
def pin(context: click.Context, references: tuple[str, ...], file: Path, check: bool, secret_prefix: str) -> None:
    """Ask peers for their tools, say what has changed, and pin it.

    MODULE:ATTRIBUTE is a StdioPeer or an HttpPeer, a list of them, or a function that returns one. Read the file before you
    commit it: what stands in it was written by the peers, and will be shown to models as their words.
    """
    try:
        from connectors import mcp_client
        from connectors._mcp_pins import Pins, read_pins, write_pins
    except ImportError as error:
        raise click.UsageError(str(error)) from error

    def secret(name: str) -> str:
        return os.environ[secret_prefix + name.upper().replace("-", "_")]

    try:
        given = [peer for reference in references for peer in peers_of(reference)]
    except HedgerowError as error:
        raise mistake(error) from error
    try:
        peers = mcp_client.checked(given)
        pins = read_pins(file) if file.exists() else Pins()
        found = {peer.name: asyncio.run(mcp_client.offered(peer, secret)) for peer in peers}
    except (HedgerowError, IngressRefused) as error:
        raise Unusable(str(error)) from error
    is_same = True
    for peer in peers:
        usable, told, differs = mcp_client.looked_at(peer, pins.peers.get(peer.name), found[peer.name])
        is_same = is_same and not differs
        click.echo("\n".join(told))
        pins = Pins(peers={**pins.peers, peer.name: usable})
    if check:
        context.exit(0 if is_same else DIFFERENT)
    if is_same and file.exists():
        click.echo(f"{file} is as it was.")
        return
    write_pins(file, pins)
    click.echo(f"Written: {file}. Read it before you commit it: what stands in it was written by the peers.")


def peers_of(reference: str) -> Iterable[Peer]:
    found: object = load_attribute(reference, option="MODULE:ATTRIBUTE")
    with theirs(f"MODULE:ATTRIBUTE {reference!r}"):
        found = cast("Callable[[], object]", found)() if callable(found) else found
    if isinstance(found, Mapping):
        return cast("Mapping[str, Peer]", found).values()
    # What is none of a peer is told by `checked`.
    return cast("Iterable[Peer]", found) if isinstance(found, list | tuple) else (cast("Peer", found),)
