"""Programs that a test needs and a machine may not have: a skip that says why, a failure where CI is set."""

import os
import shutil

import pytest


def missing(*programs: str) -> str:
    """Says which of the programs is not here, or nothing."""
    absent = [program for program in programs if shutil.which(program) is None]
    return f"not run: {', '.join(absent)} is missing" if absent else ""


def require(*programs: str) -> None:
    """Skips the test that calls it when a program is missing, and fails it where CI is set."""
    reason = missing(*programs)
    if not reason:
        return
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def needs(*programs: str) -> pytest.MarkDecorator:
    """A mark for tests that need programs; where CI is set, a missing one fails the collection."""
    reason = missing(*programs)
    if reason and os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    return pytest.mark.skipif(bool(reason), reason=reason)
