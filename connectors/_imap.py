"""The way in for mail: one short, bounded and read-only IMAP session a call.

Nothing is ever changed on the server: a folder is opened with EXAMINE and a message is read with BODY.PEEK. No password
leaves for a server over a line that others could read, and none stands in a message of ours.
"""

from __future__ import annotations

import imaplib
import json
import re
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast, final

from connectors._addresses import address_of
from connectors._bounds import seconds, time_left
from connectors._secrets import Secrets
from registry import Foreign
from registry.errors import DeclarationError, IngressRefused, ToolFailed

try:
    from imap_tools.errors import ImapToolsError, MailboxFolderSelectError, MailboxLoginError
    from imap_tools.imap_utf7 import utf7_decode
    from imap_tools.mailbox import BaseMailBox
except ImportError as error:  # pragma: no cover  # a subprocess test without imap-tools runs it
    raise ImportError(
        "The mail connector needs imap-tools. Write: pip install 'hedgerow[mail]'", name="imap_tools"
    ) from error

__all__ = ["MailServer", "Session", "session"]

Security: TypeAlias = Literal["tls", "starttls", "none"]
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
UID: Final = re.compile(rb"[0-9]{1,10}\Z")
SIZE: Final = re.compile(rb"RFC822\.SIZE ([0-9]{1,15})")
ITS_UID: Final = re.compile(rb"\bUID ([0-9]{1,10})")
LISTED: Final = re.compile(
    rb'\([^()]*\) (?:"(?:[^"\\]|\\.)*"|NIL) (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>\S+))\s*\Z'
)
# What a server may send beside the message: names of folders, numbers of messages, heads.
OVERHEAD: Final = 10_000_000
# What is wrong with an answer shows as one of these, for the libraries read it as if it were in order.
BROKEN: Final = (imaplib.IMAP4.error, ImapToolsError, ValueError, IndexError, KeyError, TypeError, AttributeError)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """One mailbox, and how it is reached.

    Raises:
        DeclarationError: a field is not what it must be, or the password would travel in the open.
    """

    host: str
    """The server's name. The deployment chooses it, so its address is not judged."""
    user: str
    """Whose mailbox it is."""
    port: int = 993
    """The port; 993 is that of IMAP over TLS."""
    security: Security = "tls"
    """`tls` from the first byte, `starttls` before the password, or `none`, which only loopback may have."""
    secret: str = "mail_password"  # noqa: S105  # the name of a secret is none
    """The name under which the password is asked for."""
    tls: ssl.SSLContext | None = None
    """Which certificates are trusted; None is what the system trusts."""
    timeout_s: float = 30.0
    """For the whole session, from the lookup of the name to the last byte."""
    max_bytes: int = 5_000_000
    """How much of a message is read, from its beginning."""

    def __post_init__(self) -> None:
        for name, value in (("host", self.host), ("user", self.user), ("secret", self.secret)):
            if not isinstance(cast("object", value), str) or not value or not value.isprintable():
                raise DeclarationError(f"MailServer: {name} is not a line of text. Write one.")
        if self.security not in ("tls", "starttls", "none"):
            raise DeclarationError("MailServer: security is none of its three. Write 'tls', 'starttls' or 'none'.")
        if self.security == "none" and self.host not in LOOPBACK:
            raise DeclarationError(
                "MailServer: security is 'none' for a host that is not loopback, so the password and the mail would travel "
                "in the open. Write 'tls' or 'starttls'."
            )
        for name, number, least in (("port", self.port, 1), ("max_bytes", self.max_bytes, 1)):
            if isinstance(number, bool) or not isinstance(cast("object", number), int) or number < least:
                raise DeclarationError(f"MailServer: {name} is not a whole number from {least} on. Write one.")
        if isinstance(self.timeout_s, bool) or not isinstance(cast("object", self.timeout_s), int | float):
            raise DeclarationError("MailServer: timeout_s is not a number. Write seconds.")
        if not self.timeout_s > 0:
            raise DeclarationError("MailServer: timeout_s is not above 0. Write seconds.")


class TooLarge(Exception):  # private signal; the session words the refusal
    """The server has sent more than the session reads."""


class NotLoopback(Exception):  # private signal; the session words the failure
    """A line without TLS would leave this machine."""


# -- the line ------------------------------------------------------------------------------------------------------


