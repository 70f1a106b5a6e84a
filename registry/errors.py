"""Every exception that hedgerow raises. None of their texts holds a secret or text of somebody else's.

::

    HedgerowError
    ├── DeclarationError (TypeError)     a tool, a registry or a deployment is built wrongly
    ├── ForeignError (TypeError)         a foreign value is used as if it were ours
    │   └── ForeignFunctionError         a function given to a foreign value raised
    ├── ReplyError (ValueError)          a handler builds a reply, a refusal or a failure wrongly
    ├── FenceError (ValueError)          a fence key, or a block that does not verify
    ├── CallError (RuntimeError)         a call is made where none can be made
    ├── ToolCallError                    a nested call ended in something other than an answer
    ├── IngressRefused                   a way in refuses what it was asked for; `refuse(error.code, error.sentence)`
    └── ToolFailed                       raised BY a handler: it failed, in words of its own
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from registry._foreign import Foreign
    from registry._outcome import Failed, Malformed, Refused, Shed, TimedOut

__all__ = [
    "CallError",
    "DeclarationError",
    "FenceError",
    "ForeignError",
    "ForeignFunctionError",
    "HedgerowError",
    "IngressRefused",
    "ReplyError",
    "ToolCallError",
    "ToolFailed",
]


class HedgerowError(Exception):
    """The root of every exception of this package."""


class DeclarationError(HedgerowError, TypeError):
    """A tool, a registry or a deployment does not say what it must; raised where it is built."""


class ForeignError(HedgerowError, TypeError):
    """A foreign value was used as if its bytes were ours: printed, formatted, compared, iterated."""


@final
class ForeignFunctionError(ForeignError):
    """A function given to `map`, `measure` or `one_of` raised; its text is foreign, so only its class is named."""


class ReplyError(HedgerowError, ValueError):
    """A handler builds a reply, a refusal or a failure in a way that cannot be shown."""


class FenceError(HedgerowError, ValueError):
    """A fence key is unusable, or a block does not verify."""


class CallError(HedgerowError, RuntimeError):
    """A tool is called where it cannot be: outside of a call, after it ended, or from the wrong thread."""


@final
class ToolCallError(HedgerowError):
    """A nested call ended in something other than an answer; `outcome` says in what."""

    def __init__(self, outcome: Refused | Malformed | Failed | Shed | TimedOut) -> None:
        # The outcome's text may hold a fenced detail, so the message names the code alone.
        super().__init__(f"The nested call ended as {outcome.code!r}.")
        self.outcome = outcome


@final
class IngressRefused(HedgerowError):
    """A way in refuses an address, a path or a size by its rules; a handler answers with `refuse(code, sentence)`.

    Args:
        code: stable, for programs.
        sentence: what is refused and what to write; holds neither the argument nor text of the other side.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@final
class ToolFailed(HedgerowError):
    """Raised by a handler that failed: `words` are its own and stay outside, `detail` is foreign and is fenced.

    Args:
        words: one sentence of ours; never text of the other side.
        detail: what the other side said about it (an error body, stderr), or None.
    """

    def __init__(self, words: str, detail: Foreign[str] | None = None) -> None:
        if not isinstance(words, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # past the type checker
            raise ReplyError(
                "ToolFailed: words must be a str of ours. Give text of the other side as detail=Foreign(...)."
            )
        if not words.strip():
            raise ReplyError("ToolFailed: words is blank. Say in one sentence of ours what failed.")
        if detail is not None and not hasattr(type(detail), "for_program"):
            raise ReplyError("ToolFailed: detail must be a Foreign, since it is what the other side said.")
        super().__init__(words)
        self.words = words
        self.detail = detail
