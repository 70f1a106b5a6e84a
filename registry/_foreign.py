"""A value whose bytes somebody else chose. It has no string form, so it cannot slip into words of ours.

`Foreign` must never show, compare or leak its value except through the exits that are named here. Only the dispatcher
opens one (`open_foreign`), and only to fence what is inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, NoReturn, Self, TypeVar, cast, final, overload

from registry.errors import ForeignError, ForeignFunctionError

__all__ = ["Foreign", "class_name", "join_origins", "open_foreign", "origins_of", "under"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

Origins = tuple[str, ...]

WAYS_OUT = (
    "Put it into reply(...) as a part of its own, change it with .map(fn), or take a number with .measure(fn) "
    "or a word of ours with .one_of(...)."
)


@final
class Foreign(Generic[T_co]):
    """A value from outside, with the origin that chose its bytes.

    It has no `str()`, format, truth, equality, hash, length, iteration or pickle: each raises `ForeignError` and says
    what to use instead. `repr` shows the type alone. The shape is that of a tainted value in Perl or Ruby, with the
    difference that nothing untaints it implicitly.

    Args:
        value: what came from outside.
        origin: who chose it, in a few words; None leaves it to the tool's declaration.
    """

    __slots__ = ("_origins", "_value")

    _value: T_co
    _origins: Origins

    def __init__(self, value: T_co, origin: str | None = None) -> None:
        if origin is not None and not is_origin(origin):
            raise ForeignError(
                f"Foreign: origin is {shown(origin)}. Write a string with a letter or digit in it that says who chose "
                "the value, or leave it out and the tool's declaration holds."
            )
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_origins", () if origin is None else (origin,))

    # -- the exits -------------------------------------------------------------------------------------------------

    @overload
    def map(self, function: Callable[[T_co], Foreign[U]]) -> Foreign[U]: ...
    @overload
    def map(self, function: Callable[[T_co], U]) -> Foreign[U]: ...
    def map(self, function: Callable[[T_co], U | Foreign[U]]) -> Foreign[U]:
        """Apply a function; the result stays foreign. A foreign result is not nested: the origins join.

        Raises:
            ForeignFunctionError: the function raised. Its text is foreign, so only its class is named.
        """
        result = guarded(function, self._value, "map")
        if isinstance(result, Foreign):
            inner = cast("Foreign[U]", result)
            return under(inner._value, join_origins(self._origins, inner._origins))
        return under(result, self._origins)

    @overload
    def measure(self, function: Callable[[T_co], bool]) -> bool: ...
    @overload
    def measure(self, function: Callable[[T_co], int]) -> int: ...
    @overload
    def measure(self, function: Callable[[T_co], float]) -> float: ...
    def measure(self, function: Callable[[T_co], float]) -> float:
        """Take a number or a yes/no: exactly a `bool`, `int` or `float`, which cannot carry an instruction.

        Raises:
            ForeignFunctionError: the function raised.
            ForeignError: the function returned something else.
        """
        result = cast("object", guarded(function, self._value, "measure"))
        if isinstance(result, bool):
            return result
        # Subclasses may bring a string form of their own, so they are rebuilt as the plain number.
        if isinstance(result, int):
            return int.__index__(result)
        if isinstance(result, float):
            return float.__float__(result)
        raise ForeignError(
            f"Foreign.measure: the function returned a {class_name(result)}. Return an int, a float or a bool; "
            "for a word of ours use .one_of(...)."
        )

    def one_of(self, *ours: str) -> str | None:
        """Return the one of our words that the value is equal to, or None. What is returned is our word."""
        value = self._value
        if not isinstance(value, str):
            return None
        plain = str.__str__(value)
        return next((word for word in ours if str.__eq__(word, plain)), None)

    def for_program(self) -> T_co:
        """Hand the bare value to a program that is not a model (paging by a `next` address, a digest, a parser).

        What comes out is still somebody else's: if it reaches a reply, wrap it in `Foreign` again.
        """
        return self._value

    @staticmethod
    def join(values: Iterable[Foreign[T]]) -> Foreign[tuple[T, ...]]:
        """Make one foreign tuple of several foreign values; their origins join."""
        items = tuple(values)
        return under(tuple(item._value for item in items), join_origins(*(item._origins for item in items)))

    def __repr__(self) -> str:
        return f"<Foreign {class_name(self._value)}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __init_subclass__(cls, **kwargs: object) -> None:
        raise ForeignError("Foreign cannot be subclassed: a subclass could show the value.")


# -- what it refuses to be -----------------------------------------------------------------------------------------

CHANGE = "Use .map(fn) for a new one."
# What Python would call on a value, how a person names that, and what to write instead. Not here are `__await__` and
# `__call__`: to have them is to look awaitable and callable to code that asks, and Python refuses both without them.
REFUSED: Mapping[str, tuple[str, str]] = {
    "__str__": ("str() of a foreign value", WAYS_OUT),
    "__format__": ("formatting a foreign value", WAYS_OUT),
    "__bytes__": ("bytes() of a foreign value", WAYS_OUT),
    "__bool__": ("the truth of a foreign value", "Use .measure(bool)."),
    "__int__": ("int() of a foreign value", "Use .measure(int)."),
    "__index__": ("a foreign value as an index", "Use .measure(int)."),
    "__float__": ("float() of a foreign value", "Use .measure(float)."),
    "__complex__": ("complex() of a foreign value", "Use .measure(float)."),
    "__round__": ("rounding a foreign value", "Use .measure(round)."),
    "__len__": ("len() of a foreign value", "Use .measure(len)."),
    "__iter__": ("iterating over a foreign value", "Use .map(fn) with a function over the whole."),
    "__reversed__": ("reversing a foreign value", "Use .map(fn) with a function over the whole."),
    "__contains__": ("'in' on a foreign value", "Use .measure(lambda value: ... in value)."),
    "__getitem__": ("indexing a foreign value", "Use .map(lambda value: value[...])."),
    "__add__": ("adding to a foreign value", WAYS_OUT),
    "__radd__": ("adding a foreign value", WAYS_OUT),
    "__mul__": ("multiplying a foreign value", WAYS_OUT),
    "__rmul__": ("multiplying by a foreign value", WAYS_OUT),
    "__mod__": ("formatting with a foreign value", WAYS_OUT),
    "__rmod__": ("formatting with a foreign value", WAYS_OUT),
    "__eq__": ("comparing a foreign value", "Use .one_of(...) or .measure(lambda value: value == ...)."),
    "__ne__": ("comparing a foreign value", "Use .one_of(...) or .measure(lambda value: value == ...)."),
    "__lt__": ("comparing a foreign value", "Use .measure(lambda value: value < ...)."),
    "__le__": ("comparing a foreign value", "Use .measure(lambda value: value <= ...)."),
    "__gt__": ("comparing a foreign value", "Use .measure(lambda value: value > ...)."),
    "__ge__": ("comparing a foreign value", "Use .measure(lambda value: value >= ...)."),
    "__hash__": ("hashing a foreign value", "Keep it in a list, or key by something of ours."),
    "__fspath__": (
        "a foreign value as a path",
        "Use .for_program(), and check the path against its root before it is opened.",
    ),
    "__reduce_ex__": (
        "pickling a foreign value",
        "Store .for_program(), and wrap it in Foreign again when it is read.",
    ),
    "__setattr__": ("changing a foreign value", CHANGE),
    "__delattr__": ("changing a foreign value", CHANGE),
}


def refusal(what: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise ForeignError(f"Foreign: {what} is refused, because somebody else chose its bytes. {instead}")

    return refuse


def unknown_attribute(_: object, name: str) -> NoReturn:
    raise AttributeError(
        f"Foreign: there is no attribute {name!r}, and a foreign value shows nothing of what is inside. {WAYS_OUT}"
    )


# Set from here, so that type checkers do not see them. Seen by one, `__getattr__` makes a class fit every protocol
# (`Awaitable` too, so a handler that returns a bare Foreign would pass), and a method that returns NoReturn makes a wrong
# `"a" + page` an unreachable rest instead of an error.
for method, (what, instead) in REFUSED.items():
    setattr(Foreign, method, refusal(what, instead))
setattr(Foreign, "__getattr__", unknown_attribute)  # noqa: B010  # for the reason above


# -- for the dispatcher and the ingresses, not for handlers --------------------------------------------------------


def under(value: T, origins: Origins) -> Foreign[T]:
    """Build a foreign value with any number of origins."""
    made: Foreign[T] = Foreign(value)
    object.__setattr__(made, "_origins", origins)
    return made


def open_foreign(foreign: Foreign[T]) -> T:
    """Return what is inside, for the one place that fences it."""
    return foreign._value


def origins_of(foreign: Foreign[object]) -> Origins:
    """Return who chose the value; empty where the tool's declaration says it."""
    return foreign._origins


