"""Which databases `connectors.sql` asks: where each is, and what a model is told of it. Nothing here opens one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, final

from registry.errors import DeclarationError

__all__ = ["Postgres", "Sqlite"]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sqlite:
    """A SQLite file.

    Raises:
        DeclarationError: the path is not a Path, or the name is not plain.
    """

    path: Path
    """Where it is; it need not be there yet."""
    name: str
    """What a model is told of it: letters, digits, `_` and `-`."""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.path), Path):
            raise DeclarationError("connectors.sql: the path of a Sqlite is not a Path. Write Path(...) of the file.")
        check_name(self.name)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A PostgreSQL database, asked as a role that may read and nothing else.

    Raises:
        DeclarationError: the name is not plain.
    """

    name: str
    """What a model is told of it, and the name of the secret: letters, digits, `_` and `-`."""
    secrets: Callable[[str], str]
    """Gives the connection string (`postgresql://...` or `host=... dbname=...`) by that name, at each call."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if not callable(cast("object", self.secrets)):
            raise DeclarationError(
                "connectors.sql: secrets of a Postgres is not a function. Write one that gives a secret by its name."
            )


def check_name(name: object) -> None:
    """Hold the name of a database to a grammar: it stands in words of ours.

    Raises:
        DeclarationError: it is something else.
    """
    if not isinstance(name, str) or not NAME.match(name):
        raise DeclarationError(
            "connectors.sql: the name of a database is not plain. Write 1 to 40 letters, digits, '_' and '-', such as 'shop'."
        )
