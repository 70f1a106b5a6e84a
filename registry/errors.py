"""Every error of this package.

HedgerowError
└── FenceError (also a ValueError)
"""


class HedgerowError(Exception):
    """The base of every error of this package."""


class FenceError(HedgerowError, ValueError):
    """A block does not verify, or cannot be made from what was given."""
