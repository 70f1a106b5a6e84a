"""Runs every benchmark, or those that are named: `python -m tests.benchmarks [NAME ...]`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> None:
    """Run them in the order of their names."""
    there = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = sys.argv[1:] or there
    unknown = [name for name in wanted if name not in there]
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]!r}. They are: {', '.join(there)}.")
    for name in wanted:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"tests.benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
