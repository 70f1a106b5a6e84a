"""Reads what may be an HTML tag at a `<` and says what to do with it: keep, remove, break, follow, or wait.

It reads as a browser does (the WHATWG tokenizer), because the browser has the last word.
It must never say `keep` of a tag in which an attribute could load, link or run.
"""

import re
from typing import Final, Literal

# How far a candidate is followed before it is settled without its end. The hold-back of the machine rests
# on it.
MAX_TAG: Final = 256
MAX_NAME: Final = 64

Verdict = Literal["keep", "remove", "break", "follow", "wait"]


def names(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


# Elements that change how the browser reads what follows (raw text, foreign content): never left standing,
# even bare.
RAW_ELEMENTS: Final = names("""
    iframe math noembed noframes noscript plaintext script style svg template textarea title xml xmp
""")
# Elements that load, redirect or run by any of their attributes: harmless only when bare.
ACTIVE_ELEMENTS: Final = names("""
    animate animatemotion animatetransform applet area audio base basefont bgsound body controlledframe
    embed fencedframe feimage foreignobject frame frameset html ilayer image img isindex layer link meta
    model object param picture portal set source track use video webview
""")
KNOWN_ELEMENTS: Final = RAW_ELEMENTS | ACTIVE_ELEMENTS
# Attributes that load, link or run on any element.
SINKS: Final = names("""
    action archive attributionsrc background cite classid code codebase content data dynsrc formaction href
    icon imagesrcset is longdesc lowsrc manifest ping poster profile src srcdoc srcset style usemap
""")
NOT_HANDLERS: Final = frozenset(("on", "once", "one", "ones", "only", "onto"))

# A value that can point nowhere and run nothing: a few plain words.
PLAIN_VALUE: Final = re.compile(r"[A-Za-z0-9_ .,#-]*\Z")
LETTERS: Final = re.compile(r"[a-z0-9-]*")
NAME: Final = re.compile(r"</?([A-Za-z][^\s/><]*)")
ATTRIBUTE: Final = re.compile(r"=?[^\s/>=<]*")
GAP: Final = re.compile(r"[\s/]*")
BLANKS: Final = re.compile(r"\s*")
EQUALS: Final = re.compile(r"\s*=\s*")
UNQUOTED: Final = re.compile(r"[^\s>]*")
# What stands in code after a comparison (`i<n; i++)`) and in no attribute name that anybody writes.
STOP: Final = re.compile("[=>]")
CODE: Final = re.compile(r"[;(){}&|,+*\[\]]")

UP_TO_NAME: Final = re.compile(r"(?s:.*)[\s\"'<>/=]")
VALUE_AFTER: Final = re.compile(r"=\s{0,16}+(?:\"([^\"]{0,64})\"|'([^']{0,64})'|([^\s>\"']{0,64})(?=[\s>]))")
UNFINISHED_VALUE: Final = re.compile(r"=\s*[\"']?[A-Za-z0-9_ .,#-]*\Z")
QUOTE_AFTER: Final = re.compile(r"=\s{0,16}([\"']|\Z)?")


def is_sink(name: str) -> bool:
    """Whether an attribute of this name can load, link or run on an ordinary element."""
    lowered = name.lower()
    if lowered in SINKS or lowered.endswith(":href"):
        return True
    return lowered.startswith("on") and lowered.isalpha() and lowered not in NOT_HANDLERS


def read_tag(text: str, at: int, *, final: bool) -> tuple[Verdict, int]:
    """Judges the tag that may begin at `text[at]`; with `keep` comes the index after its `>`."""
    limit = at + MAX_TAG
    following = text.find("<", at + 1, limit)
    # The next `<` ends the look, even in quotes: so every character is looked at once, however many `<`
    # there are.
    end = min(len(text), limit) if following < 0 else following
    ended = final or following >= 0 or len(text) >= limit
    found = NAME.match(text, at, end)
    if found is None:
        return "follow", at
    name = found.group(1).lower()
    here = found.end()
    if here - at >= MAX_NAME:
        return read_unfinished(text, at), at
    if here >= end and not ended:
        return "wait", at
    if here >= len(text) and LETTERS.fullmatch(name):
        return "follow", at
    closing = text.startswith("</", at)
    active = name in ACTIVE_ELEMENTS and not closing
    raw = name in RAW_ELEMENTS and not closing
    unsure = read_unfinished(text, at)
    stop = STOP.search(text, here, end)
    if unsure == "follow" and CODE.search(text, here, end if stop is None else stop.start()):
        return "follow", at
    if stop is None:
        return (unsure if ended else "wait"), at
    if stop.group() == ">":
        return ("break", at) if raw else ("keep", stop.end())
    return _read_attributes(text, at, here, end, ended=ended, harmful=active or raw, unsure=unsure)


def _read_attributes(
    text: str, at: int, here: int, end: int, *, ended: bool, harmful: bool, unsure: Verdict
) -> tuple[Verdict, int]:
    while True:
        here = _past(GAP, text, here, end)
        if here >= end:
            return (unsure if ended else "wait"), at
        if text[here] == ">":
            return "keep", here + 1
        start = here
        here = _past(ATTRIBUTE, text, here, end)
        attribute = text[start:here]
        beyond = _past(BLANKS, text, here, end)
        if beyond >= end:
            return (unsure if ended else "wait"), at
        equals = EQUALS.match(text, here, end)
        if equals is None:
            here = max(here, start + 1)
            continue
        here = equals.end()
        value, here, closed = _value(text, here, end)
        if harmful or (is_sink(attribute) and PLAIN_VALUE.match(value) is None):
            return ("remove", at) if closed or ended or value else ("wait", at)
        if not closed:
            return (unsure if ended else "wait"), at


def read_unfinished(text: str, at: int) -> Verdict:
    """Judges a tag that is not seen to its end, or that holds a trigger, by the letters that its name
    begins with.

    More may come off the name on the way, so `<img](` counts as `<img`.
    """
    begins = LETTERS.match(text[at + 1 : at + MAX_NAME].lower())
    assert begins is not None  # it may be empty
    return "break" if begins.group() in KNOWN_ELEMENTS else "follow"


def _past(pattern: re.Pattern[str], text: str, at: int, end: int) -> int:
    found = pattern.match(text, at, end)
    return at if found is None else found.end()


def _value(text: str, at: int, end: int) -> tuple[str, int, bool]:
    """The attribute value at `at`, the index after it, and whether its end was seen."""
    if at >= end:
        return "", at, False
    quote = text[at]
    if quote in "\"'":
        close = text.find(quote, at + 1, end)
        if close < 0:
            return text[at + 1 : end], end, False
        return text[at + 1 : close], close + 1, True
    stop = _past(UNQUOTED, text, at, end)
    return text[at:stop], stop, stop < end
