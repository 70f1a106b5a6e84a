"""From what a peer answers to the parts of a reply: its text, its images and sounds, and what of it is not shown.

Everything here is a peer's, and stays `Foreign`: numbers alone come out. What a peer says of its own bytes (a type, an
audience, a priority) decides nothing, and nothing that it points to is fetched.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast, final

import mcp_types as types
from pydantic import JsonValue

from connectors._decoding import sniff_image
from connectors._paging import page_of
from registry import Foreign, Media, MixedReply, reply

__all__ = ["Page", "Rendered", "answered", "of_call", "of_prompt", "of_resource"]

MAX_BLOCKS: Final = 1_000
MAX_MEDIA: Final = 20
MAX_DEPTH: Final = 60
MAX_NUMBER: Final = 10**300
SOUNDS: Final = (
    (re.compile(rb"RIFF....WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"OggS"), "audio/ogg"),
    (re.compile(rb"fLaC"), "audio/flac"),
    (re.compile(rb"ID3|\xff[\xf2\xf3\xfa\xfb]"), "audio/mpeg"),
)

Block: TypeAlias = types.ContentBlock


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a peer answered, taken apart."""

    text: str
    media: tuple[Media, ...]
    left_out: int
    """How many parts are shown in no form: bytes that are neither image nor sound, too many of them, data that is no JSON."""
    structured: JsonValue
    has_structured: bool


@final
class Parts:
    """Collects the parts of one answer, up to the bounds."""

    def __init__(self, max_media_bytes: int) -> None:
        self.lines: list[str] = []
        self.media: list[Media] = []
        self.left_bytes = max_media_bytes
        self.left_out = 0

    def block(self, block: Block) -> None:
        if isinstance(block, types.TextContent):
            self.lines.append(block.text)
        elif isinstance(block, types.ImageContent | types.AudioContent):
            self.binary(block.data)
        elif isinstance(block, types.ResourceLink):
            words = (block.title or block.name, block.uri, block.description)
            self.lines.append("\n".join(["resource link:", *(word for word in words if word)]))
        else:
            self.contents(block.resource)

    def contents(self, resource: types.TextResourceContents | types.BlobResourceContents) -> None:
        self.lines.append(f"resource {resource.uri}:")
        if isinstance(resource, types.TextResourceContents):
            self.lines.append(resource.text)
        else:
            self.binary(resource.blob)

    def binary(self, data: str) -> None:
        """Bytes, by what they are and not by what they are called."""
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self.left_out += 1
            return
        mime = sniff_image(content) or next((mime for pattern, mime in SOUNDS if pattern.match(content)), None)
        if mime is None or len(content) > self.left_bytes or len(self.media) >= MAX_MEDIA:
            self.left_out += 1
            return
        self.left_bytes -= len(content)
        self.media.append(Media(content, mime))

    def rendered(self, structured: JsonValue = None, *, has_structured: bool = False) -> Rendered:
        text = "\n".join(self.lines)
        if has_structured and not is_plain(structured, 0):
            has_structured, structured = False, None
            self.left_out += 1
        if has_structured and not text and not self.media:
            # A model reads text alone, so what has none is shown as what it is.
            text = json.dumps(structured, indent=1, ensure_ascii=False)
        return Rendered(
            text=text,
            media=tuple(self.media),
            left_out=self.left_out,
            structured=structured,
            has_structured=has_structured,
        )


def of_call(result: types.CallToolResult, *, max_media_bytes: int) -> Rendered:
    """What a tool answered, or said about its failure."""
    parts = Parts(max_media_bytes)
    for block in result.content[:MAX_BLOCKS]:
        parts.block(block)
    parts.left_out += max(0, len(result.content) - MAX_BLOCKS)
    said = "structured_content" in result.model_fields_set and result.structured_content is not None
    return parts.rendered(result.structured_content, has_structured=said)


def of_resource(result: types.ReadResourceResult, *, max_media_bytes: int) -> Rendered:
    """What a resource holds."""
    parts = Parts(max_media_bytes)
    for resource in result.contents[:MAX_BLOCKS]:
        parts.contents(resource)
    parts.left_out += max(0, len(result.contents) - MAX_BLOCKS)
    return parts.rendered()


def of_prompt(result: types.GetPromptResult, *, max_media_bytes: int) -> Rendered:
    """A prompt that a peer wrote: words to be read, and no messages of the user or of a model."""
    parts = Parts(max_media_bytes)
    if result.description:
        parts.lines.append(result.description)
    for message in result.messages[:MAX_BLOCKS]:
        parts.lines.append(f"{message.role}:")
        parts.block(message.content)
    parts.left_out += max(0, len(result.messages) - MAX_BLOCKS)
    return parts.rendered()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a text is shown, in characters, and how our sentence says what to do for the rest."""

    offset: int
    limit: int
    again: str


def answered(rendered: Foreign[Rendered], hide: Callable[[str], str], page: Page) -> MixedReply:
    """Our sentence, their text a page at a time, their images and sounds, and their structured half for programs."""
    text = rendered.map(lambda found: hide(found.text))
    where, part = page_of(text, page.offset, page.limit, again=page.again)
    count = rendered.measure(lambda found: len(found.media))
    media = [rendered.map(lambda found, at=at: found.media[at]) for at in range(count)]  # type: ignore[misc]  # a default binds it
    notes = [where, *counted(count, "image or sound", "images or sounds")]
    left_out = rendered.measure(lambda found: found.left_out)
    if left_out:
        notes.append(f"{left_out} of its parts {'is' if left_out == 1 else 'are'} not shown")
    size = rendered.measure(lambda found: len(json.dumps(found.structured)) if found.has_structured else 0)
    parts = [part] if part.measure(bool) else []
    if 0 < size <= page.limit:
        data = rendered.map(lambda found: hidden(found.structured, hide))
        return reply(f"The peer answered: {', '.join(notes)}.", *parts, *media, data=data)
    if size:
        notes.append(f"its structured half of {size} characters is left out")
    return reply(f"The peer answered: {', '.join(notes)}.", *parts, *media)


def is_plain(value: object, depth: int) -> bool:
    """Whether a structured half can be handed on as JSON: not too deep, and no number that JSON does not have."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < MAX_NUMBER
    if isinstance(value, dict):
        return depth < MAX_DEPTH and all(
            is_plain(item, depth + 1) for item in cast("dict[str, object]", value).values()
        )
    if isinstance(value, list):
        return depth < MAX_DEPTH and all(is_plain(item, depth + 1) for item in cast("list[object]", value))
    return True


def counted(count: int, one: str, several: str) -> list[str]:
    return [] if count == 0 else [f"{count} {one if count == 1 else several}"]


def hidden(value: Any, hide: Callable[[str], str]) -> JsonValue:
    """A value without the secrets that its peer was given."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(str(key)): hidden(item, hide) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Sequence):
        return [hidden(item, hide) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value  # type: ignore[no-any-return]  # JSON, whose leaves are left
