"""References of a pipeline: `step.path`, read by a JSONPath library and held to what cannot surprise.

A path is names, positions, slices and `*`. Filters and descents are refused: with those, whoever wrote the data would choose
which of it is bound. What a reference finds is never shown in an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast, final

from registry._reply import json_data

if TYPE_CHECKING:
    from jsonpath import JSONPath, JSONPathEnvironment

__all__ = ["MISSING", "Missing", "Ref", "RefError", "Template", "find", "parse_ref", "parse_template"]

ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
HOLES: Final = re.compile(r"\{\{|\}\}|\{(?P<ref>[^{}]*)\}|[{}]")


@final
class RefError(Exception):
    """A reference or a template cannot be read; the text says why, in words of ours and of the pipeline's author."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """One step of a path."""

    query: JSONPath
    is_single: bool
    """Whether it finds one value at most."""
    name: str | None
    """The key, where it is one."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ref:
    """A reference to a value: of which step, and where in it."""

    text: str
    step: str
    segments: tuple[Segment, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Template:
    """A text with references in it."""

    pieces: tuple[str | Ref, ...]

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Ref))


@lru_cache(maxsize=1)
def environment() -> JSONPathEnvironment:
    try:
        from jsonpath import JSONPathEnvironment
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Pipelines need python-jsonpath. Write: pip install 'hedgerow[pipeline]'", name=missing.name
        ) from missing
    return JSONPathEnvironment(strict=True)


@lru_cache(maxsize=4096)
def parse_ref(text: str) -> Ref:
    """Read `step` or `step.path`.

    Raises:
        RefError: it is not of that form, or holds what is not allowed.
    """
    name = ID.match(text)
    if name is None:
        raise RefError(f"{text!r} does not begin with the id of a step. Write 'step' or 'step.path'.")
    path = text[name.end() :]
    if path and path[0] not in ".[":
        raise RefError(f"{text!r} has no '.' or '[' after the id of its step. Write 'step.path'.")
    return Ref(text=text, step=name[0], segments=tuple(segments(text, path)))


def segments(text: str, path: str) -> Iterator[Segment]:
    env = environment()
    from jsonpath import JSONPathError
    from jsonpath.segments import JSONPathChildSegment
    from jsonpath.selectors import IndexSelector, NameSelector, SliceSelector, WildcardSelector

    try:
        found = env.compile(f"${path}")
    except (JSONPathError, RecursionError) as error:
        raise RefError(f"{text!r} is not a path of RFC 9535: {reason(error)}.") from error
    for segment in cast("JSONPath", found).segments:
        selectors = segment.selectors
        if not isinstance(segment, JSONPathChildSegment) or not all(
            isinstance(selector, IndexSelector | NameSelector | SliceSelector | WildcardSelector)
            for selector in selectors
        ):
            raise RefError(f"{text!r} holds a descent or a filter. Write names, positions, slices and '*' alone.")
        only = selectors[0] if len(selectors) == 1 else None
        yield Segment(
            # By itself, so that a text on the way can be parsed before the path goes on into it.
            query=cast("JSONPath", env.compile(f"${segment}")),
            is_single=isinstance(only, IndexSelector | NameSelector),
            name=only.name if isinstance(only, NameSelector) else None,
        )


def reason(error: Exception) -> str:
    return str(error.args[0]).partition("\n")[0] if error.args else "it cannot be read"


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Read a text with `{step.path}` in it; `{{` and `}}` are braces.

    Raises:
        RefError: a brace stands alone, or a reference cannot be read.
    """
    pieces: list[str | Ref] = []
    done = 0
    for hole in HOLES.finditer(text):
        pieces.append(text[done : hole.start()])
        done = hole.end()
        if hole["ref"] is not None:
            pieces.append(parse_ref(hole["ref"]))
        elif len(hole[0]) == 1:
            raise RefError(f"a {hole[0]!r} stands alone. Write {{step.path}} for a value, {hole[0] * 2} for the brace.")
        else:
            pieces.append(hole[0][0])
    return Template(pieces=tuple(piece for piece in (*pieces, text[done:]) if piece != ""))


# -- looking -------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing was found."""

    why: str


MISSING: Final = Missing("finds nothing")
NOT_JSON: Final = Missing("leads into a text that is not JSON")


def find(segments: tuple[Segment, ...], value: object) -> object:
    """Return what a path finds in a value: one value, or the list of them where the path can find several.

    A text that the path leads into is parsed as JSON.
    """
    nodes = [value]
    unreadable = False
    for segment in segments:
        onward: list[object] = []
        for node in nodes:
            inside = parsed(node) if isinstance(node, str) else node
            unreadable = unreadable or isinstance(inside, Missing)
            if isinstance(inside, dict | list):
                onward += [match.obj for match in segment.query.finditer(cast("Any", inside))]
        nodes = onward
    if not all(segment.is_single for segment in segments):
        return nodes
    if nodes:
        return nodes[0]
    return NOT_JSON if unreadable else MISSING


def parsed(text: str) -> object:
    """The text as JSON, in the bounds of a reply's data, so that no depth of it fails later."""
    try:
        return json_data(json.loads(text))
    except (ValueError, RecursionError):
        return NOT_JSON
