"""What a handler returns when a bare string is not enough: own words and foreign text, side by side.

A `Reply` keeps the two apart until the dispatcher renders it. Nothing here renders, and nothing here shows foreign text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar, cast, final, overload

from pydantic import BaseModel, JsonValue

from registry._foreign import Foreign, class_name, shown
from registry.errors import ReplyError

__all__ = ["RESERVED_CODES", "Media", "MixedReply", "OwnReply", "Part", "Refusal", "Reply", "refuse", "reply"]

# Contravariant on purpose. `Reply[Literal[False] | str]` holds own words alone and fits under either declaration;
# `Reply[str]` holds foreign text and fits only where the declaration is an origin. See docs/adr/0004.
DeclaredT_contra = TypeVar("DeclaredT_contra", contravariant=True)

RESERVED_CODES = frozenset(
    {
        "answered", "malformed", "failed", "shed", "timed_out", "cancelled",
        "not_permitted", "unknown_tool", "result_too_large", "undeclared_foreign", "double_fence",
    }
)  # fmt: skip

CODE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
MIME = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}\Z")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Media:
    """Bytes that are not text: an image, a sound, a document.

    Args:
        content: the bytes.
        mime: `type/subtype`, without parameters.

    Raises:
        ReplyError: `content` is not bytes, or `mime` is not of that form.
    """

    content: bytes
    mime: str

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.content), bytes):
            raise ReplyError(f"Media: content is a {class_name(self.content)}. Write bytes.")
        if not isinstance(cast("object", self.mime), str) or not MIME.match(self.mime):
            # The mime of a remote part is foreign, so it is not shown.
            raise ReplyError("Media: mime is not of the form type/subtype. Write one such as 'image/png'.")


Part: TypeAlias = "str | Foreign[str] | Media | Foreign[Media]"
# Wider than `JsonValue` on purpose, whose containers are invariant: a `dict[str, int]` is JSON too. What is inside is
# checked when the reply is built.
OwnData: TypeAlias = "Mapping[str, object] | Sequence[object] | str | int | float | bool | BaseModel | None"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The code and the sentence of a refusal."""

    code: str
    sentence: str


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reply(Generic[DeclaredT_contra]):
    """The parts of an answer, in order, and its structured half. Made by `reply` and `refuse` alone."""

    parts: tuple[Part, ...]
    """What is shown, in order."""
    data: JsonValue | Foreign[JsonValue]
    """The structured half."""
    has_data: bool
    """Whether there is a structured half; its value may be None."""
    refusal: Refusal | None = None
    """What `refuse` made of it; such a reply has no parts."""


OwnReply: TypeAlias = "Reply[Literal[False] | str]"
"""A reply in own words alone, which a tool under either declaration may return."""
MixedReply: TypeAlias = "Reply[str]"
"""A reply with foreign parts, which only a tool that names an origin may return."""


class _Absent:
    """Stands for `data` that was not given, which is not the same as `data=None`."""


_ABSENT = _Absent()


@overload
def reply(*parts: str | Media, data: OwnData | _Absent = ...) -> OwnReply: ...
@overload
def reply(
    *parts: str | Foreign[str] | Media | Foreign[Media],
    data: OwnData | Foreign[object] | _Absent = ...,
) -> MixedReply: ...
def reply(
    *parts: str | Foreign[str] | Media | Foreign[Media],
    data: OwnData | Foreign[object] | _Absent = _ABSENT,
) -> OwnReply | MixedReply:
    """Answer with own words and foreign text side by side; only the foreign parts are fenced.

    The usual shape is one own head and one foreign body: `reply("3 open issues", issues.map(render))`. Every part
    begins on a line of its own.

    Args:
        parts: own words (`str`, `Media`) and foreign ones (`Foreign[str]`, `Foreign[Media]`).
        data: the structured half: JSON or a model is own, `Foreign[...]` of either is not.

    Raises:
        ReplyError: a part or the data is something else; the message names its class and never its value.
    """
    for number, part in enumerate(parts, start=1):
        check_part(number, part)
    if isinstance(data, _Absent):
        return Reply(parts=parts, data=None, has_data=False)
    if isinstance(data, Foreign):
        return Reply(parts=parts, data=data.map(json_data), has_data=True)
    return Reply(parts=parts, data=json_data(data), has_data=True)


def refuse(code: str, sentence: str) -> OwnReply:
    """Refuse, as a result and not as an error.

    Args:
        code: lower case, digits and underscores, stable; a program branches on it.
        sentence: why, and what to ask instead. It is own text: it must echo no foreign text.

    Raises:
        ReplyError: the code is one of ours or is not of that form, or the sentence is blank.
    """
    if not isinstance(cast("object", code), str) or not CODE.match(code):
        raise ReplyError(f"refuse: code is {shown(code)}. Write 1 to 64 of a-z, 0-9 and _, beginning with a letter.")
    if code in RESERVED_CODES:
        raise ReplyError(f"refuse: code {code!r} is one that the dispatcher gives. Write one of your own.")
    if not isinstance(cast("object", sentence), str) or not sentence.strip():
        raise ReplyError(f"refuse: the sentence for code {code!r} is blank. Say why, and what to ask instead.")
    return Reply(parts=(), data=None, has_data=False, refusal=Refusal(code=code, sentence=sentence))


def check_part(number: int, part: object) -> None:
    if isinstance(part, str | Media | Foreign):
        return
    raise ReplyError(
        f"reply: part {number} is a {class_name(part)}. Write a str or a Media, or a Foreign of one of them."
    )


def json_data(value: object, depth: int = 0) -> JsonValue:
    """Return a value as plain JSON, built anew: no subclass and no later change by the handler comes along.

    Raises:
        ReplyError: something in it is not JSON; the message names its class and never its value.
    """
    if depth > 100:
        raise ReplyError("reply: data is nested deeper than 100 levels. Write a flatter value.")
    if isinstance(value, BaseModel):
        return json_data(value.model_dump(mode="json", by_alias=True), depth)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ReplyError("reply: data holds a number that JSON does not have (nan or infinite). Write None.")
        return float.__float__(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {json_key(key): json_data(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [json_data(item, depth + 1) for item in cast("Sequence[object]", value)]
    if isinstance(value, Foreign):
        raise ReplyError(
            "reply: data holds a Foreign inside. Make the whole of it one: Foreign.join(...) or .map(...)."
        )
    raise ReplyError(f"reply: data holds a {class_name(value)}. Write JSON: str, int, float, bool, None, list, dict.")


def json_key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise ReplyError(f"reply: data holds a key that is a {class_name(key)}. Write keys as str.")
