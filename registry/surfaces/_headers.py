"""What a request says about itself in headers, read so that it can be logged: anything not of the exact form is dropped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import final

__all__ = ["TRACE", "Trace", "is_json", "request_id", "trace_of", "values"]

# A narrow form, since it goes into logs and comes back in a header.
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
# W3C Trace Context, version 00: exact, in lower case, and no id of zeros alone.
TRACEPARENT = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})\Z")
JSON = re.compile(rb"application/json[ \t]*(;[ \t]*charset=\"?utf-8\"?[ \t]*)?\Z", re.IGNORECASE)

Headers = Iterable[tuple[bytes, bytes]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The trace that a request belongs to. For telemetry alone: a model never sees it."""

    trace_id: str
    """32 hexadecimal digits."""
    parent_id: str
    """16 hexadecimal digits."""
    flags: int
    """0 to 255; the lowest bit says that it is recorded."""


TRACE: ContextVar[Trace | None] = ContextVar("hedgerow_trace", default=None)


def values(headers: Headers, name: bytes) -> list[bytes]:
    """Return every value of a header."""
    return [value for key, value in headers if key == name]


def request_id(headers: Headers) -> str:
    """Return the request's id where it is one and of the form that is accepted, else a new one."""
    given = values(headers, b"x-request-id")
    if len(given) == 1 and REQUEST_ID.match(given[0]):
        return given[0].decode("ascii")
    return secrets.token_hex(16)


def trace_of(headers: Headers) -> Trace | None:
    """Return the trace of a request, or None when it names none in the exact form."""
    given = values(headers, b"traceparent")
    found = TRACEPARENT.match(given[0]) if len(given) == 1 else None
    if found is None:
        return None
    trace_id, parent_id, flags = (part.decode("ascii") for part in found.groups())
    return Trace(trace_id=trace_id, parent_id=parent_id, flags=int(flags, 16))


def is_json(headers: Headers) -> bool:
    """Say whether the body is said to be JSON in UTF-8, and not packed."""
    types = values(headers, b"content-type")
    packed = [value for value in values(headers, b"content-encoding") if value.lower() != b"identity"]
    return len(types) == 1 and JSON.match(types[0].strip()) is not None and not packed
