"""How fast the egress strip is beside others, and that its time grows with the length and no faster.

Ratios of CPU time in one process, rounds interleaved, medians printed: against the obvious solution (three regular
expressions) and nh3.clean on the same prose and on a mix of payloads and answers; the time per character on hostile
input from 1 kB to 1 MB; one character at a time. No duration is asserted anywhere.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable

import nh3

from registry.egress import EgressFilter, strip_egress
from tests.support.egress import rows

ROUNDS = 5
SIZE = 200_000
HOSTILE = (
    "<a ",
    "<a x=",
    "[x](",
    "]:",
    "](",
    "<x y='",
    "<b>",
    "&#58;",
    "i<n;",
    "//a.b ",
    "://",
    "https://x.y/ ",
    "\\href{",
)
PROSE = (
    "The report covers three quarters; the fourth is still open (see page 12). Costs fell by 4.2 % where the new\n"
    "process was used, and **rose** elsewhere, e.g. in the north. Nobody asked why: `total < limit` held throughout.\n\n"
    "- first, the contracts were read again [1]\n- then the two lists were compared, line by line\n\n"
)

MARKUP = re.compile(r"<(?:img|a)\b[^>]*>|</a>|<(?:https?|ftp)://[^>]*>", re.IGNORECASE)
MARKDOWN = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
BARE = re.compile(r"\b(?:(?:https?|ftp)://|www\.)[^\s<>\"')\]]+", re.IGNORECASE)


def three_regular_expressions(text: str) -> str:
    """The obvious solution: markup, then Markdown, then bare addresses."""
    return BARE.sub("[link removed]", MARKDOWN.sub(r"\1", MARKUP.sub("", text)))


def without_tags(text: str) -> str:
    """An HTML sanitiser that lets no element through."""
    return nh3.clean(text, tags=set())


def cpu_time(work: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    work(text)
    return max(time.process_time() - started, 1e-9)


def megabytes_a_second(work: Callable[[str], object], text: str) -> float:
    return len(text) / 1e6 / min(cpu_time(work, text) for _ in range(1 if len(text) > 50_000 else 3))


def compare(name: str, text: str) -> None:
    """Prints how the strip compares with the others on one text."""
    works = (strip_egress, three_regular_expressions, without_tags)
    rounds = [[cpu_time(work, text) for work in works] for _ in range(ROUNDS)]
    own = statistics.median(ours for ours, _, _ in rounds)
    print(
        f"{name:24} {len(text) / 1e6 / own:6.1f} MB/s; "
        f"{statistics.median(regex / ours for ours, regex, _ in rounds):5.2f} times the three expressions, "
        f"{statistics.median(html / ours for ours, _, html in rounds):5.2f} times nh3.clean"
    )


def one_at_a_time(text: str) -> None:
    egress = EgressFilter()
    for character in text:
        egress.feed(character)
    egress.flush()


def main() -> None:
    """Prints all ratios."""
    payloads, benign = rows("payloads"), rows("benign")
    mix = "\n\n".join(row["text"] for row in [*payloads, *benign] if len(row["text"]) < 2_000)
    compare("prose", PROSE * (SIZE // len(PROSE)))
    compare("payloads and answers", mix * (SIZE // len(mix) + 1))
    compare("answers", "\n\n".join(row["text"] for row in benign) * 8)
    print("\nhostile input, MB/s at 1 kB, 30 kB, 1 MB")
    print("(the pieces of our own, which are slowest, to 100 kB)")
    texts = {row["id"]: row["text"] for row in payloads if row["class"] == "dos"} | {
        repr(text): text for text in HOSTILE
    }
    for name, text in texts.items():
        speeds = [
            megabytes_a_second(strip_egress, (text * (size // len(text) + 1))[:size])
            for size in (1_000, 30_000, 1_000_000 if name.startswith("dos") else 100_000)
        ]
        print(f"{name:24} " + " ".join(f"{speed:7.2f}" for speed in speeds))
    print("\none character at a time, MB/s")
    for name, text in (("prose", PROSE), ("payloads and answers", mix)):
        speeds = [
            megabytes_a_second(one_at_a_time, (text * (size // len(text) + 1))[:size]) for size in (30_000, 300_000)
        ]
        print(f"{name:24} " + " ".join(f"{speed:7.2f}" for speed in speeds))


if __name__ == "__main__":
    main()
