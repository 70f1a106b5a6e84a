"""The blessed ways in. What comes through here is `Foreign` and has its origin; what does not is an unlisted ingress.

Each way bounds its bytes and its time, and the time also by what is left of the running call. An argument that is refused
raises `IngressRefused` with a code and a sentence of ours; a handler answers `refuse(error.code, error.sentence)`.
"""

from __future__ import annotations

from connectors._databases import Sqlite
from connectors._fetch import Fetched, Method, fetch, place_of
from connectors._files import Entry, EntryKind, Walked, list_dir, read_file, walk
from connectors._network import NetworkRules, Resolver, resolve_by_system
from connectors._process import Ran, run_process, run_process_sync
from connectors._sql_rows import Found
from connectors._sqlite import query_sqlite
from registry.errors import IngressRefused

__all__ = [
    "Entry",
    "EntryKind",
    "Fetched",
    "Found",
    "IngressRefused",
    "Method",
    "NetworkRules",
    "Ran",
    "Resolver",
    "Sqlite",
    "Walked",
    "fetch",
    "list_dir",
    "place_of",
    "query_sqlite",
    "read_file",
    "resolve_by_system",
    "run_process",
    "run_process_sync",
    "walk",
]
