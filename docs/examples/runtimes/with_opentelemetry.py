import asyncio
from dataclasses import replace

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tools import TOOLS  # type: ignore[import-not-found]  # the file beside this one

from registry import Deployment, run_registry_tool
from registry.adapters.opentelemetry import telemetry

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))

deployment = replace(Deployment.single_user(TOOLS), audit=telemetry(tracer_provider=provider))
asyncio.run(run_registry_tool(deployment, "look_up", {"title": "hedge"}))

for span in exporter.get_finished_spans():
    print(span.name, dict(span.attributes or {}))
