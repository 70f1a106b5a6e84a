"""What a caller is shown of the tools: exactly those it may use, in our words and, as the deployment decides, in theirs.

It presents and permits nothing: the dispatcher refuses the other tools whatever was shown. What a third party wrote about a
tool is carried by `CatalogTool`, which cannot be built without the deployment's `catalog_prose`; so the text, the data and
what a model's tool list holds cannot disagree about it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, assert_never, cast, final

from pydantic import JsonValue

from registry._deployment import Caller, CatalogProse, Deployment
from registry._dispatch import permission
from registry._fence import break_markers, inert, joined_label, omitted_notice, quoted_from, quoted_notice
from registry._foreign import Foreign, open_foreign
from registry._schema import foreign_schema, omitted_schema, own_schema, quoted_schema
from registry._text import quote_prose
from registry._tooldef import AnyTool, Effect, Wording, wording
from registry.errors import DeclarationError

__all__ = ["Catalog", "CatalogTool", "catalog", "catalog_page"]


def catalog(deployment: Deployment, caller: Caller | None = None) -> Catalog:
    """Return what a caller is shown: the tools that it may use, in the order of the registry.

    Args:
        deployment: what the composition root decided; `permitted` and `catalog_prose` decide here.
        caller: who asks; None is the process itself.
    """
    # The dispatcher decides by the same function. Where it fails, nothing is permitted and nothing is shown.
    permitted = permission(deployment, caller)
    tools = () if permitted is None else [t for t in deployment.tools.values() if permitted.allows(t.grant)]
    return Catalog.under(deployment.catalog_prose, tools)


def catalog_page(deployment: Deployment, caller: Caller | None, *, start: int, size: int) -> tuple[Catalog, int | None]:
    """Return a page of it, and where the next one starts: a place in the registry, which never changes, so that a tool that
    is permitted all the while is on one page, whatever becomes of the others.

    Args:
        deployment: what the composition root decided.
        caller: who asks; None is the process itself.
        start: where this page starts; 0, or what the page before said.
        size: the most tools of a page, 1 or more.
    """
    permitted = permission(deployment, caller)
    left = [] if permitted is None else list(enumerate(deployment.tools.values()))[start:]
    shown = [(at, tool) for at, tool in left if permitted is not None and permitted.allows(tool.grant)]
    after = shown[size][0] if len(shown) > size else None
    return Catalog.under(deployment.catalog_prose, [tool for _, tool in shown[:size]]), after


@final
@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class CatalogTool:
    """One tool as it is shown. Made by `under`, which demands the setting."""

    name: str
    """The tool's name."""
    effect: Effect
    """What a call changes."""
    returns_foreign: bool
    """Whether the tool declares that somebody else chooses bytes of its answer."""
    description: str
    """For the tool list of a model: our words as they are; a third party's quoted, under a sentence that says whose they are;
    or a sentence that says that they are omitted."""
    lines: str
    """For a text, in which the sentence that explains the quotes stands once."""
    is_quoted: bool
    """Whether it holds quoted words of a third party."""
    _schema: dict[str, Any]
    _body: dict[str, JsonValue]

    def __init__(self) -> None:
        raise DeclarationError(
            "CatalogTool: it is made by CatalogTool.under(catalog_prose, tool) and by catalog(deployment, caller)."
        )

    @classmethod
    def under(cls, prose: CatalogProse, tool: AnyTool) -> CatalogTool:
        """Show a tool under a deployment's setting."""
        whose = wording(tool)
        is_quoted = not whose.is_own and quotes(prose)
        words = words_of(tool, whose.description, is_shown=is_quoted)
        inputs = inputs_of(tool, whose.schema, is_shown=is_quoted)
        whose_label = quoted_from(joined_label(whose.description or whose.schema or ())) if is_quoted else ""
        returns_foreign = tool.untrusted_output is not False
        head = f"{tool.name} ({tool.effect}; {ANSWERS[returns_foreign]})"
        body: dict[str, JsonValue] = {
            "name": tool.name,
            "effect": tool.effect,
            "returns_foreign": returns_foreign,
            "description": words.body,
            "input_schema": inputs.body,
        }
        made = object.__new__(cls)
        values = {
            "name": tool.name,
            "effect": tool.effect,
            "returns_foreign": returns_foreign,
            # A tool list shows each tool for itself, so the boundary is named in each; a text names it once, above.
            "description": "\n".join(around(words.shown, [quoted_notice(), whose_label], whose))
            if is_quoted
            else words.shown,
            "lines": "\n".join([head, *around(words.shown, [whose_label] if is_quoted else [], whose), inputs.line]),
            "is_quoted": is_quoted,
            "_schema": inputs.schema,
            "_body": body,
        }
        for field, value in values.items():
            object.__setattr__(made, field, value)
        return made

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the input for a model to read, with prose as in `description`; a new one each time."""
        return deepcopy(self._schema)

    def body(self) -> dict[str, JsonValue]:
        """Return the tool as plain JSON for a program, each text byte for byte in an envelope that says whose it is:
        `{"own": ...}`, `{"untrusted": ..., "origins": [...]}` or `{"omitted": ..., "origins": [...]}`."""
        return deepcopy(self._body)


@lru_cache(maxsize=1024)
def shown_once(prose: CatalogProse, tool: AnyTool) -> CatalogTool:
    """Tools go by identity and never change, and what is shown of one is handed out in copies, so one showing serves all."""
    return CatalogTool.under(prose, tool)


@final
@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Catalog:
    """The tools as a caller is shown them. Made by `catalog`."""

    catalog_prose: CatalogProse
    """What became of third-party prose; every body says so too."""
    tools: tuple[CatalogTool, ...]
    """The tools."""

    def __init__(self) -> None:
        raise DeclarationError("Catalog: it is made by catalog(deployment, caller).")

    @classmethod
    def under(cls, prose: CatalogProse, tools: Iterable[AnyTool]) -> Catalog:
        """Show these tools under a deployment's setting."""
        made = object.__new__(cls)
        object.__setattr__(made, "catalog_prose", prose)
        object.__setattr__(made, "tools", tuple(shown_once(prose, tool) for tool in tools))
        return made

    @property
    def is_quoted(self) -> bool:
        """Whether any tool holds quoted words of a third party."""
        return any(tool.is_quoted for tool in self.tools)

    @property
    def text(self) -> str:
        """The catalogue as text, for a model or a person."""
        count = f"{len(self.tools)} tool{'' if len(self.tools) == 1 else 's'}."
        head = [count, quoted_notice()] if self.is_quoted else [count]
        # Over the whole: a marker could be spelled across two tools, and our own words may hold one.
        return break_markers("\n\n".join(["\n".join(head), *(tool.lines for tool in self.tools)]))

    def body(self) -> dict[str, JsonValue]:
        """Return the catalogue as plain JSON, with the setting as a field."""
        return {
            "catalog_prose": self.catalog_prose,
            "notice": quoted_notice() if self.is_quoted else None,
            "tools": [tool.body() for tool in self.tools],
        }


