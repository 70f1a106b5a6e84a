"""The rules, one file each; this file only lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Final, final

from tools_check._facts import Facts
from tools_check._finding import Case, Finding, Severity
from tools_check.rules import (
    bad_suppression,
    computed_declaration,
    dispatch_mismatch,
    double_fence,
    empty_origin,
    false_declaration,
    fence_marker,
    foreign_error,
    foreign_format,
    foreign_framing,
    fragmented_reply,
    hand_rolled_fence,
    handler_bypass,
    missing_declaration,
    needless_origin,
    undecided_declaration,
    unfenced_prompt,
    unlisted_ingress,
    unused_suppression,
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule as the command line and the pages see it."""

    name: str
    severity: Severity
    page: str
    reported: tuple[Case, ...]
    silent: tuple[Case, ...]
    check: Callable[[Facts], Iterable[Finding]]

    @property
    def summary(self) -> str:
        return self.page.strip().splitlines()[0]


def rule(module: ModuleType) -> Rule:
    """The rule that a file holds."""
    return Rule(
        name=module.__name__.rpartition(".")[2].replace("_", "-"),
        severity=module.SEVERITY,
        page=(module.__doc__ or "").strip(),
        reported=module.REPORTED,
        silent=module.SILENT,
        check=module.check,
    )


ALL: Final = tuple(
    rule(module)
    for module in (
        false_declaration, missing_declaration, empty_origin, computed_declaration, undecided_declaration,
        needless_origin, hand_rolled_fence, fence_marker, double_fence, foreign_framing, foreign_format, foreign_error,
        handler_bypass, unfenced_prompt, dispatch_mismatch, fragmented_reply, unlisted_ingress,
        bad_suppression, unused_suppression,
    )
)  # fmt: skip
BY_NAME: Final = {r.name: r for r in ALL}
NAMES: Final = frozenset(BY_NAME)
