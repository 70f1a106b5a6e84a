"""The command `check`: files in, findings out, in one order whatever the number of processes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools_check._files import find_files
from tools_check._options import Options, answer_key, make_store, state_digest
from tools_check._report import Report, from_kept, to_kept


def check_paths(paths: Iterable[Path], options: Options) -> Report:
    """Check files and folders.

    Raises:
        NotFound: when a path does not exist.
        NoPython: when a folder holds no Python file.
    """
    files = find_files(paths, options.config.exclude, options.overlay, strict=True)
    store = make_store(options)
    for shown, data in options.overlay.items():
        store.overlay[shown] = data
    store.scan_all(files)
    key = answer_key("check", files, options)
    if store.unchanged() and not options.overlay:
        kept = store.answer(key)
        if kept.get("digest") == state_digest(store):
            return from_kept(kept)
    # The analysis is most of what a run imports, and a run that finds its answer kept has no use for it.
    from tools_check._judge import check_files

    report = check_files(files, store, options)
    store.finish()
    if not options.overlay:
        store.keep(key, to_kept(report, state_digest(store)))
    return report
