"""What a file's bytes say before it is parsed: which words it mentions, what it imports; decides what need
not be parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from tools_check._files import SourceFile
from tools_check._hints import hints

REGISTRY: Final = 1
WORDINGS: Final = 2
SUPPRESSES: Final = 4
FRAMEWORK: Final = 8
DECORATES: Final = 16

# Possessive, and no two parts that can share a character: the time stays in step with the file, whatever it holds.
IMPORTS: Final = re.compile(
    rb"(?:^|[;:])[ \t]*+(?:from[ \t]++([\w.]++)[ \t]++import\b[ \t]*+(\((?:[^()#]|#[^\n]*+)*+\)|(?:[^\n#;\\]|\\\r?\n)*+)"
    rb"|import[ \t]++([\w., \t]++))",
    re.MULTILINE,
)
# A decorator that is none of Python's own.
DECORATOR: Final = re.compile(
    rb"^[ \t]*+@(?!(?:property|staticmethod|classmethod|abstractmethod|dataclass|overload|override|cached_property|abc"
    rb"|functools|typing|pytest|contextmanager|asynccontextmanager|contextlib|\w++\.(?:setter|deleter|getter))\b)\w",
    re.MULTILINE,
)
COMMENT: Final = re.compile(rb"#[^\n]*+|\\")
OURS: Final = re.compile(
    rb"\bToolDef\b|(?:^|[;:])[ \t]*+(?:from[ \t]++registry[ \t.]|import[ \t][^\n#]*?\bregistry\b)", re.MULTILINE
)


class Scan(NamedTuple):
    """One file's digest, the words that it mentions (a sum of the constants above), and the modules it
    imports.
    """

    digest: bytes
    words: int
    imports: tuple[str, ...]


def scan(data: bytes, source: SourceFile, frameworks: re.Pattern[bytes]) -> Scan:
    """Look at a file's bytes."""
    words = 0
    if OURS.search(data):
        words |= REGISTRY
    lowered = data.lower()
    if hints(lowered):
        words |= WORDINGS
    if b"tools-check" in data:
        words |= SUPPRESSES
    if frameworks.search(data):
        words |= FRAMEWORK
    if DECORATOR.search(data):
        words |= DECORATES
    return Scan(digest_of(data), words, imports_of(data, source))


def digest_of(data: bytes) -> bytes:
    """What names the bytes of a file."""
    return blake2b(data, digest_size=20).digest()


def imports_of(data: bytes, source: SourceFile) -> tuple[str, ...]:
    """The absolute names of the modules that a file may import."""
    found: set[str] = set()
    package = source.name.split(".") if source.is_package else source.name.split(".")[:-1]
    for match in IMPORTS.finditer(data):
        if match[3] is not None:
            found.update(p.split()[0].decode("ascii", "ignore") for p in match[3].split(b",") if p.split())
            continue
        module = match[1].decode("ascii", "ignore")
        dots = len(module) - len(module.lstrip("."))
        base = module.lstrip(".")
        if dots:
            parts = package[: max(0, len(package) - dots + 1)] + ([base] if base else [])
            base = ".".join(parts)
        if base:
            found.add(base)
        for name in COMMENT.sub(b"", match[2]).strip(b"()").split(b","):
            words = name.split()
            if words:
                found.add(
                    f"{base}.{words[0].decode('ascii', 'ignore')}" if base else words[0].decode("ascii", "ignore")
                )
    return tuple(sorted(found))


def decorated_users(files: Mapping[str, SourceFile], scans: Mapping[str, Scan], roots: set[str]) -> set[str]:
    """The files that import one of the roots and have decorators: what these are called says nothing by itself."""
    names = {name for shown in roots for name in files[shown].names}
    return {
        shown
        for shown, found in scans.items()
        if found.words & DECORATES
        and any(target in names or target.rpartition(".")[0] in names for target in found.imports)
    }


def importers(files: Mapping[str, SourceFile], scans: Mapping[str, Scan], roots: set[str]) -> set[str]:
    """The files that import one of the roots, directly or through others; files and roots by shown path."""
    by_name: dict[str, list[str]] = {}
    for shown, source in files.items():
        for name in source.names:
            by_name.setdefault(name, []).append(shown)
    users: dict[str, list[str]] = {}
    for shown, found in scans.items():
        for name in found.imports:
            for target in by_name.get(name, ()):
                if target != shown:
                    users.setdefault(target, []).append(shown)
    out = set(roots)
    todo = list(roots)
    while todo:
        for user in users.get(todo.pop(), ()):
            if user not in out:
                out.add(user)
                todo.append(user)
    return out
