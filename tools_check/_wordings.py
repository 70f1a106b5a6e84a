"""Whether a text words a fence of its own: says of other text that it is data, not to be obeyed, or not ours.

Signs are looked for in what the text says, not in a list of sentences: who wrote it (A), that it is data only (B), that
it must not be obeyed (C), and which text is meant (D).  One sign alone is ordinary prose.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from tools_check._ir import ModuleIR, Node, is_node, is_of_names

THING = r"(?:text|content|contents|material|data|words|input|output|message|messages|block|section|document|documents|mail|e mail|email|letter|readme|transcript|website|comment|page|pages|result|results|passage|excerpt|body|quote|payload|snippet|item|items|information|prose)"  # noqa: E501
WHO: Final = re.compile(
    rf"\buntrusted\b|\bun ?trusted\b|\bnot (?:be )?trust(?:ed|worthy)\b|\bquarantined?\b|\bstrangers?\b|\bunverified (?:source|{THING})|"  # noqa: E501
    rf"\b(?:external|outside|foreign|third party|third parties|unknown|other people s|somebody else s) (?:{THING}|source|sources|party|parties|author|authors|people)\b|"  # noqa: E501
    r"\b(?:malicious|hostile|adversarial|attackers?|outsiders?|outside world|unknown (?:person|people|hands?))\b|"
    r"\b(?:you|your user|user|owner|operator|developer) (?:did not|didn t|has not|never) (?:write|author|send|type|say|wrote|written)\b|\bwhat (?:your|the) (?:user|owner|operator) says\b|"  # noqa: E501
    r"\bprompt injections?\b|\b(?:fetched|retrieved|downloaded|scraped|copied|taken) from (?:the )?(?:internet|web|net|outside|elsewhere)\b|"  # noqa: E501
    rf"\b(?:user|publicly|externally|machine|model) (?:generated|provided|supplied|submitted) {THING}\b|"
    r"\b(?:not|never) (?:written|authored|sent|chosen|produced|said|come|came|coming|given|issued|typed|made|posted)? ?(?:by|from) (?:the |your |our |my )?(?:user|operator|owner|developer|system|us|me|you|principal|administrator)\b|"  # noqa: E501
    r"\b(?:written|authored|supplied|chosen|controlled|sent) by (?:somebody|someone|anybody|anyone|people|others|an? (?:attacker|outsider|adversary|third party))\b"  # noqa: E501
)
DATA_ONLY: Final = re.compile(
    r"\bdata (?:only )?(?:and |but |is |are )?(?:not|never|no|rather than) (?:as |an? |any |to be )?(?:\w+ )?(?:instructions?|commands?|orders?|directives?|requests?|prompts?)\b|"  # noqa: E501
    r"\b(?<!holds )(?:purely|only|strictly|solely|merely|just|simply) (?:as |be |for )?(?:data|information|reference|content|informational)\b(?! (?:directives?|sections?|files?|types?|fields?|columns?|rows?|lines?|bytes?|cells?|sets?|points?|tables?|packets?|changes)\b)|\b(?<!fetches )(?<!holds )(?<!loads )(?<!stores )(?<!contains )(?<!copies )(?:data|information|informational|content|reference) only\b|"  # noqa: E501
    r"\b(?:treat|treated|regard|consider|handle|interpret)\b[^.]{0,60}\bas (?:\w+ )?(?:data|information|content|text|reference)\b|"  # noqa: E501
    # "Read a page as text" says how it is decoded; "read it as data" says what it is not.
    r"\b(?:read|use|view)\b[^.]{0,60}\bas (?:\w+ )?(?:data|information|reference)\b|"
    r"\b(?:not|never) (?:as )?(?:an? )?(?:instructions?|commands?)\b|\b(?:no|without|any|lacks?) authority\b|\b(?:requests?|instructions?|commands?|(?:its|their|his|her|any) (?:demands?|orders?))[^.]{0,80}\b(?:void|invalid|ignored|not binding|powerless|without effect)\b|"  # noqa: E501
    r"\bnot (?:instructions?|commands?|orders?)\b|\b(?:nothing|none) (?:\w+ ){0,4}is an? (?:instruction|command|order)\b"
)
OBJECT = r"(?:instructions?|commands?|orders?|directives?|requests?|prompts?|it|them|this|that|anything|what)"
# "For information only" is said of settings too; alone it says something of a text.
WEAK: Final = re.compile(
    r"\b(?:information|reference) only\b|\bonly (?:for )?(?:information|reference)\b|"
    r"\b(?:requests|instructions|commands)[^.]{0,80}\b(?:invalid|ignored)\b"  # said of a program's own commands too
)
OF_TEXT: Final = re.compile(rf"\b{THING}\b")
ORDERS = r"(?:instructions?|commands?|orders?|directives?|directions|demands?|requests?|prompts?)"
OBEY: Final = re.compile(
    rf"\b(?:do not|don t|dont|never|must not|mustn t|should not|shouldn t|cannot|can t|may not|refuse to|without|not to|not be) (?:\w+ ){{0,2}}?(?:follow|following|followed)\b(?= (?:\w+ ){{0,4}}?{ORDERS}\b)|"  # noqa: E501
    rf"\b{ORDERS} (?:\w+ ){{0,6}}?(?:must not|should not|shall not|never|cannot|are not to|is not to|not to) be (?:followed|obeyed|executed|acted)\b|"  # noqa: E501
    rf"\b(?:do not|don t|dont|never|must not|mustn t|should not|shouldn t|cannot|can t|may not|refuse to|without|not to|not be|no need to|is not to be|are not to be) (?:\w+ ){{0,2}}?(?:obey|obeying|obeyed|act(?:ing|ed)? (?:up)?on|heed|comply|carry out|honou?r|executed? (?:\w+ ){{0,2}}(?:instructions?|directives?|requests?)|respond to (?:\w+ ){{0,3}}?{ORDERS})\b(?=(?: \w+){{0,4}} {OBJECT}\b| with\b|\s*$| it\b)|"  # noqa: E501
    r"\b(?:do not|don t|dont|never|must not|should not|cannot) (?:comply|obey)\b|"
    r"\b(?:ignore|disregard|discard)\b (?:\w+ ){0,3}(?:instructions?|commands?|directives?|requests?|orders?) (?:\w+ ){0,3}?(?:in|inside|within|from|contained|embedded|that|it|found|below|between)\b|"  # noqa: E501
    r"\b(?:try|tries|attempts?|trying|attempting|asks?|tells?|wants?) (?:to )?(?:instruct|command|direct|manipulate|order) (?:you|the model|the assistant)\b|"  # noqa: E501
    r"\b(?:do not|don t|dont|never|must not|should not|cannot) let (?:it|them|this|that|anything|the \w+|these \w+)(?: \w+){0,3} (?:change|instruct|direct|steer|influence|affect|alter|tell|command|guide)\b|"  # noqa: E501
    r"\b(?:cannot|can not|can t|may not|must not|does not|can never|never) (?:give|issue) (?:you |the model |the assistant |any )*(?:orders?|instructions?|commands?)\b|"  # noqa: E501
    r"\b(?:anything|whatever|what|everything) (?:it|they|this|the \w+) (?:asks?|says?|requests?|demands?|wants?|tells?)(?: \w+){0,4} (?:ignored|disregarded)\b|"  # noqa: E501
    r"\bnot (?:addressed to|meant for|directed at) you\b|\btake no (?:orders?|instructions?|commands?)\b|"
    r"\b(?:must|should|may|can) not (?:change|affect|influence|alter) (?:what|how|your)\b|"
    r"\bare not (?:your |from )?(?:instructions?|orders?|commands?)\b"
)
POINTING: Final = re.compile(
    rf"\b(?:below|following|follows(?! (?:\w+ )?(?:redirects?|links?|symlinks?)\b)|above|inside|within|between|enclosed|contained|in the box|delimited|wrapped|quoted|attached)\b|\b(?:this|the|these|retrieved|fetched|tool|tool s|search|web) {THING}\b|^{THING}\b"  # noqa: E501
)
MARK: Final = re.compile(
    r"<\s*/?\s*(?:[a-z0-9]+[-_ ])?(?:untrusted|unsafe|quarantined?|unverified|external[-_ ](?:content|data|text|source)|foreign[-_ ](?:content|data|text)|third[-_ ]?party)(?:[-_ ]?\w+)*[^<>]{0,80}>|"  # noqa: E501
    r"(?:begin|start|end|open|close)(?:ning)?[\W_]+(?:of[\W_]+)?(?:the[\W_]+)?(?:\w+[\W_]+)?(?:untrusted|quarantined?|unverified|external[\W_]+(?:content|data|text|input)|foreign[\W_]+(?:content|data|text)|third[\W_]?party[\W_]+(?:content|data|text))|"
    r"(?:untrusted|quarantined?|unverified|external[\W_]content|external[\W_]data)[\W_]+(?:\w+[\W_]+){0,2}(?:begin|begins|start|starts|end|ends)\b|"
    r"(?:\[\[|<<|\{\{|---|===|###|\*\*\*|~~~)[\W_]*(?:untrusted|quarantined?|unverified)\b",
    re.IGNORECASE,
)
PEM: Final = re.compile(r"BEGIN (?:[A-Z0-9]+ )*(?:CERTIFICATE|PUBLIC KEY|PRIVATE KEY|PGP|SSH)")
ATTACK: Final = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your |my )*(?:previous|prior|above|earlier|preceding|system|initial|original)\b"  # noqa: E501
)


class Text(NamedTuple):
    """A text as a module builds it: constants joined, `\\0` for each value put in."""

    ordinal: int
    text: str
    joined: bool


def normal(text: str) -> str:
    """The words alone: one case, no decoration, spaced-out letters closed up."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))
    text = re.sub(r"(?<![A-Za-z])((?:[A-Za-z] ){3,}[A-Za-z])(?![A-Za-z])", lambda m: m[1].replace(" ", ""), text)
    text = text.casefold().replace("\u2019", "'").replace("'", " ")
    return re.sub(r"[^a-z0-9.]+", " ", text).strip()


