"""The settings `[tool.tools_check]` of a pyproject.toml; a key that is not known is refused, never skipped."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, final

KEYS: Final = {
    "exclude": "a list of regular expressions over paths that are not read",
    "environment": '"own" or "foreign": whether console input, environment variables and configuration are the owner\'s words',  # noqa: E501
    "sources": "tables as in tools_check/sources.toml: libraries and functions of your own",
    "frameworks": "tables as in tools_check/frameworks.toml: how tools of another framework look",
    "ingresses": "the committed list of ways in, written by `tools-check inventory --write`",
    "baseline": "the file of findings that are known",
    "per-path-ignores": "a table: regular expression -> {rules = [...], reason = \"...\"}",
}  # fmt: skip


SHAPES: Final = {list: "a list of names", dict: "a table", str: "a text", bool: "true or false"}


class ConfigError(Exception):
    """The configuration holds something that is not known."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings of one run."""

    exclude: tuple[str, ...] = ()
    environment: str = "own"
    sources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    frameworks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    baseline: Path | None = None
    ingresses: Path | None = None
    ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    folder: Path = Path()
    path: Path | None = None  # where these settings stand
    digest: str = ""


def find_config(start: Path) -> Path | None:
    """The nearest pyproject.toml at or above a folder."""
    folder = start.absolute()
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file():
            return candidate / "pyproject.toml"
    return None


def read_config(path: Path | None, rules: Callable[[], Collection[str]]) -> Config:
    """The settings of a file; the standard ones without a file or a table.

    Args:
        path: a pyproject.toml.
        rules: the names of the rules; asked only where the file names one.

    Raises:
        ConfigError: when the file is no TOML, or a key or value is not known.
    """
    if path is None:
        return Config()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    table = raw.get("tool", {}).get("tools_check", {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.tools_check is {table!r}; write a table, [tool.tools_check]")
    return from_table(path, table, rules)  # pyright: ignore[reportUnknownArgumentType]


def from_table(path: Path, table: Mapping[str, Any], rules: Callable[[], Collection[str]]) -> Config:
    """The settings of one table."""
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        near = get_close_matches(unknown[0], KEYS, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"{path}: [tool.tools_check] has no key {unknown[0]!r}; {meant}known keys are {', '.join(sorted(KEYS))}"
        )
    environment = table.get("environment", "own")
    if environment not in ("own", "foreign"):
        raise ConfigError(f'{path}: environment is {environment!r}; write "own" or "foreign"')
    exclude = table.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(e, str) for e in exclude):  # pyright: ignore[reportUnknownVariableType]
        raise ConfigError(f"{path}: exclude is {exclude!r}; write a list of regular expressions")
    for pattern in exclude:  # pyright: ignore[reportUnknownVariableType]
        hold_to_pattern(path, "exclude", pattern)  # pyright: ignore[reportUnknownArgumentType]
    ignores: list[tuple[str, tuple[str, ...]]] = []
    for pattern, entry in table_at(path, table, "per-path-ignores").items():
        hold_to_pattern(path, "per-path-ignores", pattern)
        given: dict[str, Any] = dict(entry) if isinstance(entry, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
        if not given.get("reason") or not isinstance(given.get("rules"), list):
            raise ConfigError(f'{path}: per-path-ignores {pattern!r} needs `rules = [...]` and `reason = "..."`')
        names: tuple[str, ...] = tuple(given["rules"])
        for name in names:
            if name not in rules():
                raise ConfigError(f"{path}: per-path-ignores {pattern!r}: there is no rule {name!r}")
        ignores.append((pattern, names))
    return Config(
        exclude=tuple(exclude),  # pyright: ignore[reportUnknownArgumentType]
        environment=environment,
        sources=table_at(path, table, "sources"),
        frameworks=table_at(path, table, "frameworks"),
        baseline=beside(path, table, "baseline"),
        ingresses=beside(path, table, "ingresses"),
        ignores=tuple(ignores),
        folder=path.parent,
        path=path,
        digest=repr(sorted(table.items(), key=lambda item: item[0])),
    )


def hold_to_pattern(path: Path, name: str, pattern: str) -> None:
    """Refuse what is no regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{path}: {name}: {pattern!r} is no regular expression: {error}") from error


def table_at(path: Path, table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of tables."""
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: {name} is {found!r}; write {KEYS[name]}")
    return found  # pyright: ignore[reportUnknownVariableType]


def hold_to_shape(where: str, table: object, shapes: Mapping[str, type]) -> None:
    """Refuse a table with a key that is not known, or with a value of another kind."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where} is {table!r}; write a table")
    for key, value in table.items():  # pyright: ignore[reportUnknownVariableType]
        if key not in shapes:
            raise ConfigError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(shapes))}")
        if not isinstance(value, shapes[key]):
            raise ConfigError(f"{where}: {key} is {value!r}; write {SHAPES[shapes[key]]}")


def beside(path: Path, table: Mapping[str, Any], name: str) -> Path | None:
    """A file that the configuration names, from where the configuration lies."""
    value = table.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path}: {name} is {value!r}; write the path of a file")
    return path.parent / value
