"""One line puts the egress strip into a runtime that passes on a provider's events."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any

from registry.egress import filter_openai_events


async def pass_on(events: AsyncIterable[Mapping[str, Any]]) -> AsyncIterator[Mapping[str, Any]]:
    """Yields the provider's events for the reader."""
    async for event in filter_openai_events(events):
        yield event