def is_fence(text: str) -> bool:
    """Whether a text words a fence."""
    if len(text) < 8:
        return False
    squeezed = re.sub(
        r"(?<![A-Za-z])((?:[A-Za-z] ){3,}[A-Za-z])(?![A-Za-z])", lambda m: m[1].replace(" ", ""), text[:20000]
    )
    if MARK.search(squeezed) and not PEM.search(squeezed):
        return True
    for passage in passages(normal(text[:20000])):
        who = bool(WHO.search(passage))
        data = bool(DATA_ONLY.search(passage))
        obey = bool(OBEY.search(passage)) and not ATTACK.search(passage)
        pointing = bool(POINTING.search(passage))
        if pointing and data and not obey and not OF_TEXT.search(WEAK.sub("", passage)):
            pointing = bool(DATA_ONLY.search(WEAK.sub("", passage)))
        if (data or obey) and (who or (data and obey) or pointing):
            return True
    return False


def passages(text: str) -> Iterator[str]:
    """A long text is read a few sentences at a time: signs far apart do not belong together."""
    sentences = [s.strip() for s in text.split(".") if s.strip()]
    if len(sentences) <= 3:
        yield " ".join(sentences)
        return
    for i in range(len(sentences) - 2):
        yield " ".join(sentences[i : i + 3])


