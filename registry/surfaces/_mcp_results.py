"""From an outcome to the channel of the Model Context Protocol that it belongs in, and from a tool to its listing.

Nothing here decides what is shown: text is the outcome's, data leaves in its envelope or not at all, and no exception's
text is read.
"""

from __future__ import annotations

import base64
from typing import Final, assert_never

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from registry._catalog import CatalogTool
from registry._deployment import CatalogProse
from registry._outcome import Answered, Failed, Malformed, MediaPart, Outcome, Refused, Shed, TimedOut
from registry._render import content_of
from registry._tooldef import AnyTool
from registry.surfaces._wire import wire_body, wire_text

__all__ = ["OUTCOME_META", "broken_result", "listed", "result_of"]

# Of the label of information flow that other servers send too, the half that a declaration can answer. Who may read an
# answer (`confidentiality`) is not declared, so it is not claimed.
IFC_META: Final = "ifc"
OUTCOME_META: Final = "hedgerow/outcome"

BROKEN: Final = "The tool failed. What went wrong is in the log of the server."


def listed(prose: CatalogProse, tool: AnyTool) -> types.Tool:
    """Return a tool as `tools/list` shows it. The hints come from the declaration; they are hints, and no control."""
    shown = CatalogTool.under(prose, tool)
    return types.Tool(
        name=shown.name,
        description=wire_text(shown.description),
        input_schema=shown.schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=shown.effect == "read",
            destructive_hint=shown.effect == "destroy",
            open_world_hint=shown.returns_foreign,
        ),
        _meta={IFC_META: integrity(is_foreign=shown.returns_foreign)},
    )


def result_of(outcome: Outcome, *, is_origin_tool: bool, structured: bool) -> types.CallToolResult:
    """Return an outcome as the result of a call.

    Args:
        outcome: what the call ended in.
        is_origin_tool: whether the tool declares an origin. Its answers are text alone, unless `structured`: a host that
            shows a model the structured half would show foreign text without its fence.
        structured: whether answers of such tools have a structured half too, in its envelope.

    Raises:
        MCPError: the arguments do not fit, or there is no such tool; invalid params, with the outcome's text.
    """
    match outcome:
        case Answered():
            body = None if is_origin_tool and not structured else wire_body(outcome)
            return result(outcome, [text_block(outcome.text), *media_blocks(outcome.media)], body, is_error=False)
        case Refused(code="unknown_tool") | Malformed():
            raise MCPError(types.INVALID_PARAMS, wire_text(outcome.text), {"outcome": outcome.code})
        case Refused():
            return result(outcome, [text_block(outcome.text)], wire_body(outcome), is_error=False)
        case Failed() | Shed() | TimedOut():
            return result(outcome, [text_block(outcome.text)], wire_body(outcome), is_error=True)
        case _:
            assert_never(outcome)


def broken_result() -> types.CallToolResult:
    """Return the answer to a call when this surface itself is at fault: a fixed sentence and nothing else."""
    return types.CallToolResult(content=[text_block(BROKEN)], is_error=True, _meta={OUTCOME_META: "failed"})


def result(
    outcome: Outcome, content: list[types.ContentBlock], body: dict[str, JsonValue] | None, *, is_error: bool
) -> types.CallToolResult:
    origins = outcome.origins if isinstance(outcome, Answered | Refused | Failed) else ()
    return types.CallToolResult(
        content=content,
        structured_content=body,
        is_error=is_error,
        _meta={IFC_META: integrity(is_foreign=bool(origins)), OUTCOME_META: outcome.code},
    )


def integrity(*, is_foreign: bool) -> dict[str, str]:
    return {"integrity": "untrusted" if is_foreign else "trusted"}


# -- content -------------------------------------------------------------------------------------------------------


def text_block(text: str) -> types.ContentBlock:
    return types.TextContent(text=wire_text(text))


def media_blocks(media: tuple[MediaPart, ...]) -> list[types.ContentBlock]:
    """Each media part between its two fenced lines; media of our own has none."""
    blocks: list[types.ContentBlock] = []
    for number, part in enumerate(media, start=1):
        around = [[text_block(line)] if line else [] for line in (part.opening, part.closing)]
        blocks += [*around[0], media_block(number, part), *around[1]]
    return blocks


def media_block(number: int, part: MediaPart) -> types.ContentBlock:
    found = content_of(part.media)
    data = base64.b64encode(found.content).decode("ascii")
    kind = found.mime.partition("/")[0].lower()
    if kind == "image":
        return types.ImageContent(data=data, mime_type=found.mime)
    if kind == "audio":
        return types.AudioContent(data=data, mime_type=found.mime)
    # Not a text resource, whatever its mime says: bytes of somebody else are never decoded into bare text.
    inside = types.BlobResourceContents(uri=f"hedgerow:media/{number}", mime_type=found.mime, blob=data)
    return types.EmbeddedResource(resource=inside)
