"""How long a piece of work may take: its own limit, and never longer than the call that it is part of."""

from __future__ import annotations

from typing import Final

from registry import remaining_s

__all__ = ["seconds", "time_left"]

# Of what is left of a call, this much is for the answer: work that gives up a little earlier can still say what it was that
# took too long, and the outcome does not hang on which of two clocks rings first. A busy machine needs part of a second to
# stop the work and to word that, however short the deadline is; a call that is nearly over keeps most of what it has.
SHARE: Final = 0.9
MARGIN_S: Final = 0.5
LEAST_SHARE: Final = 0.6


def time_left(limit_s: float) -> float:
    """Seconds that work with this limit has now; 0 when the call's deadline has passed."""
    left_s = remaining_s()
    return max(0.0, min(limit_s, left_s * SHARE, max(left_s - MARGIN_S, left_s * LEAST_SHARE)))


def seconds(bound_s: float) -> str:
    """A bound in words, for a message."""
    rounded = max(0.1, round(bound_s, 1))
    return "1 second" if rounded == 1 else f"{rounded:g} seconds"
