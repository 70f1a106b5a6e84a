"""The state machine of the egress strip: text in, text without a trigger out.

How it works. One string holds the end of what was already written and, after it, what was not. The machine
looks for the next *trigger* (`_egress_triggers`) in that string, so every decision sees the output to its
left and the input to its right: what was removed is invisible to the next decision, and a removal always
leaves a character that joins nothing. A trigger is passed, waits for more input, or is broken: by a
placeholder in its place, or, where only the shape is dangerous and not the words, by one blank inside it.
Plain text between two triggers is found by one regular expression and copied whole, which is where the
speed is; text comes in blocks, so that cutting the string stays cheap.

What it must never do: recognise constructs and act on them as wholes (nesting defeats it), track code
fences (a renderer disagrees about what is code), keep back more than MAX_HELD characters, or decide
differently because a chunk ended somewhere. A decision is taken only when no further input could change it.
"""

from typing import Final, final

from registry import _egress_markup as markup
from registry import _egress_triggers as triggers
from registry._egress_swallow import Address, Destination, Swallower, Tag, Value

# Inert: no bracket that Markdown knows, no letter or digit at an edge, a blank inside so that it is no
# destination.
LINK_REMOVED: Final = "⟨link removed⟩"
"""What stands in the place of an address."""
MARKUP_REMOVED: Final = "⟨markup removed⟩"
"""What stands in the place of a tag."""
MAX_HELD: Final = 300
"""How many characters of a stream wait for more input at most."""

# How much of the output the triggers look back on, and how much text is taken in at once.
MEMORY: Final = 96
BLOCK: Final = 512
NOT_A_HOST: Final = frozenset("\"'`<>()]}|,;.!?。，、；：！？）」』】》”’⟨⟩")


