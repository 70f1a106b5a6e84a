"""Which bytes a file holds that words a fence of its own; nothing else of a text is looked at here, and nothing is costly."""

from __future__ import annotations

from typing import Final

# Written backwards, so that this file does not spell what is forbidden; a test compares it with the fence.
WORD: Final = "kruqpuz"[::-1]
# A word of the fence that is cut earlier is not seen.
MARKER: Final = WORD[:4].encode()

# A text that words a fence holds one of these; the look at a file's bytes is for these alone.
HINTS: Final = (
    b"untrust", b"u n t r u s t", b"not trust", b"quarantin", b"stranger", b"instruct", b"i n s t r u c t", b"as data",
    b"as a data", b"data only", b"data-only", b"obey", b"comply", b"third part", b"third-part", b"external", b"generated",
    b"authority", b"act on it", b"act upon", b"act on", b"heed", b"directive", b"unverified", b"not written", b"not authored",
    b"not from", b"not sent", b"not said", b"not chosen", b"void", b"information only", b"content only", b"not command",
    b"d a t a", b"outside source", b"somebody else", b"outside part", b"injection", b"addressed to you", b"meant for you",
    b"as command", b"as reference", b"reference material", b"no order", b"not order", b"never order", b"orders",
    b"never command", b"no command", b"any command", b"commands from", b"commands in", b"commands it",
    b"commands that", b"requests in", b"requests from", b"requests it", b"directions", b"demands", b"disregard",
    b"carry out", b"not follow", b"never follow", b"not binding", b"powerless", b"only data", b"just data",
    b"merely data", b"purely", b"strictly", b"solely", b"not let it", b"never let", b"third_party", b"<unsafe",
    b"<foreign", b"foreign text", b"foreign content", b"foreign data", b"to be ignored", b"be ignored",
    b"outsider", b"as plain text", b"informational only",
)  # fmt: skip


def hints(lowered: bytes) -> bool:
    """Whether a file in small letters may hold a text that words a fence, or the fence's own word."""
    return MARKER in lowered or any(hint in lowered for hint in HINTS)
