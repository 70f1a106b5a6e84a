"""A string spells the marker word of the fence.

Only the fence writes its marker; a program that spells it can open or close a block by hand, and one that looks for it
reads blocks that nobody verified.

Use `fence_untrusted` and `unfence_untrusted`, which know the key.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from tools_check._facts import Facts, statement_site
from tools_check._finding import Case, Finding
from tools_check._hints import WORD
from tools_check._wordings import texts

SEVERITY = "error"


def check(facts: Facts) -> Iterator[Finding]:
    """Texts that hold the marker word."""
    for path, module in sorted(facts.modules.items()):
        if is_home(path):
            continue
        seen: set[int] = set()
        for item in texts(module):
            if item.ordinal in seen or WORD not in folded(item.text):
                continue
            seen.add(item.ordinal)
            yield facts.finding(
                "fence-marker",
                "error",
                path,
                statement_site(item.ordinal),
                "This text spells the marker of the fence, which only the fence may write.",
                "fence_untrusted(...) to mark a text, unfence_untrusted(...) to read a block",
                identity=str(item.ordinal),
            )


def is_home(path: str) -> bool:
    """The one module that holds the marker."""
    return path.endswith("registry/_fence.py")


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


REPORTED = (
    Case("a line like the fence's", f'def wrap(body):\n    return "[{WORD} 00]" + body\n', 2),
    Case("in capitals", f'HEAD = "{WORD.upper()}"\n', 1),
    Case("put together", f'def wrap(body):\n    return "{WORD[:4]}" + "{WORD[4:]}" + body\n', 2),
)
SILENT = (
    Case(
        "the fence's own function",
        'from registry import fence_untrusted\n\ndef seam(text, key):\n    return fence_untrusted(text, origin="web", key=key)\n',  # noqa: E501
    ),
    Case("another word", 'HEAD = "marker"\n'),
)
