"""How a run is made, and the answers of whole runs, kept until anything changes that they hang on.

Nothing of the analysis is imported here: a run that finds its answer kept needs none of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import final

from tools_check._config import Config
from tools_check._files import SourceFile
from tools_check._report import VERSION
from tools_check._store import FOLDER, Store


@final
@dataclass(slots=True, kw_only=True)
class Options:
    """How a run is made."""

    config: Config = field(default_factory=Config)
    jobs: int = 1
    cache: bool = True
    tick: Callable[[str], None] = lambda _text: None
    overlay: dict[str, bytes] = field(default_factory=dict[str, bytes])


def make_store(options: Options) -> Store:
    """The files of a run, and the cache of the folder that the configuration lies in."""
    folder = options.config.folder / FOLDER if options.cache else None
    # What a file mentions of a framework is kept of it, and hangs on the tables of the configuration too.
    tables = repr(options.config.frameworks).encode("utf-8", "surrogateescape")
    version = blake2b(tables, key=checker_digest().encode(), digest_size=8).hexdigest()
    return Store(folder, cache(partial(words_of, options.config)), version)


def words_of(config: Config) -> re.Pattern[bytes]:
    """What a file that defines a tool of a framework mentions."""
    from tools_check import _frameworks  # with it comes the analysis

    return _frameworks.words(config.frameworks)


def answer_key(command: str, files: list[SourceFile], options: Options) -> str:
    """A name for this question: the command, the files by name, the configuration, the list of ways in, the checker."""
    text = "\0".join([VERSION, command, str(Path.cwd()), options.config.digest, *(f.shown for f in files)])
    work = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16)
    ingresses = options.config.ingresses
    if ingresses is not None and ingresses.is_file():
        work.update(ingresses.read_bytes())
    return work.hexdigest() + checker_digest()


@cache
def checker_digest() -> str:
    """Changes with the checker itself: sizes and times of its own files."""
    own = Path(__file__).parent
    parts: list[str] = []
    for path in sorted([*own.glob("*.py"), *own.glob("*.toml"), *own.glob("rules/*.py")]):
        found = path.stat()
        parts.append(f"{path.name}:{found.st_size}:{found.st_mtime_ns}")
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()


def state_digest(store: Store) -> str:
    work = blake2b(digest_size=16)
    for shown in sorted(store.scans):
        work.update(shown.encode("utf-8", "surrogateescape") + store.scans[shown].digest)
    return work.hexdigest()
