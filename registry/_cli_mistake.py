"""What the command line prints of an error of ours: the frames of somebody's code that were noted on it, and one sentence."""

from __future__ import annotations

import click

__all__ = ["Unusable", "mistake"]


def mistake(error: Exception) -> click.UsageError:
    """The end of a command with exit code 2."""
    for note in getattr(error, "__notes__", ()):
        click.echo(f"{note}\n", err=True)
    return click.UsageError(str(error))


class Unusable(click.ClickException):
    """What was named rightly cannot be used: one sentence, without the lines about the use of the command."""

    exit_code = 2
