"""What a run cannot see: callers and modules that are not among its files, and the mark on what may come from them.

Only the second look over suppression comments (`_second_look.py`) marks anything; in every other run nothing is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from tools_check._values import DATA, Label, Labels, Root, Step, Value, join, labelled, with_labels

ROOT: Final = Root("foreign", "something that is not in this run", "", 0)
LABELS: Final[Labels] = {
    ROOT: Label(ROOT, "", Step("", 0, "it may come from elsewhere"), tag=("foreign", "", "elsewhere"))
}
Statement = tuple[str, int]  # a file by its shown path, and the number of a statement in it


@final
@dataclass(slots=True, kw_only=True)
class Elsewhere:
    """The state of a second look."""

    is_absent: Callable[[str], bool]  # whether a qualified name lies in this project, but not among the files
    is_entry: Callable[[str, int], bool]  # whether a function, by its module and number, may have callers elsewhere
    reached: set[Statement] = field(default_factory=set[Statement])
    asked: set[Statement] = field(default_factory=set[Statement])  # those that use what is elsewhere
    spoken: list[tuple[str, str, int]] = field(
        default_factory=list[tuple[str, str, int]]
    )  # what rules noted: rule, file, site
    is_asked: Callable[[str], bool] = lambda _path: True  # whether what stands in a file may still tell something new


def may_hold(value: Value) -> Value:
    """A value that something elsewhere gives, as far as no class of ours says what it is."""
    if any(obj.kind == "inst" for obj in value.objects()):
        return value  # its fields say it, one by one
    return join(with_labels(value, LABELS), labelled(LABELS, DATA)) if value.is_empty() else with_labels(value, LABELS)


def is_from(labels: Labels) -> bool:
    """Whether something elsewhere may have chosen a value."""
    return ROOT in labels
