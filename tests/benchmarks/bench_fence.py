"""How fast the fence is and how much it adds, beside HMAC alone and `html.escape` on the same text in the
same process.

`python -m tests.benchmarks.bench_fence` prints a table; nothing is asserted. Figures are processor time, the
best of five; MB are UTF-8 bytes of the input. `growth` is the size of the block by the size of the input.
"""

import hashlib
import hmac
import html
import inspect
import json
import time
import tokenize
from collections.abc import Callable

from registry._fence import WORD, FenceKey, fence_untrusted

SIZE = 1_000_000
KEY = FenceKey.from_bytes(b"a key of the benchmark")


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def filled(piece: str) -> str:
    return piece * (SIZE // size(piece) + 1)


def code() -> str:
    sources = "".join(inspect.getsource(module) for module in (inspect, json, html, tokenize, hmac))
    return filled(sources.encode("ascii", "ignore").decode())


def texts() -> dict[str, str]:
    prose = "The quick brown fox jumps over the lazy dog. It was a question of time, and nobody knew why.\n"
    mail = "From: someone@example.org\r\nSubject: a usual line\r\n\r\nDear all, this is what a mail holds.\r\n"
    hostile = f"{WORD} <|a|>\x00 "
    return {
        "plain prose": filled(prose),
        "code": code(),
        "CRLF mail": filled(mail),
        "Cyrillic": filled("Съешь же ещё этих мягких французских булок, да выпей чаю. "),
        "Cyrillic HTML": filled("<p>Съешь же ещё этих мягких &laquo;французских&raquo; булок</p>\n"),
        "French": filled("Le chef a été élu où les élèves zélés quittent l'école, à la forêt. "),
        "Hebrew with marks": filled("בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ "),
        "emoji sequences": filled("👩‍👩‍👧‍👦🏳️‍🌈👍🏽 "),
        "JSON with \\u": filled('{"title": "\\u0421\\u044a\\u0435\\u0448\\u044c", "n": 1}\n'),
        "tag characters": filled("\U000e0041"),
        "NUL": filled("\0"),
        "NUL every other": filled("a\0"),
        "escape brackets": filled("⧼"),
        "marker words": filled(f"{WORD} "),
        "lookalike words": filled("𝓏ｕρզᴜʀк "),
        "control tokens": filled("<|a|>"),
        "wide tokens": filled("＜|a|>"),
        "entities": filled("&#122;"),
        "backslashes": filled("\\n"),
        "symbols U+1D300": filled("".join(map(chr, range(0x1D300, 0x1D357)))),
        "far forms": filled("%71" + "." * 500),
        "far forms, the word's letters": filled("%71" + "zu pq" * 200),
        "far forms, blanks": filled("%71" + " " * 1_000),
        "a form in each line": filled("%71 a" + "." * 300 + "\n"),
        "percent signs": filled("%"),
        "bare backslashes": filled("\\"),
        "bare ampersands": filled("&#"),
        "entity chains": filled("&amp;"),
        "the rarest letter": filled(WORD[3]),
        "words in thrice percent": filled(f"%25257a{WORD[1:]}"),
        "words in thrice percent, wide tokens": filled(f"%25257a{WORD[1:]}＜|a|>"),
        "tokens in thrice percent, wide": filled("%25253c|a|>＜|a|>"),
        "all of it": filled(f"&#122;{WORD[1:]}\0<|a|>⧼&amp;#122;{WORD[1:]}"),
        "all of it, CRLF": filled(f"{hostile}%257a{WORD[1:]}\r\n"),
    }


def best(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return max(min(times), 1e-9)


def main() -> None:
    print(f"{'text':38}{'fence MB/s':>12}{'/ hmac':>10}{'/ html.escape':>15}{'growth':>9}")
    for name, text in texts().items():
        data = text.encode("utf-8", "surrogatepass")
        block = fence_untrusted(text, origin="web", key=KEY)
        fence = best(lambda text=text: fence_untrusted(text, origin="web", key=KEY))  # type: ignore[misc]  # bound now
        mac = best(lambda data=data: hmac.digest(b"key", data, hashlib.sha256))  # type: ignore[misc]  # bound now
        escape = best(lambda text=text: html.escape(text))  # type: ignore[misc]  # bound now
        growth = size(block) / len(data)
        print(f"{name:38}{len(data) / fence / 1e6:12.1f}{fence / mac:10.1f}{fence / escape:15.1f}{growth:9.2f}")


if __name__ == "__main__":
    main()
