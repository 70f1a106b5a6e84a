"""From the arguments of a caller to the input of a tool, or to a list of what is wrong with them.

What is wrong never holds a value: an argument may come from a model that read foreign text. A field is named when it is
ours, an unknown key only when it could be a name, and a dict's key never.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, cast
from urllib.parse import quote

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from registry._outcome import ArgumentError, Malformed
from registry._tooldef import AnyTool, ToolInput, wording

__all__ = ["malformed", "parse"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")
HIDDEN = "*"
UNKNOWN = "(an unknown field)"
MOST_PROBLEMS = 20
# A model and a typed dict say it in one way, a dataclass in the other.
UNKNOWN_KEY = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

# What to say for the kinds that a model meets most. Only what the tool's author wrote is filled in.
SENTENCES: Mapping[str, str] = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this tool",
    "unexpected_keyword_argument": "is not a field of this tool",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "invalid_key": "has a key that is no string",
    "none_required": "must be null",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "multiple_of": "must be a multiple of {multiple_of}",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters or fewer",
    "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have {min_length} items or more",
    "too_long": "must have {max_length} items or fewer",
}


def parse(tool: AnyTool, arguments: object) -> ToolInput | list[ErrorDetails]:
    """Return the input that the arguments make, or what is wrong with them.

    Raises:
        Exception: a validator of the input raised something that is not a validation error.
    """
    if type(arguments) is not dict:
        if not isinstance(arguments, Mapping):
            return [{"type": "model_type", "loc": (), "msg": "", "input": None}]
        arguments = dict(cast("Mapping[str, Any]", arguments))
    model: type[ToolInput] = tool.input
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        return error.errors(include_url=False, include_context=True, include_input=False)
    except RecursionError:
        return [{"type": "nested too deeply", "loc": (), "msg": "", "input": None}]


def malformed(tool: AnyTool, arguments: object, errors: Iterable[ErrorDetails], *, show_unknown: bool) -> Malformed:
    """Say what is wrong: one line for each field, with the kind of error and never a value."""
    ours = own_names(cast("type[ToolInput]", tool.input))
    # Enum labels and patterns of a third party are its prose, and whether that is shown is not for this place to decide.
    is_own = wording(tool).schema is None
    lines: dict[str, ArgumentError] = {}
    for error in errors:
        names = place(error, arguments, ours, show_unknown)
        said = sentence(error, is_own=is_own)
        lines[f"- {'.'.join(names) or 'arguments'}: {said}"] = ArgumentError(pointer=pointer(names), text=said)
    shown = list(lines)[:MOST_PROBLEMS]
    more = [f"- and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    text = "\n".join(["The arguments do not fit the input of this tool; it was not called.", *shown, *more])
    return Malformed(text=text, errors=tuple(lines[line] for line in shown))


def place(error: ErrorDetails, arguments: object, ours: frozenset[str], show_unknown: bool) -> list[str]:
    """Name where an error is, by our own field names and by positions in lists alone."""
    way = error["loc"]
    names = list(named(way, arguments, ours))
    if error["type"] in UNKNOWN_KEY:
        key = way[-1]
        names[-1] = key if isinstance(key, str) and show_unknown and NAME.match(key) else UNKNOWN
    return names


def pointer(names: Iterable[str]) -> str:
    """A JSON Pointer as a fragment of a URI, as far as the way leads by names that may be shown."""
    shown = takewhile(lambda name: name not in (HIDDEN, UNKNOWN), names)
    return "".join(["#", *(f"/{quote(name.replace('~', '~0').replace('/', '~1'), safe='~')}" for name in shown)])


def named(way: Iterable[int | str], at: object, ours: frozenset[str]) -> Iterator[str]:
    for step in way:
        if isinstance(step, int) and isinstance(at, list | tuple):
            yield str(step)
            items = cast("Sequence[object]", at)
            at = items[step] if step < len(items) else None
            continue
        # A number that is no position in a list is a key, and a key is the caller's.
        yield step if isinstance(step, str) and step in ours else HIDDEN
        if isinstance(at, Mapping):
            inside = cast("Mapping[object, object]", at)
            at = inside.get(step, inside)


def sentence(error: ErrorDetails, *, is_own: bool) -> str:
    kind = error["type"]
    context = {k: v for k, v in error.get("ctx", {}).items() if is_own or isinstance(v, int | float)}
    template = SENTENCES.get(kind)
    if template is None:
        return f"is not accepted ({kind})"
    try:
        return template.format_map(context)
    except (KeyError, AttributeError):
        return f"is not accepted ({kind})"


@lru_cache(maxsize=1024)
def own_names(model: type[ToolInput]) -> frozenset[str]:
    """Every property name of an input, at any depth: the words of a location that are ours."""
    return frozenset(property_names(model.model_json_schema()))


def property_names(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        branches = cast("dict[str, object]", schema)
        properties = branches.get("properties")
        if isinstance(properties, dict):
            yield from cast("dict[str, object]", properties)
        for branch in branches.values():
            yield from property_names(branch)
    elif isinstance(schema, list):
        for branch in cast("list[object]", schema):
            yield from property_names(branch)
