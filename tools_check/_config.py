"""The settings `[tool.tools_check]` of a pyproject.toml; a key that is not known is refused, never skipped."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    digest: str = ""


def find_config(start: Path) -> Path | None:
    """The nearest pyproject.toml at or above a folder."""
    folder = start.absolute()
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file():
            return candidate / "pyproject.toml"
    return None


def read_config(path: Path | None, rules: frozenset[str]) -> Config:
    """The settings of a file; the standard ones without a file or a table.

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
    return from_table(path, table, rules)


def from_table(path: Path, table: Mapping[str, Any], rules: frozenset[str]) -> Config:
    """The settings of one table."""
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise ConfigError(
            f"{path}: [tool.tools_check] has no key {unknown[0]!r}; known keys are {', '.join(sorted(KEYS))}"
        )
    environment = table.get("environment", "own")
    if environment not in ("own", "foreign"):
        raise ConfigError(f'{path}: environment is {environment!r}; write "own" or "foreign"')
    exclude = table.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(e, str) for e in exclude):  # pyright: ignore[reportUnknownVariableType]
        raise ConfigError(f"{path}: exclude is {exclude!r}; write a list of regular expressions")
    ignores: list[tuple[str, tuple[str, ...]]] = []
    for pattern, entry in table.get("per-path-ignores", {}).items():
        given: dict[str, Any] = dict(entry) if isinstance(entry, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
        if not given.get("reason") or not given.get("rules"):
            raise ConfigError(f'{path}: per-path-ignores {pattern!r} needs `rules = [...]` and `reason = "..."`')
        names: tuple[str, ...] = tuple(given["rules"])
        for name in names:
            if name not in rules:
                raise ConfigError(f"{path}: per-path-ignores {pattern!r}: there is no rule {name!r}")
        ignores.append((pattern, names))
    return Config(
        exclude=tuple(exclude),  # pyright: ignore[reportUnknownArgumentType]
        environment=environment,
        sources=table.get("sources", {}),
        frameworks=table.get("frameworks", {}),
        baseline=beside(path, table, "baseline"),
        ingresses=beside(path, table, "ingresses"),
        ignores=tuple(ignores),
        folder=path.parent,
        digest=repr(sorted(table.items(), key=lambda item: item[0])),
    )


def beside(path: Path, table: Mapping[str, Any], name: str) -> Path | None:
    """A file that the configuration names, from where the configuration lies."""
    value = table.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path}: {name} is {value!r}; write the path of a file")
    return path.parent / value
