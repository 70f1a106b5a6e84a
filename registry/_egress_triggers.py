"""The pieces without which no link and no image exists, written as regular expressions over the machine's
own output.

A trigger is a few adjacent characters (`](`, `]:`, `<a`, `://`, `//host`, `www.x`, `\\href{`), with their
encoded forms. Nothing here may look further than LOOK characters ahead, and nothing may decide: a match is
a question for the machine.
"""

import re
from typing import Final

from registry._egress_markup import names

# How far a trigger may look ahead, and how much of a word that may be a scheme is kept back before it.
LOOK: Final = 80
MAX_SCHEME: Final = 40

# Characters that a renderer or a browser drops or shows as nothing; entities for them; the escape of
# Markdown.
UNSEEN_CHARACTERS: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
UNSEEN: Final = (
    rf"(?:[{UNSEEN_CHARACTERS}]|&(?:Tab|NewLine|shy|zwj|zwnj|NoBreak|ZeroWidthSpace);"
    r"|&\#0{0,4}(?:9|10|13|173|8203|8288|65279);?"
    r"|&\#[xX]0{0,4}(?:9|[aA]|[dD]|[aA][dD]|200[bBcCdD]|2060|[fF]{2}[eE]{2});?)"
)
FORWARD: Final = r"(?:[/／⁄∕]|&sol;|&\#0{0,6}47;?|&\#[xX]0{0,6}2[fF];?)"
BACKWARD: Final = r"(?:[\\＼]|&bsol;|&\#0{0,6}92;?|&\#[xX]0{0,6}5[cC];?)"
COLON: Final = r"(?:[:：﹕]|&colon;|&\#0{0,6}58;?|&\#[xX]0{0,6}3[aA];?)"
DOT: Final = r"(?:\\?[.。．｡]|&period;|&\#0{0,6}46;?|&\#[xX]0{0,6}2[eE];?)"
SLASH: Final = rf"(?:{FORWARD}|{BACKWARD})"

# Schemes that act without two slashes: those that are links after any letter, and those of which only a
# shape is.
GLUED_SCHEMES: Final = ("mailto", "xmpp", "javascript", "vbscript", "livescript")
ACTING_ENDS: Final = (
    *GLUED_SCHEMES,
    *("data", "tel", "sms", "callto", "facetime", "skype", "file", "magnet", "view-source", "search-ms", "intent"),
    *("blob", "ms-settings", "ms-word", "ms-excel", "ms-powerpoint", "ms-visio", "ms-access", "ms-project"),
    "ms-publisher",
)
WEB_SCHEMES: Final = ("http", "https", "ftp", "ftps", "ws", "wss", "file", "smb", "sftp", "ssh", "git")

# LaTeX commands that load or link (KaTeX with trust, MathJax). The first kind is never needed without its
# argument.
LOADING_COMMANDS: Final = "href|includegraphics|includesvg|htmlStyle|htmlData|htmlClass|htmlId|mmlToken"
NAMING_COMMANDS: Final = "url|nolinkurl|style|class|cssId"

_FIRST: Final = r"[:：﹕&/／⁄∕\\<\].。．｡{more}]"
_REST: Final = rf"""(?:
    COLON
  | (?<=\])BRACKET
  | (?<=<)(?=[A-Za-z/!?]|[!-;=?-~]{{1,64}}@)ANGLE
  | (?<=[/／⁄∕])(?<![A-Za-z0-9:：﹕].)(?={UNSEEN}{{0,3}}\\?{FORWARD})
  | (?<=\\)(?=/\\?{FORWARD}|(?:{LOADING_COMMANDS})(?![A-Za-z])|(?:{NAMING_COMMANDS})\s{{0,4}}[\{{\[])
  | (?<=[wW][wW][wW]\\)(?=\.)
  | (?<=[wW][wW][wW][.。．｡])(?=\S)
  | (?<=&)(?=\#|colon;|sol;|period;)
)"""
_COLON: Final = rf"(?<=[:：﹕])(?={UNSEEN}{{0,3}}\\?{SLASH}) | (?<=[opatlsebdrOPATLSEBDR]:)(?=[^\s:])"
_BRACKET: Final = r"(?=:|[ \t]{0,3}\r?\n?[ \t]{0,3}(?:\(|\Z))"


def _compiled(*, colon: str = _COLON, bracket: str = _BRACKET, angle: str = "", more: str = "") -> re.Pattern[str]:
    rest = _REST.replace("COLON", colon, 1).replace("BRACKET", bracket, 1).replace("ANGLE", angle, 1)
    if more:
        rest = rest.replace("(?:", "(?: (?<=>) () | (?<==) |", 1)
    return re.compile(_FIRST.format(more=more) + rest, re.VERBOSE)


