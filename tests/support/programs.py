"""Which programs a test needs: without one it is skipped by name, and under CI it fails."""

from __future__ import annotations

import os
import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark a test that runs these programs. A missing one is a skip that names it; with CI set, the test runs and fails."""
    missing = [program for program in programs if shutil.which(program) is None]
    are = "is" if len(missing) == 1 else "are"
    return pytest.mark.skipif(
        bool(missing) and not os.environ.get("CI"), reason=f"not run: {' and '.join(missing)} {are} missing"
    )
