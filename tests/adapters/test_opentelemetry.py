"""Spans and durations: what they say, and that neither arguments nor results are among it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from registry import AuditRecord, Deployment, run_registry_tool
from tests.support import mcp_tools
from tests.support.deployments import deploy
from tests.support.http import served

pytest.importorskip("opentelemetry.sdk", reason="not run: opentelemetry-sdk is missing")


def recorded(*calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any], list[AuditRecord]]:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from registry.adapters.opentelemetry import telemetry

    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])
    seen: list[AuditRecord] = []
    audit = telemetry(seen.append, tracer_provider=tracers, meter_provider=meters)
    deployment: Deployment = deploy(*mcp_tools.tools(), audit=audit)

    async def run() -> None:
        with tracers.get_tracer("test").start_as_current_span("outer"):
            for name, arguments in calls:
                await run_registry_tool(deployment, name, arguments)

    asyncio.run(run())
    data: Any = reader.get_metrics_data()
    points = [
        point for metric in data.resource_metrics[0].scope_metrics[0].metrics for point in metric.data.data_points
    ]
    spans = list(exporter.get_finished_spans())
    meters.shutdown()
    return spans, points, seen


def test_each_call_is_a_span_under_the_current_one_and_a_duration() -> None:
    spans, points, seen = recorded(("answers", {"text": "hello"}), ("fails", {}))
    answered, failed, outer = spans

    assert (answered.name, failed.name) == ("execute_tool answers", "execute_tool fails")
    assert dict(answered.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "answers",
        "gen_ai.tool.type": "function",
        "hedgerow.outcome": "answered",
        "hedgerow.foreign": True,
        "hedgerow.text.chars": seen[0].text_chars,
        "hedgerow.media.bytes": 0,
        "hedgerow.nested": False,
    }
    assert failed.attributes["error.type"] == "failed"
    assert not failed.status.is_ok
    assert {span.parent.span_id for span in (answered, failed)} == {outer.context.span_id}
    assert [span.end_time - span.start_time for span in (answered, failed)] == [
        int(record.duration_s * 1e9) for record in seen
    ]
    assert sorted(point.attributes["hedgerow.outcome"] for point in points) == ["answered", "failed"]
    assert [point.count for point in points] == [1, 1]


def test_nothing_that_a_caller_or_a_stranger_chose_is_recorded() -> None:
    spans, points, _ = recorded(
        ("answers", {"text": "chosen by a stranger"}),
        ("answers", {mcp_tools.SECRET: 1}),
        (mcp_tools.SECRET, {}),
        ("fails", {}),
    )
    said = "".join(span.to_json() for span in spans) + repr([dict(point.attributes) for point in points])

    assert "secret" not in said
    assert "stranger" not in said
    assert [dict(span.attributes)["gen_ai.tool.name"] for span in spans[:-1]] == [
        "answers",
        "answers",
        "unknown",
        "fails",
    ]


TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_over_http_the_callers_span_is_the_parent_and_a_wrong_header_is_none() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from registry.adapters.opentelemetry import telemetry

    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    with served(deploy(*mcp_tools.tools(), audit=telemetry(tracer_provider=tracers))) as server:
        server.call("nested", traceparent=TRACEPARENT)
        server.call("fails", traceparent=TRACEPARENT.upper())

    inner, outer, alone = exporter.get_finished_spans()
    for span in (inner, outer):
        assert span.context is not None
        assert span.parent is not None
        assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == tuple(TRACEPARENT.split("-")[1:3])
        assert span.parent.is_remote
    assert alone.parent is None
