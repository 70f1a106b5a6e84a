"""Tools over one mailbox: find messages, read one, list its attachments. Nothing is marked, moved, deleted or followed.

Everything of a message is a stranger's: its sender, subject, names and text, and the links in it, a confirmation link too,
which comes back as text. Only numbers are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from importlib.util import find_spec
from typing import Any, Literal, cast

from pydantic import Field

from connectors._apart import read_apart_sync
from connectors._imap import MailServer, session
from connectors._paging import page_of, span
from registry import AnyTool, Foreign, MixedReply, ToolDef, ToolInput, escape_cell, refuse, reply
from registry.errors import DeclarationError, IngressRefused

if find_spec("inscriptis") is None:
    raise ImportError("The mail connector needs inscriptis. Write: pip install 'hedgerow[mail]'", name="inscriptis")

# After the look at what is missing, since this sentence is better than the library's.
from imap_tools.query import AND

__all__ = ["ListMailFolders", "MailServer", "ReadMail", "SearchMail", "tools"]

MAX_CHARS = 2_000_000
FOLDER = "The folder, as list_mail_folders shows it."
TERM = "Only messages with this text {where}; the server decides about upper and lower case. Empty for all."


class ListMailFolders(ToolInput):
    """What `list_mail_folders` takes."""

    offset: int = Field(default=0, ge=0, description="How many folders to skip.")
    limit: int = Field(default=200, ge=1, le=1000, description="How many folders to show at most.")


class SearchMail(ToolInput):
    """What `search_mail` takes."""

    folder: str = Field(default="INBOX", min_length=1, max_length=500, description=FOLDER)
    text: str = Field(default="", max_length=500, description=TERM.format(where="anywhere in it"))
    sender: str = Field(default="", max_length=500, description=TERM.format(where="in the sender"))
    recipient: str = Field(default="", max_length=500, description=TERM.format(where="in the recipients"))
    subject: str = Field(default="", max_length=500, description=TERM.format(where="in the subject"))
    since: date | None = Field(default=None, description="Only messages that arrived on this day or later: 2026-01-31.")
    before: date | None = Field(default=None, description="Only messages that arrived before this day: 2026-01-31.")
    unread: bool = Field(default=False, description="Whether to show only messages that are not marked as read.")
    offset: int = Field(default=0, ge=0, description="How many messages to skip, newest first.")
    limit: int = Field(default=20, ge=1, le=100, description="How many messages to show at most.")


class ReadMail(ToolInput):
    """What `read_mail` takes."""

    uid: int = Field(ge=1, le=4_294_967_295, description="The number of the message, as search_mail shows it.")
    folder: str = Field(default="INBOX", min_length=1, max_length=500, description=FOLDER)
    body: Literal["auto", "plain", "html"] = Field(
        default="auto",
        description="Which text to show: 'plain', what its HTML says, or 'auto', the plain one if there is one.",
    )
    offset: int = Field(default=0, ge=0, description="How many characters of the text to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters of the text to show at most.")


def tools(server: MailServer, secrets: Callable[[str], str]) -> tuple[AnyTool, ...]:
    """Make the mail tools.

    Args:
        server: the mailbox.
        secrets: gives the password by the name `server.secret`, when a call needs it.

    Raises:
        DeclarationError: `server` or `secrets` is something else.
    """
    if not isinstance(cast("object", server), MailServer):
        raise DeclarationError("connectors.mail: server is not a MailServer. Write MailServer(host=..., user=...).")
    if not callable(secrets):
        raise DeclarationError("connectors.mail: secrets is not a function. Write one that takes the secret's name.")

    def list_mail_folders(request: ListMailFolders) -> MixedReply:
        try:
            with session(server, secrets) as box:
                names = box.folders()
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        total = names.measure(len)
        end = min(request.offset + request.limit, total)
        return reply(
            sentence(span("folders", request.offset, end, total)),
            names.map(lambda found: "\n".join(map(escape_cell, found[request.offset : end]))),
        )

    def search_mail(request: SearchMail) -> MixedReply:
        try:
            criteria = criteria_of(request)
            with session(server, secrets) as box:
                box.open(checked("folder", request.folder))
                found = box.search(criteria)
                page = found.map(lambda numbers: numbers[request.offset : request.offset + request.limit])
                # The numbers go back to the server that gave them, and nowhere else.
                heads = box.heads(page.for_program())
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        total = found.measure(len)
        head = span("messages", request.offset, min(request.offset + request.limit, total), total)
        if not page.measure(len):
            return reply(sentence(head))
        listed = Foreign.join((page, read_apart_sync("headers", heads)))
        return reply(f"{sentence(head)} Newest first; read_mail takes the number.", listed.map(listing))

    def read_mail(request: ReadMail) -> MixedReply:
        try:
            with session(server, secrets) as box:
                box.open(checked("folder", request.folder))
                got = box.message(request.uid)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        if got is None:
            return refuse("not_found", "The folder has no message of that number. Write one that search_mail shows.")
        message = read_apart_sync("mail", got.map(lambda pair: pair[0]), options={"max_chars": MAX_CHARS})
        return shown(message, request, got.measure(lambda pair: pair[1]), server.max_bytes)

    return (
        ToolDef(
            name="list_mail_folders",
            description="List the folders of the mailbox.",
            input=ListMailFolders,
            handler=list_mail_folders,
            untrusted_output="mail server",
            effect="read",
        ),
        ToolDef(
            name="search_mail",
            description="Find messages in a folder of the mailbox and list them, newest first. Marks nothing as read.",
            input=SearchMail,
            handler=search_mail,
            untrusted_output=lambda request: f"mail in {request.folder}",
            effect="read",
        ),
        ToolDef(
            name="read_mail",
            description="Read a message: who wrote it, its text, and a list of its attachments. Marks nothing as read.",
            input=ReadMail,
            handler=read_mail,
            untrusted_output=lambda request: f"mail {request.uid} in {request.folder}",
            effect="read",
        ),
    )


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


# -- what is asked for ---------------------------------------------------------------------------------------------


def criteria_of(request: SearchMail) -> str:
    """The search in IMAP's words. Each text is a quoted string, and holds nothing that could end one."""
    terms: dict[str, Any] = {
        name: checked(field, value)
        for name, field, value in (
            ("text", "text", request.text),
            ("from_", "sender", request.sender),
            ("to", "recipient", request.recipient),
            ("subject", "subject", request.subject),
        )
        if value
    }
    if request.since is not None:
        terms["date_gte"] = request.since
    if request.before is not None:
        terms["date_lt"] = request.before
    if request.unread:
        terms["seen"] = False
    return str(AND(**terms)) if terms else "ALL"