TRIGGER: Final = _compiled()
# While a tag stands open in the output, an attribute's `=` and the `>` that closes it matter too.
TRIGGER_IN_TAG: Final = _compiled(more="=>")

# The same for where triggers stand thick: a longer pattern, which passes what leads nowhere and gives some
# answers by the last group that took part. It must be sure: what it answers, the machine would decide alike.
THICK: Final = 16
TAG_CLOSED: Final = 1  # `>` while a tag stands open
KEPT_DESTINATION: Final = 2  # `](#here)`: kept
BEFORE_PLAIN_DESTINATION: Final = 3  # `](` before plain words: a blank goes between
BEFORE_PLAIN_DEFINITION: Final = 4  # `]:` before a plain word, which is the group
BEFORE_MARKUP: Final = 5  # `<!`, `<script>`: a blank goes between
BARE_TAG: Final = 7  # `<b>`: kept; the group before is the name
UNFINISHED_TAG: Final = 9  # `<b x=<`: a tag stands open; the group before is the name
_BARE: Final = r"\([ \t\n\r\f\v]{0,3}(?:[A-Za-z0-9_,+*\ -]{0,64}|\#[A-Za-z0-9_-]{1,64})\)"
# ASCII that makes no address, without a full stop, which makes one of a slash.
_WORD: Final = r"[!\#$(-\-/-;>-\[\]^_a-~]"
# The longest destination of plain words and one character more; a word that is no address and not encoded.
_THICK_BRACKET: Final = rf"""(?:
    {_BARE} ()
  | (?=\([!-$'(*-.0-9;>-\[\]^_a-~]{{66}}) ()
  | (?=:[ \t]{{0,3}}+\n?[ \t]{{0,3}}+(?!>|[A-Za-z][A-Za-z0-9+.-]{{0,80}}:[^\s:])
      ({_WORD}{{80}}|{_WORD}{{1,79}}+(?=\s)))
  | {_BRACKET}
)"""
_THICK_ANGLE: Final = r"""(?:
    (?=\?|!(?!-{0,2}(?:[ \t]|\Z)|[dD])) ()
  | /?([A-Za-z][A-Za-z0-9-]{0,56})> ()
  | (?=/?([A-Za-z][A-Za-z0-9-]{0,56}+)[\t\n\r !-9;?A-~]{0,56}+(?:=["']?[A-Za-z0-9_]{0,32})?<) ()
  |
)"""
_ACTING_END: Final = rf"(?ai:{'|'.join(sorted({scheme[-2:] for scheme in ACTING_ENDS}))})"
_SCHEME_END: Final = rf"(?ai:{'|'.join(sorted({scheme[-2:] for scheme in (*ACTING_ENDS, *WEB_SCHEMES)}))})"
_THICK_COLON: Final = rf"""
    (?<=[:：﹕])(?={UNSEEN}{{0,3}}\\?{SLASH})
      (?!(?<!{_SCHEME_END}[:：﹕])(?<!\\[:：﹕])/(?:[ -%'-.0-\[\]-~]|/[ !"\#$'()*+,.:;<=>?\]^`{{|}}~]))
  | (?<={_ACTING_END}:)(?=[^\s:])
"""
THICK_TRIGGER: Final = _compiled(
    # The group without a use keeps the numbers of the others.
    colon=f"(?!) () | {_THICK_COLON}",
    bracket=_THICK_BRACKET,
    angle=_THICK_ANGLE,
)
THICK_TRIGGER_IN_TAG: Final = _compiled(colon=_THICK_COLON, bracket=_THICK_BRACKET, angle=_THICK_ANGLE, more="=>")

# What may still become part of a trigger at the end of a chunk: no blank, nothing a trigger ends at (CJK
# text, say).
_OPEN_CHARACTERS: Final = rf"!-~：﹕／⁄∕＼。．｡{UNSEEN_CHARACTERS}"
UP_TO_CLOSED: Final = re.compile(rf"(?s:.*)[^{_OPEN_CHARACTERS}]")

