"""What a call can end in: a closed set of facts. A surface translates one; it decides nothing.

`text` is what a model may read, always. Nothing in an outcome holds foreign text outside of a fence or a `Foreign`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, final

from pydantic import JsonValue

from registry._foreign import Foreign
from registry._reply import Media

__all__ = ["Answered", "ArgumentError", "Failed", "Malformed", "MediaPart", "Outcome", "Refused", "Shed", "TimedOut"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MediaPart:
    """One media part of an answer, with the two fenced lines between which a surface sends it."""

    media: Media | Foreign[Media]
    """The bytes; `Foreign` when somebody else chose them."""
    opening: str
    """The line before it; empty for media of our own."""
    closing: str
    """The line after it; empty for media of our own."""
    origins: tuple[str, ...]
    """Who chose the bytes; empty for media of our own."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """The tool answered."""

    text: str
    """Own parts bare, foreign parts fenced."""
    data: JsonValue | Foreign[JsonValue]
    """The structured half, or None; `Foreign` when somebody else chose it."""
    origins: tuple[str, ...]
    """Who chose the foreign bytes, in full; empty for own words alone."""
    media: tuple[MediaPart, ...]
    """The parts that are not text."""
    code: Literal["answered"] = field(default="answered", init=False)
    """Stable, for programs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refused:
    """The tool or the dispatcher said no. It is a result and not an error: asking again in the same way is pointless."""

    code: str
    """Stable, for programs: the handler's own, or `not_permitted`, `unknown_tool`, `result_too_large`,
    `undeclared_foreign`, `double_fence`."""
    text: str
    """A code and a sentence; echoes nothing of the caller."""
    origins: tuple[str, ...] = ()
    """Who chose the arguments that the sentence may echo; then it is fenced."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentError:
    """One thing that is wrong with the arguments."""

    pointer: str
    """Where, as a JSON Pointer in a fragment (`#/inner/mode`); for a name that is the caller's, the object around it."""
    text: str
    """What it must be, in our words; never a value."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Malformed:
    """The arguments are not the input of the tool. The handler was not called."""

    text: str
    """Each field and the kind of error; never a value."""
    errors: tuple[ArgumentError, ...] = ()
    """The same for a program, one by one; the first 20."""
    code: Literal["malformed"] = field(default="malformed", init=False)
    """Stable, for programs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Failed:
    """The handler raised, or answered in a way that cannot be shown."""

    text: str
    """A fixed sentence, the handler's own words, and its foreign detail in a fence."""
    origins: tuple[str, ...] = ()
    """Who chose the detail."""
    code: Literal["failed"] = field(default="failed", init=False)
    """Stable, for programs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shed:
    """Every place was taken for the whole admission window. The handler was never started."""

    text: str
    """Says that it may be asked again."""
    code: Literal["shed"] = field(default="shed", init=False)
    """Stable, for programs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimedOut:
    """The reply deadline ran out while the handler ran."""

    text: str
    """Says whether it was stopped (`read`) or may still be running, and so must not be repeated."""
    code: Literal["timed_out"] = field(default="timed_out", init=False)
    """Stable, for programs."""


Outcome: TypeAlias = "Answered | Refused | Malformed | Failed | Shed | TimedOut"
"""What a call ended in; a program matches on the class."""
