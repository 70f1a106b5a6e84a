"""The secrets of one call. None leaves in a message of ours, and each is taken out of whatever comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final
from urllib.parse import quote

from registry import ToolFailed

__all__ = ["Secrets"]

HIDDEN: Final = "(a secret)"


@final
class Secrets:
    """What a deployment's function of names has given out for one call.

    Args:
        give: gives a secret by its name.
    """

    def __init__(self, give: Callable[[str], str]) -> None:
        self.give = give
        self.asked: dict[str, str] = {}

    def get(self, name: str) -> str:
        """Ask for a secret. The name must be one that the program or its owner chose, for it is shown.

        Raises:
            ToolFailed: the secret is not to be had; names it, and shows nothing that the function said.
        """
        found: object = None
        with suppress(Exception):  # whatever it is, its text may hold what is secret; what it means is raised below
            found = self.give(name)
        if not isinstance(found, str) or not found:
            # tools-check: ignore[foreign-error] -- a word of ours, of the owner's, or held to HOLES by the manifest
            raise ToolFailed(f"The secret {name!r} is not to be had here.")
        self.asked[name] = found
        return found

    def hide(self, text: str) -> str:
        """Take every secret of this call out of a text that came back, in the spellings of a URL and of JSON too."""
        spellings = {
            spelled
            for secret in self.asked.values()
            for spelled in (secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1])
        }
        for spelled in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelled, HIDDEN)
        return text
