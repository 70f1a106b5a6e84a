"""A real IMAP server on loopback, with a configuration and a mailbox of its own in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

USER = "anna"
PASSWORD = 'pa"ss\\word 1'
WAIT_S = 20.0

CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {system}
default_internal_group = {group}
default_login_user = {system}
mail_location = maildir:{folder}/mail
disable_plaintext_auth = no
ssl = {ssl}
{certificate}
first_valid_uid = 1
mail_max_userip_connections = 50
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid={owner} gid={gid} home={folder}/home
}}
namespace inbox {{
  inbox = yes
  separator = /
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dovecot:
    """A server that runs, and where its messages lie."""

    port: int
    tls_port: int
    mail: Path

    def state(self) -> list[str]:
        """Every message with its flags, which a Maildir spells in file names, and what it holds."""
        files = (path for path in self.mail.rglob("*") if path.parent.name in ("cur", "new"))
        return sorted(f"{path.relative_to(self.mail)}:{hash(path.read_bytes())}" for path in files)


@contextmanager
def dovecot(messages: list[bytes] | dict[str, list[bytes]], *, certificate: Path | None = None) -> Generator[Dovecot]:
    """Serve messages until the block ends: those of the inbox, or of several folders by name. The first one gets uid 1.

    Args:
        messages: what lies in the mailbox.
        certificate: a PEM file with certificate and key; without one there is no TLS.
    """
    folders = messages if isinstance(messages, dict) else {"": messages}
    # In the system's own temporary folder: pytest's is closed to the user that the server changes to.
    with tempfile.TemporaryDirectory(prefix="hedgerow-mail-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        mail = folder / "mail"
        for mailbox, letters in folders.items():
            fill(mail / (f".{mailbox}" if mailbox else ""), letters)
        (folder / "home").mkdir()
        (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
        owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        port, tls_port = free_port(), free_port()
        (folder / "dovecot.conf").write_text(
            CONFIGURATION.format(
                folder=folder,
                port=port,
                tls_port=tls_port if certificate else 0,
                system=owner.pw_name,
                group=subprocess.run(
                    ["id", "-gn", owner.pw_name], check=True, capture_output=True, text=True, timeout=30
                ).stdout.strip(),
                owner=owner.pw_uid,
                gid=owner.pw_gid,
                ssl="yes" if certificate else "no",
                certificate=f"ssl_cert = <{certificate}\nssl_key = <{certificate}" if certificate else "",
            )
        )
        if os.getuid() == 0:
            for path in [mail, folder / "home", *mail.rglob("*")]:
                shutil.chown(path, owner.pw_uid, owner.pw_gid)
        server = subprocess.Popen(["dovecot", "-F", "-c", str(folder / "dovecot.conf")], start_new_session=True)
        try:
            wait_for(port, server, folder / "log")
            yield Dovecot(port=port, tls_port=tls_port, mail=mail)
        finally:
            server.terminate()
            try:
                server.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(WAIT_S)


def fill(maildir: Path, letters: Iterable[bytes]) -> None:
    for name in ("cur", "new", "tmp"):
        (maildir / name).mkdir(parents=True, exist_ok=True)
    for number, letter in enumerate(letters):
        (maildir / "cur" / f"{1_700_000_000 + number}.M{number}.host:2,").write_bytes(letter)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text() if log.exists() else "dovecot ended at once"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"dovecot does not answer: {log.read_text() if log.exists() else ''}")