# -- one tool ------------------------------------------------------------------------------------------------------

ANSWERS = {True: "answers with text from outside", False: "answers in its own words"}


def quotes(prose: CatalogProse) -> bool:
    """Whether third-party prose is shown. The one place that reads the setting: a third spelling does not type-check here."""
    match prose:
        case "quoted":
            return True
        case "omitted":
            return False
        case _:
            assert_never(prose)


def around(words: str, head: list[str], whose: Wording) -> list[str]:
    """What is said about third-party lines stands above them: above their description, else between ours and the schema."""
    return [*head, words] if whose.description is not None else [words, *head]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """A tool's description, as a model and as a program reads it."""

    shown: str
    body: JsonValue


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """A tool's schema, as a model reads it in a tool list and in a text, and as a program does."""

    schema: dict[str, Any]
    line: str
    body: JsonValue


def words_of(tool: AnyTool, origins: tuple[str, ...] | None, *, is_shown: bool) -> Words:
    if origins is None:
        own = cast("str", tool.description)
        return Words(shown=own, body={"own": own})
    if not is_shown:
        return Words(shown=omitted_notice(), body={"omitted": omitted_notice(), "origins": list(origins)})
    theirs = open_foreign(cast("Foreign[str]", tool.description))
    return Words(shown=quote_prose(inert(theirs)), body={"untrusted": theirs, "origins": list(origins)})


def inputs_of(tool: AnyTool, origins: tuple[str, ...] | None, *, is_shown: bool) -> Inputs:
    if origins is None:
        own = own_schema(tool.input)
        return Inputs(schema=own, line=input_line(own), body={"own": own})
    if not is_shown:
        # What is left of it are names in the grammar, numbers and keywords.
        rest = omitted_schema(tool.input)
        return Inputs(schema=rest, line=input_line(rest), body={"untrusted": rest, "origins": list(origins)})
    theirs = foreign_schema(tool.input)
    return Inputs(
        schema=quoted_schema(tool.input),
        line=quote_prose(inert(input_line(theirs))),
        body={"untrusted": theirs, "origins": list(origins)},
    )


def input_line(schema: dict[str, Any]) -> str:
    """A schema on one line: every character that could end one is escaped by JSON itself."""
    return f"input: {json.dumps(schema)}"