@final
class Line:
    """The connection of one session: it counts what is read, and another thread can end it."""

    def __init__(self, server: MailServer, bound_s: float, max_bytes: int) -> None:
        self.server = server
        self.bound_s = bound_s
        self.left = max_bytes
        self.raw: socket.socket | None = None
        self.is_over = False
        self.lock = threading.Lock()

    def open(self) -> socket.socket:
        server = self.server
        raw = socket.create_connection((server.host, server.port), timeout=self.bound_s)
        with self.lock:
            self.raw = raw.dup()  # one that TLS does not take over, so that it can be shut from outside
            if self.is_over:
                self.raw.shutdown(socket.SHUT_RDWR)
        if server.security == "none" and not is_loopback(raw):
            raw.close()
            raise NotLoopback
        if server.security != "tls":
            return raw
        return self.context().wrap_socket(raw, server_hostname=server.host)

    def context(self) -> ssl.SSLContext:
        return self.server.tls or ssl.create_default_context()

    def count(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooLarge

    def cut(self) -> None:
        """End the session now: whoever waits for a byte gets none any more."""
        with self.lock:
            self.is_over = True
            if self.raw is not None:
                with suppress(OSError):
                    self.raw.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self.lock:
            if self.raw is not None:
                self.raw.close()
                self.raw = None


def is_loopback(line: socket.socket) -> bool:
    address = address_of(str(line.getpeername()[0]))
    return address is not None and address.is_loopback


class CountedImap(imaplib.IMAP4):
    """The library's client on a line of ours. A size that a server announces is judged before it is waited for."""

    def __init__(self, line: Line) -> None:
        self.line = line
        super().__init__(line.server.host, line.server.port, line.bound_s)

    def _create_socket(self, timeout: float | None) -> socket.socket:  # noqa: ARG002  # the line knows its bound
        return self.line.open()

    def read(self, size: int) -> bytes:
        self.line.count(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self.line.count(len(line))
        return line


class BoundedMailBox(BaseMailBox):
    """The library's mailbox over that client."""

    def __init__(self, line: Line) -> None:
        self.line = line
        super().__init__()

    def _get_mailbox_client(self) -> imaplib.IMAP4:
        client = CountedImap(self.line)
        if self.line.server.security != "starttls":
            return client
        try:
            client.starttls(self.line.context())
        except BaseException:
            with suppress(OSError):
                client.shutdown()
            raise
        return client


# -- the session ---------------------------------------------------------------------------------------------------


@final
class Session:
    """An open mailbox. What it returns is foreign."""

    def __init__(self, box: BaseMailBox, server: MailServer) -> None:
        self.box = box
        self.server = server

    def folders(self) -> Foreign[tuple[str, ...]]:
        # Not the library's list, which reads a NO as an empty mailbox.
        status, items = self.box.client.list()
        if status != "OK":
            raise imaplib.IMAP4.error(lines_of(items))
        return Foreign(tuple(folder_of(item) for item in items if item))

    def open(self, folder: str) -> None:
        """Open a folder for reading alone."""
        self.box.folder.set(folder, readonly=True)  # pyright: ignore[reportUnknownMemberType]  # the library says `tuple`

    def search(self, criteria: str) -> Foreign[tuple[int, ...]]:
        """The numbers of the messages that fit, newest first."""
        charset = None if criteria.isascii() else "UTF-8"
        found = self.box.uids(criteria.encode("utf-8"), charset)
        numbers = [int(uid) for uid in found if UID.match(uid.encode("utf-8", "replace"))]
        if len(numbers) != len(found):
            raise ValueError
        return Foreign(tuple(sorted(set(numbers), reverse=True)))

    def heads(self, numbers: Sequence[int]) -> Foreign[bytes]:
        """The heads of messages, with a first line of JSON that says how long each is; one that is gone is empty."""
        asked = ",".join(map(str, numbers))
        got = self.fetch(asked, "(UID BODY.PEEK[HEADER.FIELDS (DATE FROM SUBJECT)])") if asked else {}
        heads = [got.get(number, b"") for number in numbers]
        return Foreign(json.dumps([len(head) for head in heads]).encode() + b"\n" + b"".join(heads))

    def message(self, number: int) -> Foreign[tuple[bytes, int]] | None:
        """The beginning of a message, and how long all of it is; None when there is none of that number."""
        got = self.fetch(str(number), f"(UID BODY.PEEK[]<0.{self.server.max_bytes}>)")
        if number not in got:
            return None
        sizes = self.box.client.uid("FETCH", str(number), "(RFC822.SIZE)")
        found = SIZE.search(b"".join(item for item in sizes[1] if isinstance(item, bytes)))
        size = int(found[1]) if found else len(got[number])
        return Foreign((got[number], size))

    def fetch(self, asked: str, what: str) -> dict[int, bytes]:
        status, items = self.box.client.uid("FETCH", asked, what)
        if status != "OK":
            raise imaplib.IMAP4.error(lines_of(items))
        wanted = set(map(int, asked.split(",")))
        got: dict[int, bytes] = {}
        for place, item in enumerate(items):
            if not isinstance(item, tuple):
                continue
            # A server may say the number before the text or behind it.
            behind = items[place + 1] if place + 1 < len(items) and isinstance(items[place + 1], bytes) else b""
            around, text = cast("tuple[bytes, bytes]", item)
            number = ITS_UID.search(around) or ITS_UID.search(behind)
            if number is not None and int(number[1]) in wanted:
                got[int(number[1])] = text
        return got


def folder_of(item: bytes | tuple[bytes, bytes]) -> str:
    """The name in one line of LIST: a literal, a quoted string or a word, in the UTF-7 of IMAP."""
    if isinstance(item, tuple):
        return utf7_decode(item[1])
    found = LISTED.search(item)
    if found is None:
        raise ValueError
    quoted = found["quoted"]
    return utf7_decode(found["word"] if quoted is None else re.sub(rb"\\(.)", rb"\1", quoted))


@contextmanager
def session(server: MailServer, secrets: Callable[[str], str]) -> Generator[Session]:
    """Open a mailbox, and say in words of ours what goes wrong until it is closed again.

    Raises:
        IngressRefused: `too_large`.
        ToolFailed: the server could not be reached, refused something or sent what is not IMAP; what it said is in the
            detail, but for what it said about the password.
    """
    bound_s = time_left(server.timeout_s)
    # By the one who asks for all secrets: what a deployment's function raises may hold what is secret.
    password = Secrets(secrets).get(server.secret)
    if not password.isprintable():
        raise ToolFailed("The deployment has no password for the mail server that is one line of text.")
    line = Line(server, bound_s, server.max_bytes + OVERHEAD)
    alarm = threading.Timer(bound_s, line.cut)
    alarm.daemon = True
    alarm.start()
    try:
        yield from opened(server, password, line)
    except TooLarge:
        raise IngressRefused(
            "too_large", "The mail server sends more than this deployment reads. Ask for fewer messages."
        ) from None
    except NotLoopback:
        raise ToolFailed(
            "The mail server is not on loopback, and its line has no TLS; nothing was sent to it."
        ) from None
    except (OSError, *BROKEN) as error:
        failed(error, line, spellings(server.user, password))
    finally:
        alarm.cancel()
        line.close()


def opened(server: MailServer, password: str, line: Line) -> Generator[Session]:
    box = BoundedMailBox(line)
    try:
        log_in(box, server.user, password, line)
        yield Session(box, server)
    finally:
        # Not LOGOUT, which waits for an answer; the server closes a folder that was opened for reading without a change.
        with suppress(OSError):
            box.client.shutdown()


def log_in(box: BaseMailBox, user: str, password: str, line: Line) -> None:
    try:
        if user.isascii() and password.isascii():
            box.login(user, password, initial_folder=None)
        else:
            box.login_utf8(user, password, initial_folder=None)
    except (MailboxLoginError, imaplib.IMAP4.error):
        if line.is_over:
            raise
        # What it says is withheld: it may repeat the password.
        raise ToolFailed("The mail server did not accept the user name and the password.") from None


def spellings(user: str, password: str) -> tuple[str, ...]:
    """How a password travels: as it is, in the quoted string of a login, and in the coding of another kind of login."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return password, quoted, b64encode(f"\0{user}\0{password}".encode("utf-8", "surrogatepass")).decode("ascii")


def failed(error: Exception, line: Line, secret: tuple[str, ...]) -> NoReturn:
    if line.is_over or isinstance(error, TimeoutError):
        raise ToolFailed(f"The mail server did not finish within {seconds(line.bound_s)}.") from None
    said = said_by(error)
    detail = None if any(spelled in said for spelled in secret) else Foreign(said)
    if isinstance(error, MailboxFolderSelectError):
        raise ToolFailed("The mail server did not open the folder.", detail) from None
    if isinstance(error, OSError):
        raise ToolFailed("The connection to the mail server failed.", detail) from None
    if isinstance(error, imaplib.IMAP4.error | ImapToolsError):
        raise ToolFailed("The mail server refused the request, or ended the session.", detail) from None
    raise ToolFailed("The mail server's answer is not valid IMAP.") from None


def said_by(error: Exception) -> str:
    """What the server said, without what the library puts around it."""
    result = getattr(error, "command_result", None)
    if isinstance(result, tuple):
        return lines_of(cast("tuple[Any, Any]", result)[1])
    return str(error)


def lines_of(items: Any) -> str:
    return "\n".join(item.decode("utf-8", "surrogateescape") for item in items if isinstance(item, bytes))