@final
class Machine:
    """Breaks triggers in a stream of text."""

    __slots__ = ("_at", "_ends", "_final", "_open", "_out", "_sticky", "_swallower", "_text", "_written")

    def __init__(self) -> None:
        self._text = ""  # the last MEMORY characters written, then what is not written yet
        self._written = 0  # where the second part begins
        self._at: int = 0  # where the search for the next trigger goes on
        self._ends: tuple[int, int] | None = None
        self._final = False
        self._out: list[str] = []
        self._swallower: Swallower | None = None
        # A tag stands open in the output. `sticky`: an attribute's quote was opened in it, so that readers
        # may disagree about where it ends; it is then taken as open for good, which only removes more
        # attributes.
        self._open = False
        self._sticky = False

    @property
    def held(self) -> int:
        """How many characters are kept back."""
        return len(self._text) - self._written

    def feed(self, chunk: str) -> str:
        """Takes text and returns what can be written."""
        for start in range(0, len(chunk), BLOCK):
            self._text += chunk[start : start + BLOCK]
            self._ends = None
            self._run(final=False)
        return self._take()

    def flush(self) -> str:
        """Returns the rest; the next text begins anew."""
        self._run(final=True)
        rest = self._take()
        self.__init__()  # the same object is fresh again
        return rest

    def _take(self) -> str:
        taken = "".join(self._out)
        self._out.clear()
        return taken

    def _run(self, *, final: bool) -> None:
        self._final = final
        while self._drop(final=final) and self._search(final=final):
            pass
        surplus = self._written - MEMORY
        if surplus > 0:
            self._text = self._text[surplus:]
            self._written -= surplus
            self._at = max(0, self._at - surplus)

    def _drop(self, *, final: bool) -> bool:
        """Lets the swallower take its part; False while it has not come to its end."""
        if self._swallower is None:
            return True
        stop, done, note = self._swallower.eat(self._text, self._written, final=final)
        self._text = self._text[: self._written] + note + self._text[stop:]
        if note:
            self._out.append(note)
            self._written += len(note)
        # The character before may be a `]` whose next neighbour is only known now.
        self._at = max(0, self._written - 1)
        if done:
            self._swallower = None
        return done

    def _search(self, *, final: bool) -> bool:
        """Settles one trigger after another; False when there is nothing more to do with what has come."""
        text = ""
        limit = sure = 0
        last = -triggers.THICK
        while True:
            if text is not self._text:
                text = self._text
                limit, sure = (len(text), len(text)) if final else self._limits()
            if self._at - last < triggers.THICK:
                at = self._pass_thick(limit)
                if text is not self._text:
                    text = self._text
                    limit, sure = (len(text), len(text)) if final else self._limits()
            else:
                found = (triggers.TRIGGER_IN_TAG if self._open else triggers.TRIGGER).search(text, self._at)
                at = limit if found is None else found.start()
            if at >= limit:
                self._write(sure)
                self._at = max(self._at, limit)
                return False
            last = at
            moved = self._settle(at, text[at], final)
            if moved is False or self._swallower is not None:
                return bool(moved)

    def _pass_thick(self, limit: int) -> int:
        """Settles triggers as long as a pattern gives the answers; returns where the next one stands, or the limit.

        The blanks that break them are put in all at once; up to then, `start` is where the last one goes. No
        trigger that is settled here looks back over one.
        """
        text = self._text
        at = self._at
        pieces: list[str] = []
        start = kept = 0
        while True:
            found = (triggers.THICK_TRIGGER_IN_TAG if self._open else triggers.THICK_TRIGGER).search(text, at)
            if found is None or found.start() >= limit:
                at = max(at, limit)
                break
            at = found.start()
            answer = found.lastindex
            if answer is None:
                if text[at] != "=" or at - MEMORY // 2 < start or not self._is_idle(at):
                    break
                at += 1
            elif answer == triggers.TAG_CLOSED:
                self._open = self._sticky
                at += 1
            elif answer == triggers.UNFINISHED_TAG:
                if found[answer - 1].lower() in markup.KNOWN_ELEMENTS:
                    break
                self._open = True
                at += 1
            elif answer == triggers.KEPT_DESTINATION:
                at = kept = found.end()
            elif answer == triggers.BARE_TAG and (
                text[at + 1] == "/" or found[answer - 1].lower() not in markup.RAW_ELEMENTS
            ):
                self._open = self._sticky
                at = kept = found.end()
            else:
                broken = answer != triggers.BEFORE_PLAIN_DEFINITION or self._breaks(text, at, start, found[answer])
                if broken is None:
                    break
                at += 1
                if broken:
                    pieces.append(text[start:at])
                    start = at
        shift = len(pieces)
        self._at = at + shift
        if pieces:
            self._text = " ".join((*pieces, text[start:]))
        self._write(max(start, kept) + shift)
        return self._at

    def _breaks(self, text: str, at: int, start: int, word: str) -> bool | None:
        """Whether `]:` before a plain word is broken; None when it takes a closer look."""
        if "/" in word and "//" in word:
            return None
        opened = text.rfind("[", max(0, at - triggers.MAX_DESTINATION), at)
        if 0 <= opened < start:
            return None
        if ":" not in word and "/" not in word:
            return len(word) >= triggers.LOOK
        return opened < 0 or not self._is_subscript(at)

    def _limits(self) -> tuple[int, int]:
        """Up to where triggers can be settled, and up to where text without a trigger can be written."""
        text = self._text
        end = len(text)
        # Both are counted from the end, where a removal changes nothing, and reckoned anew when the end has
        # changed.
        if self._ends is not None and end - self._ends[0] > self._written:
            return end - self._ends[0], max(self._written, end - self._ends[1])
        start = max(self._written, end - triggers.LOOK)
        closed = triggers.UP_TO_CLOSED.match(text, start)
        limit = start if closed is None else closed.end()
        sure = limit if closed or limit == self._written else max(self._written, limit - triggers.MAX_SCHEME - 1)
        self._ends = end - limit, end - sure
        return limit, sure

    # What a trigger can come to. None: passed, the search goes on in the same text.

    def _write(self, stop: int) -> None:
        if stop > self._written:
            self._out.append(self._text[self._written : stop])
            self._written = stop

    def _pass(self, at: int) -> bool | None:
        self._at = at
        return None

    def _wait(self, start: int, at: int) -> bool:
        """Keeps everything from `start` and comes back to the trigger at `at` when there is more."""
        self._write(start)
        self._at = at
        return False

    def _replace(self, start: int, stop: int, note: str, swallower: Swallower | None = None) -> bool:
        """Writes all before `start` and the note, and drops what stands between `start` and `stop`."""
        self._write(start)
        text = self._text
        if swallower is not None:
            stop, done, more = swallower.eat(text, stop, final=self._final)
            note += more
            self._swallower = None if done else swallower
        self._out.append(note)
        before = text[max(0, self._written - MEMORY) : self._written] + note
        self._text = before + text[stop:]
        self._written = len(before)
        self._at = max(0, self._written - 1)
        return True

    def _is_whole(self, at: int, final: bool) -> bool:
        """Whether the word at `at` has been seen to its end, or far enough."""
        if final or len(self._text) - at >= triggers.LOOK:
            return True
        word = triggers.WORD.match(self._text, at)
        return word is not None and word.end() < len(self._text)

    def _settle(self, at: int, character: str, final: bool) -> bool | None:
        if character == "<":
            return self._angle(at, final)
        if character == "]":
            return self._bracket(at, final)
        if character in ":：﹕":
            return self._colon(at, at + 1, final)
        if character == "=":
            return self._equals(at, final)
        if character == ">":
            self._open = self._sticky
            return self._pass(at + 1)
        if character == "&":
            return self._entity(at, final)
        if triggers.DOT_HERE.match(self._text, at):
            return self._www(at, final)
        if character == "\\" and triggers.COMMAND.match(self._text, at):
            return self._command(at, final)
        return self._slashes(at, final)

    # `scheme://host`, `mailto:x`, `//host`, `www.host`

    def _entity(self, at: int, final: bool) -> bool | None:
        if not self._is_whole(at, final):
            return self._wait(at - self._scheme_length(at), at)
        colon = triggers.COLON_HERE.match(self._text, at)
        if colon is not None:
            return self._colon(at, colon.end(), final)
        if triggers.DOT_HERE.match(self._text, at):
            return self._www(at, final)
        if triggers.ANY_FORWARD.match(self._text, at):
            return self._slashes(at, final)
        return self._pass(at + 1)

    def _scheme_length(self, at: int) -> int:
        """How many characters before `at` are not written yet and may be a scheme."""
        escape = at > self._written and self._text[at - 1] == "\\"
        end = at - escape
        before = self._text[max(self._written, end - triggers.MAX_SCHEME) : end]
        return len(before) - len(before.rstrip(triggers.SCHEME_CHARACTERS)) + escape

    def _colon(self, at: int, after: int, final: bool) -> bool | None:
        text = self._text
        following = text[after : after + 1]
        context = text[max(0, at - triggers.MAX_SCHEME) : at].rstrip("\\").lower()
        if (following.isalnum() or following in _NEVER_SLASHES) and not context.endswith(triggers.ACTING_ENDS):
            return self._pass(after)
        start = at - self._scheme_length(at)
        slashes = triggers.SLASHES.match(text, after)
        if slashes is None and not context.endswith(triggers.ACTING_ENDS) and (following not in "/\\&" or final):
            return self._pass(after)
        if not self._is_whole(at, final):
            return self._wait(start, at)
        if slashes is not None and self._is_host(context, slashes.group(), slashes.end()):
            return self._remove_address(start, slashes.end())
        if following and not following.isspace() and self._acts(context, after):
            return self._remove_address(start, after)
        return self._pass(after)

    def _remove_address(self, start: int, stop: int) -> bool:
        opener = self._text[start - 1 : start]
        return self._replace(start, stop, LINK_REMOVED, Address(opener))

    def _is_host(self, context: str, slashes: str, at: int) -> bool:
        text = self._text
        first = text[at : at + 1]
        known = context.endswith(triggers.WEB_SCHEMES)
        if not first or first.isspace() or (not known and triggers.ANY_FORWARD.search(slashes) is None):
            return False
        if first.isalnum() or first in "&%@_-/" or (not first.isascii() and first not in NOT_A_HOST):
            return True
        if first == "[":
            return text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] == ":"
        if not known or (first in NOT_A_HOST and first != "("):
            return False
        host = triggers.HOST.match(text, at + (first == "("), at + triggers.LOOK)
        return host is not None and triggers.ADDRESS_HOST.match(host.group()) is not None

    def _acts(self, context: str, after: int) -> bool:
        """Whether a scheme without slashes stands before the colon and something to act on after it."""
        text = self._text
        if context.endswith(triggers.GLUED_SCHEMES):
            return text[after] not in NOT_A_HOST and text[after] != "*"
        if not context.endswith(triggers.ACTING_ENDS):
            return False
        word = context[len(context.rstrip(triggers.SCHEME_CHARACTERS)) :]
        shaped = f"{word}:{text[after : after + triggers.LOOK]}"
        return triggers.SHAPED_SCHEMES.match(shaped) is not None

    def _slashes(self, at: int, final: bool) -> bool | None:
        text = self._text
        before = text[at - 1 : at]
        if before == ":" or (before.isascii() and before.isalnum()):
            return self._pass(at + 1)
        if not self._is_whole(at, final):
            return self._wait(at, at)
        slashes = triggers.TWO_FORWARD.match(text, at)
        if slashes is None:
            return self._pass(at + 1)
        host = triggers.HOST.match(text, slashes.end(), slashes.end() + triggers.LOOK)
        if host is not None and host.group():
            loose = before and before in "(=" and any(map(str.isalnum, host.group()))
            if loose or triggers.ADDRESS_HOST.match(host.group()):
                return self._replace(at, slashes.end(), LINK_REMOVED, Address(before))
        return self._pass(slashes.end())

    def _www(self, at: int, final: bool) -> bool | None:
        text = self._text
        start = at - 3
        if text[max(0, start) : at].lower() != "www" or (
            start and text[start - 1].isascii() and text[start - 1].isalnum()
        ):
            return self._pass(at + 1)
        if not self._is_whole(at, final):
            return self._wait(max(self._written, start), at)
        dot = triggers.DOT_HERE.match(text, at)
        host = text[dot.end() : dot.end() + 1] if dot else ""
        if host.isalnum() or (host and (host in "&%_-" or host in triggers.UNSEEN_CHARACTERS)):
            return self._remove_address(max(self._written, start), at + 1)
        # GFM links `www.)x.evil.example` too: whatever stands there up to a blank is its host. What ends a sentence stays,
        # and so does a run that is longer than a label of a host can be.
        rest = triggers.UNBROKEN.match(text, at + 1, at + 1 + triggers.LOOK)
        if rest is None or not rest.group():
            return self._pass(at + 1)
        if any(map(str.isalnum, rest.group())):
            return self._remove_address(max(self._written, start), at + 1)
        if rest.end() == len(text) and len(rest.group()) < triggers.LOOK and not final:
            return self._wait(max(self._written, start), at)
        return self._pass(at + 1)

    # `](destination)`, `]: destination`

    def _bracket(self, at: int, final: bool) -> bool | None:
        found = triggers.AFTER_BRACKET.match(self._text, at)
        if found is None or found.group(2) is None:
            return self._pass(at + 1)
        if found.group(2) == "":
            return self._pass(at + 1) if final else self._wait(at, at)
        if found.group(2) == ":":
            return self._pass(at + 1) if found.group(1) else self._definition(at, final)
        return self._destination(at, found.end() - 1, final)

    def _destination(self, at: int, bracket: int, final: bool) -> bool | None:
        """Settles `](...)`, or `] (...)`, which some renderers read the same."""
        text = self._text
        bare = triggers.BARE_DESTINATION.match(text, bracket)
        if bare is not None:
            self._write(bare.end())  # at once, so that what a reader has never ends inside it
            return self._pass(bare.end())
        inside = text[bracket + 1 : bracket + 1 + triggers.MAX_DESTINATION]
        close = inside.find(")")
        if close < 0 and len(inside) < triggers.MAX_DESTINATION and not final:
            return self._wait(at, at)
        inside = inside[: close + 1] if close >= 0 else inside
        if points_outside(inside, strict=bracket == at + 1):
            return self._replace(bracket, bracket + 1, "", Destination())
        if bracket > at + 1:
            return self._pass(bracket + 1)
        return self._replace(at + 1, at + 1, " ")

    def _definition(self, at: int, final: bool) -> bool | None:
        text = self._text
        found = triggers.DEFINITION.match(text, at, at + 2 * triggers.LOOK)
        if found is None:
            return self._pass(at + 1)
        blanks, word = found.groups()
        if blanks.count("\n") > 1:
            return self._pass(at + 1)
        if found.end() - at >= 2 * triggers.LOOK and not word:
            return self._replace(at + 1, at + 1, " ")
        if found.end() == len(text) and len(word) < triggers.LOOK and not final:
            return self._wait(at, at)
        word = word[: triggers.LOOK]
        if triggers.SPECIAL.search(word) is None:
            return self._pass(at + 1) if len(word) < triggers.LOOK else self._replace(at + 1, at + 1, " ")
        if not points_outside(word, strict=False) and not ("." in word and "/" in word):
            if self._is_subscript(at) and not any(map(word.__contains__, "\\&%<")):
                return self._pass(at + 1)
            return self._replace(at + 1, at + 1, " ")
        start = found.start(2)
        swallower = Address(word[0], takes_closer=True) if word[0] == "<" else Address("")
        return self._replace(at + 1, start + (word[0] == "<"), f" {LINK_REMOVED}", swallower)

    def _is_subscript(self, at: int) -> bool:
        """Whether the bracket that closes here was opened right behind a name: `x[1:]:`, `sshd[12]:`."""
        before = self._text[max(0, at - triggers.MAX_DESTINATION) : at]
        opened = before.rfind("[")
        return opened > 0 and (before[opened - 1].isalnum() or before[opened - 1] in "_)]")

    # `\href{...}`

    def _command(self, at: int, final: bool) -> bool | None:
        text = self._text
        command = triggers.COMMAND.match(text, at)
        if command is None:
            return self._pass(at + 1)
        argument = triggers.COMMAND_ARGUMENT.match(text, command.end())
        assert argument is not None  # every part of it is optional
        unfinished = argument.end() == len(text) and argument.group(2) is None
        unfinished = unfinished or triggers.OPTION_BEGUN.match(text, argument.end()) is not None
        if unfinished and not final and len(text) - at < triggers.MAX_COMMAND:
            return self._wait(at, at)
        ended = argument.group(2) or (argument.group(1) is not None and argument.end() == len(text))
        if ended and triggers.PLAIN_ARGUMENT.match(argument.group(1)):
            return self._pass(at + 1)
        if argument.group(1) is not None:
            return self._replace(at, argument.start(1), LINK_REMOVED, Destination("}"))
        return self._replace(at, at + 1, " ")

    # Tags

    def _angle(self, at: int, final: bool) -> bool | None:
        text = self._text
        following = text[at + 1 : at + 3]
        if following[:1] == "/" and len(following) < 2 and not final:
            return self._wait(at, at)
        if following[0] == "!" and (declared := self._declaration(at, final)) is not None:
            return declared[0]
        if following[0] in "!?" or (
            following[0] == "/" and following[1:] not in ("", "⟨") and not _is_letter(following[1])
        ):
            return self._replace(at + 1, at + 1, " ")
        if following[0] != "/" and (linked := self._angle_link(at, final)) is not None:
            return linked
        if not _is_letter(following[-1] if following[0] == "/" else following[0]):
            return self._pass(at + 1)
        verdict, end = markup.read_tag(text, at, final=final)
        if verdict == "wait":
            return self._wait(at, at)
        if verdict == "remove":
            return self._replace(at, at, MARKUP_REMOVED, Tag())
        if verdict == "keep" and triggers.TRIGGER.search(text, at + 1, end) is None:
            self._open = self._sticky
            self._write(end)  # at once, so that what a reader has never ends inside it
            return self._pass(end)
        if verdict == "break" or (verdict == "keep" and markup.read_unfinished(text, at) == "break"):
            return self._replace(at + 1, at + 1, " ")
        self._open = True
        return self._pass(at + 1)

    def _declaration(self, at: int, final: bool) -> tuple[bool | None] | None:
        """Settles a comment of plain words or a plain doctype; None when it is neither."""
        text = self._text
        plain = triggers.PLAIN_DECLARATION.match(text, at)
        if plain is not None:
            self._open = self._sticky
            self._write(plain.end())  # at once, so that what a reader has never ends inside it
            return (self._pass(plain.end()),)
        rest = text[at : at + triggers.LOOK].lower()
        if not final and (triggers.DOCTYPE.startswith(rest) or triggers.COMMENT_BEGUN.match(text, at)):
            return (self._wait(at, at),)
        return None

    def _angle_link(self, at: int, final: bool) -> bool | None:
        """Settles `<scheme:...>` and `<somebody@host>`; None when it is neither."""
        text = self._text
        word = triggers.WORD.match(text, at, at + triggers.LOOK)
        assert word is not None  # it may be empty
        if word.end() == len(text) and not final and word.end() - at < triggers.LOOK:
            return self._wait(at, at)
        if ":" not in word.group() and "@" not in word.group():
            return None
        mail = triggers.ANGLE_MAIL.match(text, at)
        if mail is not None:
            return self._replace(at, mail.end(), LINK_REMOVED)
        link = triggers.ANGLE_LINK.match(text, at)
        if link is None or triggers.ROUTE_CONVERTER.match(text, at):
            return None
        if ">" not in word.group() and word.end() - at < triggers.LOOK:
            return None
        if triggers.PREFIXED_NAME.match(text, at) and link.group(1).lower() not in triggers.ACTING_SCHEMES:
            return self._replace(at + 1, at + 1, " ")
        return self._replace(at, link.end(), LINK_REMOVED, Address("<", takes_closer=True))

    def _is_idle(self, at: int) -> bool:
        """Whether the attribute before the `=` is known not to act; takes note of a quote behind it."""
        text = self._text
        quote = markup.QUOTE_AFTER.match(text, at)
        opened = quote is not None and quote.group(1)
        if opened == "":
            return False
        before = text[max(0, at - MEMORY // 2) : at].rstrip().rstrip("\\")
        edge = markup.UP_TO_NAME.match(before)
        name = before if edge is None else before[edge.end() :]
        if not name or markup.is_sink(name):
            return False
        self._sticky = self._sticky or bool(opened)
        return True

    def _equals(self, at: int, final: bool) -> bool | None:
        """An `=` while a tag stands open: an attribute that could act loses its value."""
        if self._is_idle(at):
            return self._pass(at + 1)
        text = self._text
        quote = markup.QUOTE_AFTER.match(text, at)
        if quote is not None and quote.group(1) == "" and not final:
            return self._wait(at, at)
        value = markup.VALUE_AFTER.match(text, at)
        if value is None and not final and len(text) - at < triggers.LOOK:
            return self._wait(at, at)
        if value is None and markup.UNFINISHED_VALUE.match(text, at):
            return self._pass(at + 1)
        if value is not None and markup.PLAIN_VALUE.match(next(filter(None, value.groups()), "")):
            self._sticky = self._sticky or bool(quote and quote.group(1))
            return self._pass(at + 1)
        return self._replace(at, at + 1, MARKUP_REMOVED, Value())


_NEVER_SLASHES: Final = frozenset("\"'`([{<$*.,-_;=|~!?")


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def points_outside(inside: str, *, strict: bool) -> bool:
    """Whether the text between brackets could be an address, to a renderer that reads it as a destination.

    Args:
        inside: The text after the opening bracket, to the closing one where it was found. strict: Whether
        any slash and any colon count, as in a real destination, or only what is plainly an address.
    """
    words = inside.lstrip("> \t\r\n\f").split(None, 1)
    if not words or (triggers.SPECIAL.search(words[0]) is None and "=" not in words[0]):
        return False
    word = words[0]
    if word.startswith("<") or triggers.ENCODED.search(word) or triggers.OUTSIDE_SLASHES.search(word):
        return True
    if triggers.SCHEME_FIRST.match(word) or "：" in word or ("\\" in word and "/" in word):
        return True
    if "=" in word and ('"' in word or "'" in word):
        return True  # a renderer that does not escape quotes makes an attribute of it
    return strict and triggers.SPECIAL.search(word) is not None
