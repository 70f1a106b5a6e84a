"""What a request says about itself in headers, read so that it can be logged: anything not of the exact form is dropped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias, final

__all__ = ["TRACE", "Fields", "Trace", "fields_of", "is_json", "request_id", "trace_of"]

# A narrow form, since it goes into logs and comes back in a header.
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")
# W3C Trace Context, version 00: exact, in lower case, and no id of zeros alone.
TRACEPARENT = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})\Z")
JSON = re.compile(rb"application/json[ \t]*(;[ \t]*charset=\"?utf-8\"?[ \t]*)?\Z", re.IGNORECASE)

Fields: TypeAlias = "Mapping[bytes, list[bytes]]"

# Ids of our own: a random part for the process, and a number. Unique is all that they must be.
PROCESS: Final = secrets.token_hex(8)
NUMBERS: Final = count()


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


def fields_of(headers: Iterable[tuple[bytes, bytes]]) -> Fields:
    """Return every value of each header. Several values of one that must stand once are no value."""
    fields: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        fields.setdefault(name, []).append(value)
    return fields


def request_id(fields: Fields) -> str:
    """Return the request's id where it is one and of the form that is accepted, else a new one."""
    given = fields.get(b"x-request-id", ())
    if len(given) == 1 and REQUEST_ID.match(given[0]):
        return given[0].decode("ascii")
    return f"{PROCESS}{next(NUMBERS):016x}"


def trace_of(fields: Fields) -> Trace | None:
    """Return the trace of a request, or None when it names none in the exact form."""
    given = fields.get(b"traceparent", ())
    found = TRACEPARENT.match(given[0]) if len(given) == 1 else None
    if found is None:
        return None
    trace_id, parent_id, flags = (part.decode("ascii") for part in found.groups())
    return Trace(trace_id=trace_id, parent_id=parent_id, flags=int(flags, 16))


def is_json(fields: Fields) -> bool:
    """Say whether the body is said to be JSON in UTF-8, and not packed."""
    types = fields.get(b"content-type", ())
    packed = [value for value in fields.get(b"content-encoding", ()) if value.lower() != b"identity"]
    return len(types) == 1 and JSON.match(types[0].strip()) is not None and not packed
