"""The structured form of an outcome: the one place where a `Foreign` becomes JSON, always inside of its envelope.

A value cannot climb out: the encoder owns the delimiters, own and foreign data stand under different keys, and nothing that
a value holds is read as a key of the envelope.
"""

from __future__ import annotations

from pydantic import JsonValue

from registry._foreign import Foreign, open_foreign, origins_of
from registry._outcome import Answered, Failed, MediaPart, Outcome, Refused
from registry._reply import Media

__all__ = ["enveloped", "media_of", "outcome_body"]


def outcome_body(outcome: Outcome) -> dict[str, JsonValue]:
    """Return an outcome as plain JSON: `outcome` (its code), `text`, `origins` and, for an answer, `data`."""
    origins = outcome.origins if isinstance(outcome, Answered | Refused | Failed) else ()
    body: dict[str, JsonValue] = {"outcome": outcome.code, "text": outcome.text, "origins": list(origins)}
    if isinstance(outcome, Answered):
        body["data"] = enveloped(outcome.data)
    return body


def enveloped(data: JsonValue | Foreign[JsonValue]) -> JsonValue:
    """Return structured data with its author beside it: `{"own": ...}` or `{"untrusted": ..., "origins": [...]}`."""
    if isinstance(data, Foreign):
        return {"untrusted": open_foreign(data), "origins": list(origins_of(data))}
    return None if data is None else {"own": data}


def media_of(part: MediaPart) -> Media:
    """Return the bytes of a media part, to be sent between its `opening` and its `closing` and nowhere else."""
    return open_foreign(part.media) if isinstance(part.media, Foreign) else part.media
