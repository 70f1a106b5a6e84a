"""An outcome as UTF-8 carries it. A `str` may hold lone surrogates, which UTF-8 does not have: one that got out would end a
connection, or keep a conversation from being stored.

Foreign text holds none, since the fence escapes them. Our own words are shown with escapes, and data are sent whole or not.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from registry._envelope import outcome_body
from registry._outcome import Outcome

__all__ = ["wire_body", "wire_text"]

NOT_UTF8: Final = "The data holds text that UTF-8 cannot carry, so none of it is sent."


def wire_text(text: str) -> str:
    """Return a text of our own with its lone surrogates as escapes, which may echo an argument."""
    if is_unicode(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def wire_body(outcome: Outcome) -> dict[str, JsonValue]:
    """Return an outcome in its one structured form, as far as UTF-8 carries it."""
    body = outcome_body(outcome)
    body["text"] = wire_text(outcome.text)
    origins = body["origins"]
    body["origins"] = [wire_text(str(origin)) for origin in origins] if isinstance(origins, list) else []
    if not is_unicode(body.get("data")):
        # Refused and not edited: a program would take the edited value for the real one.
        body["data"] = {"omitted": NOT_UTF8}
    return body


def is_unicode(value: JsonValue) -> bool:
    """Whether no text in a JSON value holds a lone surrogate."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(value, dict):
        return all(is_unicode(key) and is_unicode(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_unicode, value))
    return True