def join_origins(*groups: Iterable[str]) -> Origins:
    """Join origins in the order given, each once."""
    if not any(groups):
        return ()
    return tuple(dict.fromkeys(origin for group in groups for origin in group))


def is_origin(origin: object) -> bool:
    """An origin is a string with at least one letter or digit; a blank says nothing."""
    return isinstance(origin, str) and any(map(str.isalnum, origin))


def class_name(value: object) -> str:
    """The name of a value's class, which an author wrote; never anything that the value says about itself."""
    name = type.__dict__["__name__"].__get__(type(value))
    return name if name.isidentifier() and len(name) <= 80 else "object"


def shown(value: object) -> str:
    """Show a declared value in a message of ours: a literal as it was written, cut short; anything else by its class."""
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    return f"a {class_name(value)}"


def guarded(function: Callable[[T], U], value: T, exit_name: str) -> U:
    """Call a function on a foreign value so that no text of an error inside it can leave.

    The error is raised outside of the `except` block: raised inside, it would carry the foreign one as `__context__`,
    and `raise ... from None` hides that without dropping it.
    """
    try:
        return function(value)
    except ForeignError as error:
        failed: ForeignError = ForeignFunctionError(str(error))
    except Exception as error:  # noqa: BLE001  # whatever it is, its text may be foreign
        failed = ForeignFunctionError(
            f"Foreign.{exit_name}: the function raised {class_name(error)}; its text is foreign and is not shown."
        )
    raise failed
