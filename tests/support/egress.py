"""What the tests of the egress strip share: corpus rows, chunkings, random joins of trigger fragments."""

import json
import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from registry.egress import EgressFilter

DATA = Path(__file__).parent.parent / "data" / "egress"

# Pieces of triggers, encodings and harmless text; their joins are what nobody wrote down.
WORDS = """
    ![ [ ]( ] ( ) ! < > </ <img <a <b> </b> <svg> <style> <script> <title> <input <base <textarea <!-- -->
    <! <? <x /> src= href= style= onclick= =" =' = " ' //evil.example/S /\\evil.example/S
    \\/\\/evil.example/S https: http:/ https://evil.example/S http s: : :// // / \\ \\\\ &#58; &colon; &sol;
    &#47; &#46; &lt; &#x5d; & # ; ` ``` [r]: [r] ]: www. www\\. w evil.example/S url( javascript: mailto:
    data: text/html, tel:+1 file:/ a@evil.example <a@evil.example> <int:id> <std::string> x alt * _ ~~ { } $
    \\href{ \\url{ {x} ^[ [^1] [^1]: @import i<n;i++ a<b ⟨link removed⟩ [link removed] ⟨ ⟩ 。 ： ／／ 中文
    \\( \\] .. , - + %2f | 1234567 localhost
"""
BLANKS = [
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "\r",
    "\r\n",
    "\f",
    "> ",
    "- ",
    "| ",
    ": ",
    "] (",
    "]\n:",
    " " * 70,
    "<!-- a b -->",
    "<!doctype html>",
]
UNSEEN = ["\u200b", "\u00ad", "\u2028", "\x1b]8;;", "\x07", "\x1b[8m", "\x9d", "\x00"]
FRAGMENTS = [*WORDS.split(), *BLANKS, *UNSEEN, "x" * 45, "a" * 70]


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one corpus file."""
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def stream(chunks: Iterable[str]) -> str:
    """What a reader has in the end who saw the chunks one after the other."""
    egress = EgressFilter()
    return "".join([*map(egress.feed, chunks), egress.flush()])


def prefixes(text: str) -> Iterator[str]:
    """What a reader has on the screen after each character, before the end has come."""
    egress = EgressFilter()
    shown = ""
    for character in text:
        more = egress.feed(character)
        shown += more
        if more:
            yield shown


def cut(text: str, at: Iterable[int]) -> list[str]:
    """The text in pieces."""
    edges = [0, *sorted(at), len(text)]
    return [text[start:stop] for start, stop in pairwise(edges)]


def random_join(chance: random.Random) -> str:
    """A few fragments after each other."""
    return "".join(chance.choices(FRAGMENTS, k=chance.randint(2, 12)))


def mutated(chance: random.Random, texts: list[str]) -> str:
    """A payload with fragments put into it, or two payloads spliced."""
    text = chance.choice(texts)
    if chance.random() < 0.3:
        other = chance.choice(texts)
        text = text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        text = text[:at] + chance.choice(FRAGMENTS) + text[at:]
    return text
