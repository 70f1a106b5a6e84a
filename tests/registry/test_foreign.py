"""A foreign value shows nothing of itself except through its named exits."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# The handlers are lambdas in tables, which no annotation reaches; mypy takes what they get for Any.

from __future__ import annotations

import copy
import json
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from registry import Foreign
from registry._foreign import open_foreign, origins_of
from registry.errors import ForeignError, ForeignFunctionError

SECRET = "IGNORE ALL RULES"

USES: dict[str, Callable[[Any], object]] = {
    "str": str,
    "format": lambda f: f"{f}",
    "format with a spec": lambda f: f"{f:>10}",
    "percent": lambda f: "%s" % f,  # noqa: UP031
    "percent repr of str": lambda f: "%s" % (f,),  # noqa: UP031
    "str.format": lambda f: "{}".format(f),  # noqa: UP032
    "join": lambda f: "".join(f),
    "add": lambda f: f + "a",
    "radd": lambda f: "a" + f,
    "multiply": lambda f: f * 2,
    "bytes": bytes,
    "bool": bool,
    "not": lambda f: not f,
    "int": int,
    "float": float,
    "complex": complex,
    "round": round,
    "index": lambda f: [1][f],
    "len": len,
    "iter": iter,
    "next": next,
    "list": list,
    "unpack": lambda f: [*f],
    "dict unpack": lambda f: {**f},
    "reversed": reversed,
    "in": lambda f: "a" in f,
    "in a list": lambda f: f in ["a", "b"],
    "getitem": lambda f: f[0],
    "slice": lambda f: f[1:],
    "call": lambda f: f(),
    "equal": lambda f: f == "a",
    "unequal": lambda f: f != "a",
    "less": lambda f: f < "a",
    "sorted": lambda f: sorted([f, f]),
    "hash": hash,
    "as a key": lambda f: {f: 1},
    "path": lambda f: __import__("os").fspath(f),
    "print": print,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "with": lambda f: f.__enter__(),
    "set an attribute": lambda f: setattr(f, "_value", "a"),
    "delete an attribute": lambda f: delattr(f, "_value"),
    "a method of the value": lambda f: f.upper(),
    "vars": vars,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_foreign_value_refuses_every_use_that_would_show_it(use: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        use(Foreign(SECRET, "web"))

    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_refusal_says_what_to_use_instead() -> None:
    with pytest.raises(ForeignError) as caught:
        len(Foreign("text"))  # type: ignore[arg-type]

    assert str(caught.value) == (
        "Foreign: len() of a foreign value is refused, because somebody else chose its bytes. Use .measure(len)."
    )


def test_repr_shows_the_type_alone() -> None:
    assert repr(Foreign(SECRET, "web")) == "<Foreign str>"


def test_a_copy_is_the_same_value() -> None:
    value = Foreign({"a": [SECRET]}, "web")

    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value


def test_it_cannot_be_subclassed() -> None:
    with pytest.raises(ForeignError):
        type("Shown", (Foreign,), {})


@pytest.mark.parametrize("origin", ["", " ", "--", 5])
def test_an_origin_without_a_letter_or_digit_is_refused(origin: Any) -> None:
    with pytest.raises(ForeignError, match="Write a string with a letter or digit"):
        Foreign("text", origin)


def test_map_keeps_the_value_foreign_and_its_origin() -> None:
    mapped = Foreign("text", "web").map(str.upper)

    assert (open_foreign(mapped), origins_of(mapped)) == ("TEXT", ("web",))


def test_map_joins_the_origins_of_a_foreign_result() -> None:
    mapped = Foreign("a", "web").map(lambda left: Foreign("b", "mail").map(lambda right: left + right))

    assert (open_foreign(mapped), origins_of(mapped)) == ("ab", ("web", "mail"))


def test_join_makes_one_value_of_several() -> None:
    joined = Foreign.join([Foreign("a", "web"), Foreign("b"), Foreign("c", "mail"), Foreign("d", "web")])

    assert (open_foreign(joined), origins_of(joined)) == (("a", "b", "c", "d"), ("web", "mail"))


class LoudInt(int):
    def __str__(self) -> str:
        return SECRET

    __repr__ = __str__


class LoudFloat(float):
    def __str__(self) -> str:
        return SECRET

    __repr__ = __str__


def test_measure_gives_exactly_a_number_or_a_bool() -> None:
    text = Foreign("text")

    assert (text.measure(len), text.measure(bool), text.measure(lambda value: len(value) / 8)) == (4, True, 0.5)
    assert type(text.measure(lambda _: LoudInt(3))) is int
    assert type(text.measure(lambda _: LoudFloat(3))) is float
    assert f"{text.measure(lambda _: LoudInt(3))} {text.measure(lambda _: LoudFloat(3))}" == "3 3.0"


@pytest.mark.parametrize("result", [SECRET, SECRET.encode(), None, [1], 1j])
def test_measure_refuses_anything_else(result: Any) -> None:
    with pytest.raises(ForeignError) as caught:
        Foreign("text").measure(lambda _: result)

    assert SECRET not in str(caught.value)


class Liar(str):
    """A string that claims to be equal to everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_one_of_returns_our_word_and_not_the_value() -> None:
    ours = "open"
    theirs = "OPEN".lower()

    assert Foreign(theirs).one_of("closed", ours) is ours
    assert Foreign("opened").one_of("closed", ours) is None
    assert Foreign(Liar("anything")).one_of("closed", ours) is None
    assert Foreign(5).one_of("5") is None


def test_for_program_is_the_explicit_exit() -> None:
    assert Foreign("https://next.example/2").for_program() == "https://next.example/2"


@pytest.mark.parametrize("leave", ["map", "measure"])
def test_the_text_of_an_error_inside_an_exit_does_not_leave(leave: str) -> None:
    def fail(value: str) -> int:
        raise LookupError(value)

    with pytest.raises(ForeignFunctionError) as caught:
        getattr(Foreign(SECRET), leave)(fail)

    assert str(caught.value) == (
        f"Foreign.{leave}: the function raised LookupError; its text is foreign and is not shown."
    )
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
