"""What every adapter needs: arguments as a model wrote them, and the parts of an answer in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from registry._outcome import Answered, Outcome, Refused
from registry._render import content_of
from registry._reply import Media
from registry.surfaces._wire import wire_text

__all__ = ["arguments_of", "is_error", "parts_of"]


def arguments_of(text: str) -> Mapping[str, Any]:
    """Read the JSON that a model wrote. What is no JSON is no mapping either, which the dispatcher finds malformed."""
    try:
        return cast("Mapping[str, Any]", json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return cast("Mapping[str, Any]", None)


def is_error(outcome: Outcome) -> bool:
    """Whether a call did not end as the tool wanted. A refusal is a result, and asking again in the same way is pointless."""
    if isinstance(outcome, Refused):
        return outcome.code == "unknown_tool"
    return not isinstance(outcome, Answered)


def parts_of(outcome: Outcome) -> Iterator[str | Media]:
    """Yield the text, then each media part between its two fenced lines."""
    yield wire_text(outcome.text)
    if not isinstance(outcome, Answered):
        return
    for part in outcome.media:
        if part.opening:
            yield part.opening
        yield content_of(part.media)
        if part.closing:
            yield part.closing