# -- the texts of a module


def texts(module: ModuleIR) -> list[Text]:
    """Every text that a module builds out of constants; docstrings, comments, dict keys and comparisons are
    none.
    """
    table = constants(module)
    out: list[Text] = []
    collect_block(module.body, table, out)
    for definition in module.defs:
        for param in definition.params:
            if param.default is not None:
                collect(param.default, definition.ordinal, table, out)
        collect_block(definition.body, table, out)
    for cls in module.classes:
        collect_block(cls.body, table, out)
    return out


def constants(module: ModuleIR) -> dict[str, str]:
    """Names that are given one constant text in the module."""
    table: dict[str, str | None] = {}

    def enter(body: tuple[Node, ...]) -> None:
        for statement in body:
            value = None
            targets: tuple[Node, ...] = ()
            if statement[1] == "=":
                targets, value = statement[2], statement[3]
            elif statement[1] == "ann":
                targets, value = (statement[2],), statement[4]
            for target in targets:
                if target[0] == "n":
                    text = value[1] if value and value[0] == "k" and isinstance(value[1], str) else None
                    table[target[1]] = text if target[1] not in table else None
                    row = value[1] if value and value[0] in ("l", "t") else ()
                    if row and all(item[0] == "k" and isinstance(item[1], str) for item in row):
                        table[ROW + target[1]] = (
                            ROW.join(item[1] for item in row) if ROW + target[1] not in table else None
                        )

    enter(module.body)
    for definition in module.defs:
        enter(definition.body)
    for cls in module.classes:
        enter(cls.body)
    return {name: text for name, text in table.items() if text is not None}


