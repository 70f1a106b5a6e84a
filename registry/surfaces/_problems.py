"""What the HTTP surface says when there is no result: RFC 9457 problems, each of fixed words.

No text of an exception and no value of a caller enters one. What a model may read of an outcome stands in `text`, as on
every surface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, final

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

__all__ = ["PROBLEMS", "ProblemKind", "json_bytes", "problem_body"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKind:
    """One kind of problem."""

    status: int
    """The HTTP status."""
    title: str
    """What happened, in a few words."""
    detail: str
    """What to do."""


# Name, status, what happened in a few words, what to do.
# One answer for an instance that there is not, one that the token does not open, and a tool that there is not: `not-found`.
ROWS: Final = (
    ("not-json", 400, "The body is not JSON.", "Send the arguments as one JSON object, in UTF-8."),
    (
        "no-such-page",
        400,
        "There is no such page.",
        "Send the cursor that the page before named, and a limit of 1 to 1000, or neither.",
    ),
    ("unauthorized", 401, "No valid token.", "Send one header: Authorization: Bearer TOKEN."),
    ("not-permitted", 403, "The token lacks the grant.", "Ask the operator for a token with the grant of this tool."),
    ("not-found", 404, "Nothing is here.", "List the tools of an instance that the token opens."),
    ("method-not-allowed", 405, "The method is not for this address.", "Use a method of the header Allow."),
    ("too-slow", 408, "The body did not come in time.", "Send the whole body at once. No tool was started."),
    ("too-large", 413, "The body is too large.", "Send smaller arguments. The body was not read."),
    (
        "not-json-type",
        415,
        "The body is not sent as JSON.",
        "Send Content-Type: application/json and no Content-Encoding.",
    ),
    ("malformed", 422, "The arguments do not fit.", "Correct the fields that `text` names."),
    ("failed", 500, "The tool failed.", "The operator finds the reason in the log, by the request id."),
    ("internal", 500, "The server failed.", "The operator finds the reason in the log, by the request id."),
    ("shed", 503, "Every place was taken.", "The tool was not started. Ask again after Retry-After."),
    ("draining", 503, "The server is about to end.", "Ask another one. No tool was started."),
    ("timed-out", 504, "The tool did not answer in time.", "Read `text` before the call is repeated."),
)
PROBLEMS: Final[Mapping[str, ProblemKind]] = MappingProxyType(
    {name: ProblemKind(status=status, title=title, detail=detail) for name, status, title, detail in ROWS}
)


def problem_body(name: str, request_id: str) -> dict[str, JsonValue]:
    """Return a problem. Beside it stands what a model may read of an outcome, in the same fields as in a result."""
    kind = PROBLEMS[name]
    return {
        "type": f"urn:hedgerow:problem:{name}",
        "title": kind.title,
        "status": kind.status,
        "detail": kind.detail,
        "request_id": request_id,
    }


def json_bytes(body: JsonValue) -> bytes:
    """Write JSON in ASCII: a lone surrogate survives as its escape, and no decoder has to guess."""
    try:
        return to_json(body, ensure_ascii=True)
    except PydanticSerializationError:
        # It knows no lone surrogates. It takes a fifth of the time, so it comes first.
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")
