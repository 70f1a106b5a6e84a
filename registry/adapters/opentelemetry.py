"""Spans and a duration for OpenTelemetry, from the audit. Arguments and results are never recorded: a result is foreign text
in an operator's tool.

The names are those of the semantic conventions for generative AI, which are still in development; our own begin with
`hedgerow.`. No name, id or origin that a caller chose is a label.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

try:
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
except ModuleNotFoundError as missing:
    raise ImportError(
        f"registry.adapters.opentelemetry needs {missing.name}. Write: pip install 'hedgerow[otel]'", name=missing.name
    ) from missing

from registry._deployment import AuditRecord
from registry.surfaces._headers import TRACE

__all__ = ["telemetry"]

OPERATION: Final = "execute_tool"
DURATION: Final = "gen_ai.execute_tool.duration"
# What went wrong, in the closed set of our own codes.
ERRORS: Final = frozenset({"failed", "shed", "timed_out", "malformed", "unknown_tool", "cancelled"})


def telemetry(
    also: Callable[[AuditRecord], None] | None = None,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> Callable[[AuditRecord], None]:
    """Return an audit for `Deployment(audit=...)` that records one span and one duration for each call, on every surface.

    The span is written when the call has ended, under the span that is current where the call was made; where there is none,
    under the span of the caller that the header `traceparent` of a request over HTTP names. Spans that a handler opens stand
    beside it, not below.

    Args:
        also: another audit that gets the record too.
        tracer_provider: where spans go; None is the global one.
        meter_provider: where durations go; None is the global one.
    """
    tracer = trace.get_tracer("hedgerow", tracer_provider=tracer_provider)
    meter = metrics.get_meter("hedgerow", meter_provider=meter_provider)
    duration = meter.create_histogram(DURATION, unit="s", description="How long a tool call took.")

    def audit(record: AuditRecord) -> None:
        attributes = described(record)
        duration.record(record.duration_s, attributes)
        end = time.time_ns()
        span = tracer.start_span(
            f"{OPERATION} {record.tool or 'unknown'}",
            context=parent(),
            kind=SpanKind.INTERNAL,
            start_time=end - int(record.duration_s * 1e9),
            attributes={
                **attributes,
                "hedgerow.text.chars": record.text_chars,
                "hedgerow.media.bytes": record.media_bytes,
                "hedgerow.nested": record.nested,
            },
        )
        if "error.type" in attributes:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)
        if also is not None:
            also(record)

    return audit


def parent() -> Context | None:
    """The caller's span, where no span of this process is current; None leaves it to the current one."""
    named = TRACE.get()
    if named is None or trace.get_current_span().get_span_context().is_valid:
        return None
    span = SpanContext(
        trace_id=int(named.trace_id, 16),
        span_id=int(named.parent_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(named.flags),
    )
    return trace.set_span_in_context(NonRecordingSpan(span))


def described(record: AuditRecord) -> dict[str, str | bool]:
    """What is both on the span and a label of the metric: few values, each of them ours."""
    attributes: dict[str, str | bool] = {
        "gen_ai.operation.name": OPERATION,
        # A name that no tool has is the caller's.
        "gen_ai.tool.name": record.tool or "unknown",
        "gen_ai.tool.type": "function",
        "hedgerow.outcome": record.code,
        "hedgerow.foreign": bool(record.origins),
    }
    if record.code in ERRORS:
        attributes["error.type"] = record.code
    return attributes
