"""A PostgreSQL server of the tests: started in a temporary folder, on a Unix socket alone, and stopped at their end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

import psycopg
import pytest
from psycopg import sql as compose
from psycopg.conninfo import make_conninfo

__all__ = ["OWNER", "PASSWORD", "READER", "PostgresServer", "needs_postgres", "running_postgres"]

OWNER = "owner"
READER = "reader"
PASSWORD = "hush-hush:/@ 'quote'"
START_S = 60

# The owner needs no password here; everybody else does, so that a wrong one is a real refusal of a real server.
RULES = "local all owner trust\nlocal all all scram-sha-256\n"
SETTINGS = (
    "listen_addresses=", "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=40",
    "autovacuum=off", "log_min_messages=fatal", "max_wal_senders=0", "wal_level=minimal", "shared_buffers=16MB",
)  # fmt: skip


def programs() -> Path | None:
    """The folder of the server's programs; Debian does not put them on PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def needs_postgres() -> pytest.MarkDecorator:
    """Mark a test that starts a server; without one it is skipped by name, and under CI it fails."""
    is_missing = programs() is None and not os.environ.get("CI")
    return pytest.mark.skipif(is_missing, reason="not run: PostgreSQL (initdb) is missing")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """Where a server is to be found."""

    folder: Path

    def dsn(self, user: str = READER, *, database: str = "shop", password: str | None = PASSWORD) -> str:
        """A connection string for a user of it."""
        return make_conninfo(host=str(self.folder / "run"), dbname=database, user=user, password=password)

    def owner(self, database: str = "shop") -> psycopg.Connection:
        """A connection that may do everything, for a test's own preparations and looks."""
        return psycopg.connect(self.dsn(OWNER, database=database, password=None), autocommit=True)


@contextmanager
def running_postgres(*settings: str) -> Generator[PostgresServer]:
    """Start a server with a database `shop` and a role `reader` that may read; stop it at the end.

    Args:
        settings: beside those of every test, such as `wal_level=logical`; the last of a name holds.
    """
    there = programs()
    assert there is not None, "initdb is missing: install postgresql"
    # Not below pytest's folder: the server's user must be able to enter it, and a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="hedgerow-pg-"))
    try:
        user = unprivileged()
        (folder / "run").mkdir()
        if user is not None:
            for path in (folder, folder / "run"):
                os.chown(path, user.pw_uid, user.pw_gid)
        as_user = (
            [] if user is None else ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        )
        data = folder / "data"
        made = [
            "--auth=trust",
            f"--username={OWNER}",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]
        run([*as_user, str(there / "initdb"), "-D", str(data), *made], folder)
        (data / "pg_hba.conf").write_text(RULES)
        options = [option for setting in (*SETTINGS, *settings) for option in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*as_user, str(there / "postgres"), "-D", str(data), "-k", str(folder / "run"), *options],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        try:
            ready = ["-h", str(folder / "run"), "-U", OWNER, "-d", "postgres", "-q"]
            wait_until_ready(server, [str(there / "pg_isready"), *ready], folder)
            found = PostgresServer(folder=folder)
            prepare(found)
            yield found
        finally:
            # A fast shutdown: it ends every session and waits for none.
            server.send_signal(signal.SIGINT)
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()  # its sessions notice that it has gone, and go
                server.wait(timeout=10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged() -> pwd.struct_passwd | None:
    """Whom to start it as: a server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("no unprivileged user to run PostgreSQL as")


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=START_S, check=False)
    assert done.returncode == 0, done.stderr


def wait_until_ready(server: subprocess.Popen[bytes], question: list[str], folder: Path) -> None:
    for _ in range(START_S * 10):
        assert server.poll() is None, (folder / "log").read_text()
        # pg_isready waits itself, for as long as it is told; so this is no busy loop.
        asked = subprocess.run([*question, "-t", "1"], cwd=folder, timeout=START_S, check=False)
        if asked.returncode == 0:
            return
        try:
            server.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the server does not answer")


def prepare(server: PostgresServer) -> None:
    with server.owner("postgres") as owner:
        owner.execute("CREATE DATABASE shop")
        literal = compose.Literal(PASSWORD)
        owner.execute(compose.SQL("CREATE ROLE reader LOGIN PASSWORD {}").format(literal))
