"""From what a handler returned to what may be shown: own words bare, everything else fenced.

The declaration and the origins of the arguments decide; nothing that the handler returns can decide against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, cast, final

from pydantic import JsonValue

from registry._as_text import as_text
from registry._fence import FenceKey, Segment, compose, holds_block, is_block, media_lines
from registry._foreign import Foreign, join_origins, open_foreign, origins_of, under
from registry._outcome import Answered, MediaPart
from registry._reply import Media, MixedReply, Part, Reply

__all__ = ["Unshowable", "failure_text", "refusal_text", "render", "settle"]

Declared: TypeAlias = "str | Literal[False]"
Origins: TypeAlias = "tuple[str, ...]"


@final
class Unshowable(Exception):
    """The answer cannot be shown; `code` is the refusal that says why."""

    def __init__(self, code: Literal["undeclared_foreign", "double_fence", "result_too_large"]) -> None:
        super().__init__(code)
        self.code = code


# -- first step: say of each part who chose it ---------------------------------------------------------------------


def settle(returned: object, declared: Declared, argument_origins: Origins, key: FenceKey) -> MixedReply:
    """Turn what a handler returned into a reply in which every foreign part carries its origins.

    Raises:
        Unshowable: a foreign part under `False`, or a block of ours in own words.
    """
    if isinstance(returned, Reply):
        return settled_reply(cast("MixedReply", returned), declared, argument_origins, key)
    if isinstance(returned, Foreign | Media):
        # Possible only past the type checker: a part that is not in a reply.
        bare: MixedReply = Reply(parts=(cast("Part", returned),), data=None, has_data=False)
        return settled_reply(bare, declared, argument_origins, key)
    text = returned if type(returned) is str else text_of(returned, declared)
    if is_block(text, key=key) or (declared is False and holds_block(text, key=key)):
        raise Unshowable("double_fence")
    origins = join_origins(() if declared is False else (declared,), argument_origins)
    if not origins:
        return Reply(parts=(text,), data=None, has_data=False)
    # The structured half of a bare string is the string, for programs that read it by a reference.
    return Reply(parts=(under(text, origins),), data=under(cast("JsonValue", text), origins), has_data=False)


def text_of(returned: object, declared: Declared) -> str:
    """The text of a value that came as `Any`: no type slips past the fence."""
    if declared is False and holds_foreign(returned):
        raise Unshowable("undeclared_foreign")
    return as_text(opened(returned))


def settled_reply(reply: MixedReply, declared: Declared, argument_origins: Origins, key: FenceKey) -> MixedReply:
    if declared is False and any(isinstance(item, Foreign) for item in (*reply.parts, reply.data)):
        raise Unshowable("undeclared_foreign")
    if any(isinstance(part, str) and holds_block(part, key=key) for part in reply.parts):
        raise Unshowable("double_fence")

    def settled(item: Any) -> Any:
        if isinstance(item, Foreign):
            foreign = cast("Foreign[object]", item)
            said = origins_of(foreign) or (cast("str", declared),)
            return under(open_foreign(foreign), join_origins(said, argument_origins))
        return under(item, argument_origins) if argument_origins else item

    data = settled(reply.data) if reply.has_data else None
    return Reply(parts=tuple(map(settled, reply.parts)), data=data, has_data=reply.has_data, refusal=reply.refusal)


def holds_foreign(value: object) -> bool:
    """Say whether a value that came as `Any` holds a `Foreign`, in a list or a dict too."""
    if isinstance(value, Foreign):
        return True
    if isinstance(value, dict):
        return any(map(holds_foreign, cast("dict[object, object]", value).values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(holds_foreign, cast("list[object]", value)))


def opened(value: object) -> object:
    """Return a value with every `Foreign` in it opened; only for text that is fenced whole."""
    if isinstance(value, Foreign):
        return opened(open_foreign(cast("Foreign[object]", value)))
    if isinstance(value, dict):
        return {key: opened(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [opened(item) for item in cast("list[object]", value)]
    return value


# -- second step: show it ------------------------------------------------------------------------------------------


def render(
    reply: MixedReply, declared: Declared, key: FenceKey, *, max_chars: int, max_media_bytes: int
) -> tuple[Answered, int]:
    """Render a settled reply; return the answer and the size of its media in bytes.

    Raises:
        Unshowable: the answer is too large. It is refused and never shortened: half an answer is a wrong one.
    """
    segments, media = shown_parts(reply.parts, key)
    media_bytes = sum([len(content_of(part.media).content) for part in media]) if media else 0
    # Before the fence, too: a block is never shorter than its body, and fencing what is refused anyway costs time.
    if media_bytes > max_media_bytes or sum([len(segment.text) for segment in segments]) > max_chars:
        raise Unshowable("result_too_large")
    text = compose(segments, key=key)
    if len(text) + data_chars(reply) > max_chars:
        raise Unshowable("result_too_large")
    answer = Answered(text=text, data=reply.data, origins=all_origins(reply, declared), media=tuple(media))
    return answer, media_bytes


def all_origins(reply: MixedReply, declared: Declared) -> Origins:
    """Who chose the foreign bytes: what the tool declares, then what its parts say, then who chose the arguments."""
    foreign = [origins_of(item) for item in (*reply.parts, reply.data) if isinstance(item, Foreign)]
    if not foreign:
        return ()
    return join_origins((declared,) if declared else (), *foreign)


def shown_parts(parts: Iterable[Part], key: FenceKey) -> tuple[list[Segment], list[MediaPart]]:
    """Make one segment for each run of adjacent parts of equal origins, and take the media out."""
    runs: list[tuple[Origins | None, list[str]]] = []
    media: list[MediaPart] = []
    for part in parts:
        origins: Origins | None = None
        value: object = part
        if isinstance(part, Foreign):
            foreign = cast("Foreign[object]", part)
            origins, value = origins_of(foreign), open_foreign(foreign)
        if isinstance(value, Media):
            media.append(media_part(value, origins, key))
            text = f"[media {len(media)}: {value.mime}, {len(value.content)} bytes]"
        else:
            text = value if type(value) is str else as_text(opened(value))
        if origins is None and not text:
            continue
        if runs and runs[-1][0] == origins:
            runs[-1][1].append(text)
        else:
            runs.append((origins, [text]))
    return [Segment(text="\n".join(texts), origins=origins) for origins, texts in runs], media


def media_part(media: Media, origins: Origins | None, key: FenceKey) -> MediaPart:
    if origins is None:
        return MediaPart(media=media, opening="", closing="", origins=())
    opening, closing = media_lines(mime=media.mime, content=media.content, origins=origins, key=key)
    return MediaPart(media=under(media, origins), opening=opening, closing=closing, origins=origins)


def content_of(media: Media | Foreign[Media]) -> Media:
    return open_foreign(media) if isinstance(media, Foreign) else media


def data_chars(reply: MixedReply) -> int:
    """The length of the structured half as JSON, where the handler gave one."""
    if not reply.has_data:
        return 0
    data = open_foreign(reply.data) if isinstance(reply.data, Foreign) else reply.data
    return len(json.dumps(data, ensure_ascii=False))


def own(text: str) -> Segment:
    return Segment(text=text, origins=None)


# -- what is shown instead of an answer ----------------------------------------------------------------------------


def refusal_text(code: str, sentence: str, argument_origins: Origins, key: FenceKey) -> str:
    """Show a refusal. A handler's sentence may echo an argument, so foreign arguments fence it."""
    if not argument_origins:
        return compose([own(f"Refused ({code}): {sentence}")], key=key)
    return compose([own(f"Refused ({code})."), Segment(text=sentence, origins=argument_origins)], key=key)


def failure_text(
    words: str, detail: Foreign[str] | None, fallback: str, argument_origins: Origins, key: FenceKey
) -> tuple[str, Origins]:
    """Show a failure in a handler's own words, and the other side's words about it in a fence.

    Args:
        words: the handler's sentence.
        detail: what the other side said, or None.
        fallback: the origin of a detail that names none.
        argument_origins: who chose the arguments, which `words` may echo.
        key: the fence key.
    """
    origins: Origins = argument_origins
    if argument_origins:
        segments = [own("The tool failed."), Segment(text=words, origins=argument_origins)]
    else:
        segments = [own(f"The tool failed.\n{words}")]
    if detail is not None:
        said = join_origins(origins_of(detail) or (fallback,), argument_origins)
        origins = join_origins(said, argument_origins)
        segments.append(Segment(text=as_text(opened(detail)), origins=said))
    return compose(segments, key=key), origins
