"""Fuzzes the egress strip for a bounded time with a fresh seed: python -m tests.fuzz_egress [SECONDS] [SEED].

Random joins of fragments and mutated payloads must keep every property of the strip, and, where node
and a browser are installed, must ask for nothing and point nowhere. Prints the seed, and each failure as a row
for tests/data/egress/fuzz.jsonl; exit 1 when there was one.
"""

import json
import random
import secrets
import shutil
import sys
import time
from collections.abc import Iterator

from registry.egress import MAX_HELD, EgressFilter, strip_egress
from tests.support.browser import PROGRAMS, install, show
from tests.support.egress import cut, mutated, prefixes, random_join, rows, stream

DEFAULT_SECONDS = 20.0
BROWSER_TEXTS = 400


def broken_property(text: str, chance: random.Random) -> str:
    """Names the property that the text breaks, or nothing."""
    once = strip_egress(text)
    if strip_egress(once) != once:
        return "stripping is not idempotent"
    if stream(text) != once:
        return "one character at a time differs from one shot"
    places = sorted(chance.randint(0, len(text)) for _ in range(4))
    if stream(cut(text, places)) != once:
        return f"the chunks cut at {places} differ from one shot"
    if any(strip_egress(shown) != shown for shown in prefixes(text)):
        return "what was shown before the end is not clean"
    egress = EgressFilter()
    for character in text:
        egress.feed(character)
        if egress.held > MAX_HELD:
            return "too much waits"
    return ""


def texts(chance: random.Random, payloads: list[str]) -> Iterator[str]:
    """Random joins and mutated payloads, in turn, without end."""
    while True:
        yield random_join(chance)
        yield mutated(chance, payloads)


def fuzz(seconds: float, seed: int) -> list[dict[str, str]]:
    """Runs for about that long and returns a row for each failure."""
    chance = random.Random(seed)
    payloads = [row["text"] for row in rows("payloads") if len(row["text"]) < 160]
    failures: list[dict[str, str]] = []
    stop = time.monotonic() + seconds
    count = 0
    shown: dict[str, str] = {}
    for text in texts(chance, payloads):
        if time.monotonic() > stop:
            break
        count += 1
        if fault := broken_property(text, chance):
            failures.append({"id": f"fuzz-{seed}-{count}", "text": text, "fault": fault})
        if count % 2 == 0 and len(shown) < BROWSER_TEXTS:
            shown[f"fuzz-{seed}-{count}"] = text
    print(f"seed {seed}: {count} texts, {len(failures)} broken properties")
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        print(f"not shown in a browser: {', '.join(absent)} missing")
        return failures
    return [*failures, *in_browser(shown)]


def in_browser(shown: dict[str, str]) -> list[dict[str, str]]:
    """A row for each text that still reaches outside when it is shown."""
    install()
    seen = show({name: strip_egress(text) for name, text in shown.items()})
    outside = {row.id: row for row in seen if row.requests or row.links}
    print(f"{len(shown)} of them shown in a browser, {len(outside)} reach outside")
    return [{"id": name, "text": shown[name], "fault": f"{row.renderer}: {row}"} for name, row in outside.items()]


def main(arguments: list[str]) -> int:
    """Fuzzes and prints; 1 when something failed."""
    seconds = float(arguments[0]) if arguments else DEFAULT_SECONDS
    seed = int(arguments[1]) if len(arguments) > 1 else secrets.randbelow(1_000_000)
    failures = fuzz(seconds, seed)
    for row in failures:
        print(json.dumps(row))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