SCHEME_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-"
COLON_HERE: Final = re.compile(COLON)
SLASHES: Final = re.compile(rf"{UNSEEN}{{0,3}}\\?{SLASH}{UNSEEN}{{0,3}}\\?{SLASH}[/\\]{{0,8}}{UNSEEN}{{0,3}}")
TWO_FORWARD: Final = re.compile(rf"\\?{FORWARD}{UNSEEN}{{0,3}}\\?{FORWARD}[/\\]{{0,8}}{UNSEEN}{{0,3}}")
ANY_FORWARD: Final = re.compile(FORWARD)
DOT_HERE: Final = re.compile(DOT)
HOST: Final = re.compile(r"\[[0-9A-Fa-f:.]*|[^\s/\\?#\"'<>|()\[\]}{,;⟨⟩]*(?:;[^\s/\\?#\"'<>|()\[\]}{,;⟨⟩]+)*")
# A host as it stands after two slashes in running text: labels with a dot between (or what a browser maps
# to one), a number that is an address, an encoded character, a port, an IPv6 literal. `//TODO` and `//div`
# are none of these.
# Not before a placeholder of ours; over `<` too, since a tag that goes joins what stands on its sides.
UNBROKEN: Final = re.compile(r"(?!⟨)\S*")
ADDRESS_HOST: Final = re.compile(
    rf"""(?:
        [^.]+{DOT}[^\s.`]
      | .*%[0-9A-Fa-f]{{2}} | .*&(?:\#|[A-Za-z]+;) | .*@(?:[0-9]|localhost) | .*[．｡]
      | [0-9]{{7,}} | 0[xX][0-9A-Fa-f]+ | localhost | [^:]+:[0-9] | \[[0-9A-Fa-f:.]*:
    )""",
    re.VERBOSE | re.IGNORECASE,
)
WORD: Final = re.compile(r"\S*")

SHAPED_SCHEMES: Final = re.compile(
    r"(?:data:(?:[a-z]+/[a-z0-9.+-]+)?[;,]|(?:tel|sms|callto|facetime|skype):[+\d]|file:[/\\]|magnet:\?"
    r"|(?:view-source|search-ms|ms-settings):\S|ms-[a-z]+:[a-z]+\||intent:\S+\#Intent|blob:https?)",
    re.IGNORECASE,
)

# `<scheme:rest>` and `<somebody@host>` are links in every Markdown.
ANGLE_LINK: Final = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}):(?=[^\s<>:])")
ANGLE_MAIL: Final = re.compile(r"<[^\s<>@]{1,64}@[^\s<>@]{1,64}>")
# `<int:id>` is a converter of a web route, `<soap:Body>` a name with a prefix; neither is a scheme that acts.
ROUTE_CONVERTER: Final = re.compile(r"<(?:any|float|int|path|re_path|slug|str|string|uuid):[A-Za-z_]\w{0,40}>")
PREFIXED_NAME: Final = re.compile(r"<[A-Za-z][\w.-]*:[A-Za-z_][\w-]*>")
ACTING_SCHEMES: Final = names("""
    data facetime file geo intent javascript livescript magnet mailto sip sips skype sms tel vbscript xmpp
""")

# A comment of a few plain words and the doctype of today: closed, and read the same by every parser.
DOCTYPE: Final = "<!doctype html>"
PLAIN_DECLARATION: Final = re.compile(rf"<!--[ \t][A-Za-z0-9_., \t]{{0,64}}-->|(?ai:{DOCTYPE})")
# What may still become such a comment at the end of a text.
COMMENT_BEGUN: Final = re.compile(r"<!-?(?:-(?:[ \t][A-Za-z0-9_., \t]{0,64}-{0,2})?)?\Z")

# What may stand in `](...)` untouched: a few plain words, or a place on the same page.
BARE_DESTINATION: Final = re.compile(_BARE)
MAX_DESTINATION: Final = 64
AFTER_BRACKET: Final = re.compile(r"\]([ \t]{0,3}\r?\n?[ \t]{0,3})(\(|:|\Z)?")
DEFINITION: Final = re.compile(r"\]:([\s>]*)(\S*)")
SCHEME_FIRST: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s:]")
ENCODED: Final = re.compile(r"&(?:\#|[A-Za-z]+;)|%[0-9A-Fa-f]{2}")
SPECIAL: Final = re.compile(r"[/\\:&%<`：／＼]")
OUTSIDE_SLASHES: Final = re.compile(r"[/\\／＼]{2}")

COMMAND: Final = re.compile(rf"\\({LOADING_COMMANDS}|{NAMING_COMMANDS})(?![A-Za-z])")
COMMAND_ARGUMENT: Final = re.compile(r"\s{0,4}(?:\[[^\]\n]{0,64}\])?\s{0,4}(?:\{([^{}\n]{0,64})(\})?)?")
OPTION_BEGUN: Final = re.compile(r"\[[^\]\n]{0,64}\Z")
PLAIN_ARGUMENT: Final = re.compile(r"(?!.*[wW]{3}\.)[A-Za-z0-9_][A-Za-z0-9_ ,.-]*(?:/[A-Za-z0-9_.-]+)*/?\Z|\Z")
MAX_COMMAND: Final = 150