def collect_block(body: tuple[Node, ...], table: dict[str, str], out: list[Text]) -> None:
    for statement in body:
        ordinal, tag = statement[0], statement[1]
        if tag == "e" and statement[2][0] == "k":
            continue  # a docstring
        if is_of_names(statement):
            continue
        for part in statement[2:]:
            if not is_node(part):
                continue
            if part and isinstance(part[0], str):
                collect(part, ordinal, table, out)
            elif tag in ("=", "del") and part and isinstance(part[0], tuple):
                for target in part:
                    collect(target, ordinal, table, out)
            elif tag == "try" and part and isinstance(part[0], tuple) and part[0] and not isinstance(part[0][0], int):
                for handler in part:
                    collect_block(handler[2], table, out)
            elif tag == "match" and part and isinstance(part[0], tuple):
                for case in part:
                    collect_block(case[2], table, out)
            elif tag == "with" and part and isinstance(part[0], tuple) and not isinstance(part[0][0], int):
                for item, _ in part:
                    collect(item, ordinal, table, out)
            elif part and isinstance(part[0], tuple) and part[0] and isinstance(part[0][0], int):
                collect_block(part, table, out)


def collect(node: Node, ordinal: int, table: dict[str, str], out: list[Text]) -> None:
    """The texts of an expression, the longest ones only."""
    built = build(node, table)
    if built is not None:
        text, joined = built
        out.append(Text(ordinal, text, joined))
        for hole in holes(node):
            collect(hole, ordinal, table, out)
        return
    tag = node[0]
    if tag == "cmp":
        return
    if tag == "d":
        for _, value in node[1]:
            collect(value, ordinal, table, out)
        return
    if tag == "x":
        collect(node[2], ordinal, table, out)
        for _, _, value in node[3]:
            collect(value, ordinal, table, out)
        return
    for part in node[1:]:
        if is_node(part) and part:
            if isinstance(part[0], str):
                collect(part, ordinal, table, out)
            else:
                for item in part:
                    if is_node(item) and item and isinstance(item[0], str):
                        collect(item, ordinal, table, out)


HOLE: Final = "\0"
ROW: Final = "\1"  # before the name of a list of texts in the table of constants, and between these


def build(node: Node, table: dict[str, str]) -> tuple[str, bool] | None:
    """The text that an expression builds, and whether other text is joined to it; None when it builds none."""
    tag = node[0]
    if tag == "k":
        return (node[1], False) if isinstance(node[1], str) else None
    if tag == "f":
        parts = [part_text(p, table) for p in node[1]]
        return "".join(parts), any(HOLE in p for p in parts)
    if tag == "b" and node[1] in ("Add", "Modulo"):
        left = build(node[2], table) or named(node[2], table)
        right = build(node[3], table) or named(node[3], table)
        if node[1] == "Modulo":
            return (left[0], True) if left is not None else None
        if left is None and right is None:
            return None
        a, b = left or (HOLE, True), right or (HOLE, True)
        return a[0] + b[0], a[1] or b[1]
    if tag == "x" and node[2][0] == "a":
        given: Node = node[3][0][2] if node[2][2] == "join" and len(node[3]) == 1 else ("k", None)
        if given[0] == "n" and ROW + str(given[1]) in table:
            given = ("l", tuple(("k", text) for text in table[ROW + given[1]].split(ROW)))
        if given[0] in ("l", "t"):
            separator = build(node[2][1], table) or named(node[2][1], table)
            if separator is None:
                return None
            items = [part_text(item, table) for item in given[1]]
            return separator[0].join(items), any(HOLE in item for item in items)
        if node[2][2] in ("format", "replace", "strip", "upper", "lower", "rstrip", "lstrip"):
            inner = build(node[2][1], table) or named(node[2][1], table)
            return (inner[0], inner[1] or node[2][2] in ("format", "replace")) if inner is not None else None
    return None


def named(node: Node, table: dict[str, str]) -> tuple[str, bool] | None:
    if node[0] == "n" and node[1] in table:
        return table[node[1]], False
    if node[0] == "a" and node[2] in table:
        return table[node[2]], False
    return None


def part_text(node: Node, table: dict[str, str]) -> str:
    found = build(node, table) or named(node, table)
    return found[0] if found is not None else HOLE


def holes(node: Node) -> Iterator[Node]:
    """The parts of a built text that are not text themselves."""
    tag = node[0]
    if tag == "f":
        yield from (p for p in node[1] if p[0] not in ("k", "n"))
    elif tag == "b":
        for part in (node[2], node[3]):
            if part[0] in ("b", "f"):
                yield from holes(part)
            elif part[0] not in ("k", "n"):
                yield part
    elif tag == "x":
        for _, _, value in node[3]:
            if value[0] not in ("k", "n", "l", "t"):
                yield value
            elif value[0] in ("l", "t"):
                yield from (item for item in value[1] if item[0] not in ("k", "n"))
