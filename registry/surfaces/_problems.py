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


PROBLEMS: Final[Mapping[str, ProblemKind]] = MappingProxyType(
    {
        "not-json": ProblemKind(
            status=400, title="The body is not JSON.", detail="Send the arguments as one JSON object, in UTF-8."
        ),
        "no-such-page": ProblemKind(
            status=400,
            title="There is no such page.",
            detail="Send the cursor that the page before named, and a limit of 1 to 1000, or neither.",
        ),
        "unauthorized": ProblemKind(
            status=401, title="No valid token.", detail="Send one header: Authorization: Bearer TOKEN."
        ),
        "not-permitted": ProblemKind(
            status=403,
            title="The token lacks the grant.",
            detail="Ask the operator for a token with the grant of this tool.",
        ),
        # One answer for an instance that there is not, one that the token does not open, and a tool that there is not.
        "not-found": ProblemKind(
            status=404, title="Nothing is here.", detail="List the tools of an instance that the token opens."
        ),
        "method-not-allowed": ProblemKind(
            status=405, title="The method is not for this address.", detail="Use a method of the header Allow."
        ),
        "too-slow": ProblemKind(
            status=408,
            title="The body did not come in time.",
            detail="Send the whole body at once. No tool was started.",
        ),
        "too-large": ProblemKind(
            status=413, title="The body is too large.", detail="Send smaller arguments. The body was not read."
        ),
        "not-json-type": ProblemKind(
            status=415,
            title="The body is not sent as JSON.",
            detail="Send Content-Type: application/json and no Content-Encoding.",
        ),
        "malformed": ProblemKind(
            status=422, title="The arguments do not fit.", detail="Correct the fields that `text` names."
        ),
        "failed": ProblemKind(
            status=500, title="The tool failed.", detail="The operator finds the reason in the log, by the request id."
        ),
        "internal": ProblemKind(
            status=500,
            title="The server failed.",
            detail="The operator finds the reason in the log, by the request id.",
        ),
        "shed": ProblemKind(
            status=503, title="Every place was taken.", detail="The tool was not started. Ask again after Retry-After."
        ),
        "draining": ProblemKind(
            status=503, title="The server is about to end.", detail="Ask another one. No tool was started."
        ),
        "timed-out": ProblemKind(
            status=504, title="The tool did not answer in time.", detail="Read `text` before the call is repeated."
        ),
    }
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
