"""For any schema at all: it is refused in our words, or what is accepted under it the other side accepts too, and is JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator
from pydantic import ValidationError

from registry import ToolInput
from registry._closed_schema import KNOWN, REFUSED
from registry.errors import DeclarationError

KEYWORDS = sorted(KNOWN | REFUSED | {"$defs", "a keyword of theirs"})
TEXTS = ["string", "object", "null", "a", "", "#/$defs/A", "#/properties/a", "^a+$", "(", "\ud800", "a\nb"]
NUMBERS = [0, 1, -1, 2.5, 10**30, float("nan"), float("inf"), True, False, None, 1e308]
NAMES = ["a", "b", "c", "d"]
KINDS = ["string", "object", "object", "array", "integer", "number", "boolean", ["string", "null"], None]


def value(random: Random, depth: int) -> Any:
    """Any JSON, and some that is none."""
    kind = random.randrange(5 if depth < 4 else 2)
    if kind == 0:
        return random.choice(TEXTS)
    if kind == 1:
        return random.choice(NUMBERS)
    if kind == 2:
        return [value(random, depth + 1) for _ in range(random.randrange(3))]
    if kind == 3:
        return {random.choice([*NAMES, "x y"]): value(random, depth + 1) for _ in range(random.randrange(3))}
    return schema(random, depth + 1)


def schema(random: Random, depth: int = 0) -> dict[str, Any]:
    """Something like a schema, with now and then a keyword that gets anything."""
    made: dict[str, Any] = {}
    kind = "object" if depth == 0 else random.choice(KINDS if depth < 4 else KINDS[4:])
    if kind is not None:
        made["type"] = kind
    if kind == "object":
        made["properties"] = {name: schema(random, depth + 1) for name in random.sample(NAMES, random.randrange(1, 4))}
    if kind == "array":
        made["items"] = schema(random, depth + 1)
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        made[random.choice(KEYWORDS)] = value(random, depth + 1)
    return {**made, "$defs": {"A": schema(random, 1)}} if depth == 0 else made


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0))
def test_what_is_accepted_the_other_side_accepts_too(seed: int) -> None:
    random = Random(seed)
    theirs = schema(random)
    try:
        ours = ToolInput.from_schema(theirs, author="a peer")
    except DeclarationError:
        return

    for _ in range(5):
        arguments = {name: value(random, 2) for name in random.sample(NAMES, random.randrange(4))}
        try:
            given_back = ours.model_validate(arguments).model_dump(by_alias=True, exclude_unset=True)
        except ValidationError:
            continue
        assert given_back == arguments
        json.dumps(given_back, allow_nan=False).encode()
        assert cast("Any", Draft202012Validator(theirs)).is_valid(arguments)