def checked(field: str, value: str) -> str:
    """Refuse what a quoted string of IMAP cannot hold; the library escapes the quotes and the backslashes."""
    if any(char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in value):
        raise IngressRefused(
            "search_refused", f"The {field} holds a character that no line of text holds. Write it as one plain line."
        )
    return value


# -- what is shown -------------------------------------------------------------------------------------------------


def listing(found: tuple[Any, ...]) -> str:
    numbers, heads = found
    return "\n".join(line for number, head in zip(numbers, heads, strict=True) for line in entry(number, head))


def entry(number: int, head: list[list[str]]) -> Iterator[str]:
    yield f"uid {number}"
    yield from (header(name, value) for name, value in head)


def header(name: str, value: str) -> str:
    """A header on one line, whatever it holds."""
    return f"  {name}: {escape_cell(value)}"


def shown(message: Foreign[Any], request: ReadMail, size: int, max_bytes: int) -> MixedReply:
    """A message: our sentence, then its headers, the list of its attachments and a page of its text, in one block."""
    has_plain = message.measure(lambda found: bool(found["plain"].strip()))
    has_html = message.measure(lambda found: bool(found["html"].strip()))
    kind = request.body if request.body != "auto" else ("plain" if has_plain or not has_html else "html")
    where, part = page_of(message.map(lambda found: str(found[kind])), request.offset, request.limit)
    words = [f"A message of {size} bytes, {message.measure(count_attachments)} attachments"]
    words.append({"plain": "its plain text", "html": "its HTML as text"}[kind] + f": {where}.")
    head = ", ".join(words)
    if kind == "plain" and has_html:
        head += " It has HTML too, which may say something else."
    hidden = message.measure(lambda found: int(found["hidden"]))
    if kind == "html" and hidden:
        head += f" Hidden by its HTML and left out: {hidden}."
    if size > max_bytes or not message.measure(lambda found: bool(found["complete"])):
        head += " It is longer or deeper than what is read, so the end is missing."
    return reply(head, Foreign.join((message.map(above), part)).map(together))


def together(pieces: tuple[str, ...]) -> str:
    return "\n\n".join(piece for piece in pieces if piece)


def count_attachments(message: Any) -> int:
    return len(message["attachments"])


def above(message: Any) -> str:
    lines = [header(name, value).strip() for name, value in message["headers"]]
    lines += [
        f"Attachment: {escape_cell(item['name']) or '(no name)'}, {escape_cell(item['type'])}, {item['size']} bytes"
        for item in message["attachments"]
    ]
    return "\n".join(lines)
