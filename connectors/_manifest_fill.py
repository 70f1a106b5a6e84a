"""Templates of a manifest, and filling them so that a value stays a value: no path, parameter, header or option of its own.

What is refused names the input and never its value. A secret is asked for when a call needs it, and taken out of whatever
comes back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, final
from urllib.parse import quote, unquote, urlencode

from pydantic import JsonValue

from connectors._secrets import Secrets
from registry.errors import IngressRefused

__all__ = ["Filler", "Hole", "Template", "TemplateError", "holes_in", "parse_template"]

HOLES: Final = re.compile(
    r"\{\{|\}\}|\{(?P<secret>secret:)?(?P<name>[A-Za-z][A-Za-z0-9_]{0,39}|(?<=secret:)[A-Za-z0-9_.-]{1,64})\}|[{}]"
)

Values: TypeAlias = Mapping[str, Any]


class TemplateError(Exception):
    """A template cannot be read; the text is ours."""


@final
@dataclass(frozen=True, slots=True)
class Hole:
    """A place to be filled."""

    kind: Literal["input", "secret"]
    name: str


@final
@dataclass(frozen=True, slots=True)
class Template:
    """A text with holes."""

    pieces: tuple[str | Hole, ...]

    @property
    def holes(self) -> tuple[Hole, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Hole))

    @property
    def only(self) -> Hole | None:
        """The hole that the template is, where it is one and nothing else."""
        return self.pieces[0] if len(self.pieces) == 1 and isinstance(self.pieces[0], Hole) else None


def parse_template(text: str) -> Template:
    """Read a template.

    Raises:
        TemplateError: a brace stands alone, or what it holds is no name.
    """
    pieces: list[str | Hole] = []
    done = 0
    for found in HOLES.finditer(text):
        pieces.append(text[done : found.start()])
        done = found.end()
        if found["name"] is not None:
            pieces.append(Hole("secret" if found["secret"] else "input", found["name"]))
        elif len(found[0]) == 1:
            raise TemplateError("holds a brace that stands alone. Write {name} for an input, {{ and }} for braces")
        else:
            pieces.append(found[0][0])
    return Template(tuple(piece for piece in (*pieces, text[done:]) if piece != ""))


def holes_in(value: JsonValue) -> Iterator[Hole]:
    """Every hole in the strings of a JSON value.

    Raises:
        TemplateError: a string is no template.
    """
    if isinstance(value, str):
        yield from parse_template(value).holes
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from holes_in(item)


def text_of(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@final
class Filler:
    """The values of one call, and the secrets that it has asked for.

    Raises:
        IngressRefused: a value cannot stand where it would go; `argument_refused`.
        ToolFailed: a secret is not to be had.
    """

    def __init__(self, values: Values, secrets: Callable[[str], str]) -> None:
        self.values = values
        self.secrets = Secrets(secrets)

    def secret(self, name: str) -> str:
        return self.secrets.get(name)  # HOLES holds the name to letters, digits and _ . -, so it is no sentence

    def hide(self, text: str) -> str:
        """Take every secret of this call out of a text that came back."""
        return self.secrets.hide(text)

    # -- filling -----------------------------------------------------------------------------------------------

    def value(self, hole: Hole) -> Any:
        return self.secret(hole.name) if hole.kind == "secret" else self.values[hole.name]

    def text(self, template: Template) -> str:
        return "".join(piece if isinstance(piece, str) else text_of(self.value(piece)) for piece in template.pieces)

    def is_left_out(self, template: Template) -> bool:
        """Whether a template is one input that was not given."""
        hole = template.only
        return hole is not None and hole.kind == "input" and self.values[hole.name] is None

    def url(self, address: Template, query: Mapping[str, Template]) -> str:
        """An address: each value is one piece of the path or one parameter, whatever it holds."""
        made = ""
        for piece in address.pieces:
            if isinstance(piece, str):
                made += piece
                continue
            part = text_of(self.value(piece))
            if not part:
                # tools-check: ignore[foreign-framing] -- HOLES holds the name of an input to 40 letters, digits and _
                raise IngressRefused(
                    "argument_refused", f"The input {piece.name!r} is empty, and names a part of a path."
                )
            made += quote(part, safe="", errors="surrogatepass")
        # Some servers decode before they resolve, so what decodes to a step upward is refused as well.
        path = made.split("/", 3)[3] if made.count("/") > 2 else ""
        if any(step in (".", "..") for step in re.split(r"[/\\]", unquote(unquote(path)))):
            raise IngressRefused(
                "argument_refused", "An input makes a path that leads elsewhere. Write no '.' or '..'."
            )
        pairs = [(name, self.text(value)) for name, value in query.items() if not self.is_left_out(value)]
        return f"{made}?{urlencode(pairs, quote_via=quote, safe='', errors='surrogatepass')}" if pairs else made

    def texts(self, templates: Mapping[str, Template]) -> dict[str, str]:
        return {name: self.text(value) for name, value in templates.items() if not self.is_left_out(value)}

    def json(self, value: JsonValue) -> JsonValue:
        """A JSON value: each hole becomes a value or a part of a string, and never a part of the structure."""
        if isinstance(value, str):
            template = parse_template(value)
            return cast("JsonValue", self.value(template.only)) if template.only else self.text(template)
        if isinstance(value, dict):
            return {key: self.json(item) for key, item in value.items() if not self.is_absent(item)}
        return [self.json(item) for item in value if not self.is_absent(item)] if isinstance(value, list) else value

    def is_absent(self, value: JsonValue) -> bool:
        return isinstance(value, str) and self.is_left_out(parse_template(value))

    def argv(self, templates: tuple[Template, ...]) -> list[str]:
        """An argument list: each template is one argument, and a value is never an option."""
        made: list[str] = []
        for template in templates:
            if self.is_left_out(template):
                continue
            argument = self.text(template)
            begins = template.pieces[0] if template.pieces else ""
            # `-f/etc/passwd` where a pattern should stand would be an option of the program.
            if isinstance(begins, Hole) and argument.startswith("-") and "--" not in made:
                # tools-check: ignore[foreign-framing] -- HOLES holds the name of an input to 40 letters, digits and _
                raise IngressRefused(
                    "argument_refused",
                    f"The input {begins.name!r} begins with '-', which the program would take for an option.",
                )
            made.append(argument)
        return made
