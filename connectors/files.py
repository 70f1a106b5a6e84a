"""Tools over the files below one root: list, read, search.

A file's name and its content are somebody's text, so both stand in the foreign part; only counts and sizes are ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, cast

from pydantic import Field

from connectors._bounds import time_left
from connectors._decoding import MARKS, decode_text, sniff_image
from connectors._documents import is_pdf, pdf_text_sync
from connectors._files import Entry, list_dir, read_file, walk
from connectors._paging import page_of, span
from registry import AnyTool, Foreign, Media, MixedReply, ToolDef, ToolInput, escape_cell, refuse, reply, unescape_cell
from registry.errors import DeclarationError, IngressRefused, TextError, ToolFailed

__all__ = ["ListFiles", "ReadFile", "SearchFiles", "tools"]

MAX_LINE = 300
# A hit is one line of the answer. These begin a new one for some readers, and no line of a file ends with them here; they
# are shown as blanks, since escapes would double each backslash of a program.
BREAKS = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
SEARCH_S = 20.0
PATH = "As list_files shows it: relative to the root, with '/' between the parts, without '..', escapes included."

# The names that a model writes and Python's name for each; a closed list, since an unknown name would load a module.
Encoding = Literal[
    "auto", "utf-8", "utf-16-le", "utf-16-be", "cp1252", "iso8859-15", "cp1250", "cp1251", "koi8-r", "cp932", "euc-jp",
    "gb18030", "big5hkscs", "cp949",
]  # fmt: skip


class ListFiles(ToolInput):
    """What `list_files` takes."""

    path: str = Field(default="", max_length=4096, description=f"The folder. {PATH} Empty for the root.")
    offset: int = Field(default=0, ge=0, description="How many entries to skip.")
    limit: int = Field(default=200, ge=1, le=2000, description="How many entries to show at most.")


class ReadFile(ToolInput):
    """What `read_file` takes."""

    path: str = Field(max_length=4096, description=f"The file. {PATH}")
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")
    encoding: Encoding = Field(
        default="auto", description="How the file spells its characters. 'auto' is its byte order mark, or UTF-8."
    )


class SearchFiles(ToolInput):
    """What `search_files` takes."""

    text: str = Field(
        min_length=1, max_length=1000, description="What to look for: plain text within one line, no pattern."
    )
    path: str = Field(default="", max_length=4096, description=f"The folder to search. {PATH} Empty for the root.")
    ignore_case: bool = Field(default=False, description="Whether upper and lower case are the same.")
    offset: int = Field(default=0, ge=0, description="How many hits to skip.")
    limit: int = Field(default=50, ge=1, le=500, description="How many hits to show at most.")


def tools(root: Path, *, max_bytes: int = 5_000_000) -> tuple[AnyTool, ...]:
    """Make the file tools.

    Args:
        root: the folder that nothing leaves; links are resolved before the check.
        max_bytes: the largest file that is read; a larger one is refused, and left out of a search with a word.

    Raises:
        DeclarationError: the root is not a folder.
    """
    if not isinstance(cast("object", root), Path) or not root.is_dir():
        raise DeclarationError(
            "connectors.files: root is not the Path of a folder. Write Path(...) of one that exists."
        )

    def list_files(request: ListFiles) -> MixedReply:
        try:
            entries = list_dir(root, meant(request.path))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        total = entries.measure(len)
        end = min(request.offset + request.limit, total)
        head = span("entries", request.offset, end, total)
        return reply(
            f"{sentence(head)}", entries.map(lambda found: "\n".join(map(line_of, found[request.offset : end])))
        )

    def read(request: ReadFile) -> MixedReply:
        try:
            content = read_file(root, meant(request.path), max_bytes=max_bytes)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        size = content.measure(len)
        mime = content.map(lambda body: sniff_image(body) or "").one_of(
            "image/png", "image/jpeg", "image/gif", "image/webp"
        )
        if mime is not None:
            return reply(f"An {mime} of {size} bytes.", content.map(lambda body: Media(body, mime)))
        if is_pdf(content):
            return read_pdf(content, request)
        text = content.map(lambda body: decode_text(body, codec_of(body, request.encoding)))
        if text.measure(lambda whole: "\0" in whole):
            return refuse("not_text", f"The file holds {size} bytes that are not text, so it is not shown.")
        where, part = page_of(text, request.offset, request.limit)
        return reply(f"{sentence(where)}", part)

    def search_files(request: SearchFiles) -> MixedReply:
        deadline = time.monotonic() + time_left(SEARCH_S)
        try:
            walked = walk(root, meant(request.path), timeout_s=SEARCH_S, skip=frozenset({".git"}))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        found = Search(root, request, max_bytes, deadline)
        hits = walked.paths.map(found.over)
        return reply(found.head(complete=walked.complete), hits)

    return (
        ToolDef(
            name="list_files",
            description="List the files and folders of a folder, with their sizes.",
            input=ListFiles,
            handler=list_files,
            untrusted_output=lambda request: f"files below {request.path or 'the root'}",
            effect="read",
        ),
        ToolDef(
            name="read_file",
            description="Read a text file, the text of a PDF, or an image, a part at a time.",
            input=ReadFile,
            handler=read,
            untrusted_output=lambda request: f"file {request.path}",
            effect="read",
        ),
        ToolDef(
            name="search_files",
            description="Find lines that hold a text in the files below a folder. Folders named .git are left out.",
            input=SearchFiles,
            handler=search_files,
            untrusted_output=lambda request: f"files below {request.path or 'the root'}",
            effect="read",
        ),
    )


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def meant(path: str) -> str:
    """The path that is spelled like this in a listing, where a backslash begins an escape.

    So every name that is shown can be asked for, one that is not UTF-8 too, which no argument could hold as it is.

    Raises:
        IngressRefused: code `path_refused`.
    """
    if "\\" not in path:
        return path
    try:
        return unescape_cell(path)
    except TextError:
        raise IngressRefused(
            "path_refused",
            "The path holds a backslash that begins no escape. Write it as list_files shows it, and '/' between the parts.",
        ) from None


def read_pdf(content: Foreign[bytes], request: ReadFile) -> MixedReply:
    try:
        pdf = pdf_text_sync(content)
    except IngressRefused as refused:
        return refuse(refused.code, refused.sentence)
    where, part = page_of(pdf.text, request.offset, request.limit)
    return reply(f"{pdf.words}, {where}.", part)


def line_of(entry: Entry) -> str:
    """An entry on one line, whatever its name holds."""
    name = escape_cell(entry.name)
    mark = {"file": "", "folder": "/", "link": "@", "other": "?"}[entry.kind]
    return f"{name}{mark}" if entry.kind == "folder" else f"{name}{mark}  {entry.size}"


def codec_of(body: bytes, encoding: str) -> str:
    if encoding != "auto":
        return encoding
    return next((codec for mark, codec in MARKS if body.startswith(mark)), "utf-8")


class Search:
    """One search: what was looked at, what was left out, and the page of hits that was asked for."""

    def __init__(self, root: Path, request: SearchFiles, max_bytes: int, deadline: float) -> None:
        self.root = root
        self.request = request
        self.max_bytes = max_bytes
        self.deadline = deadline
        self.looked = 0
        self.left_out = 0
        self.hits = 0
        self.in_time = True

    def over(self, paths: tuple[str, ...]) -> str:
        """Look through the files; return the hits of the page that was asked for."""
        shown: list[str] = []
        for path in paths:
            if time.monotonic() > self.deadline:
                self.in_time = False
                break
            for hit in self.within(path):
                self.hits += 1
                if self.request.offset < self.hits <= self.request.offset + self.request.limit:
                    shown.append(hit)
        return "\n".join(shown)

    def within(self, path: str) -> Iterable[str]:
        try:
            # The search reads for itself: what it finds goes back into the Foreign that it was called from.
            content = read_file(self.root, path, max_bytes=self.max_bytes).for_program()
        except (IngressRefused, ToolFailed):  # one file that cannot be read must not end the search; it is counted
            self.left_out += 1
            return
        text = decode_text(content, codec_of(content, "auto"))
        if "\0" in text:
            self.left_out += 1
            return
        self.looked += 1
        wanted = self.request.text.casefold() if self.request.ignore_case else self.request.text
        if wanted not in (text.casefold() if self.request.ignore_case else text):
            return
        for number, line in enumerate(text.split("\n"), start=1):
            if wanted in (line.casefold() if self.request.ignore_case else line):
                yield f"{escape_cell(path)}:{number}: {line.strip()[:MAX_LINE].translate(BREAKS)}"

    def head(self, *, complete: bool) -> str:
        """What was found and what was not looked at, in our words."""
        request = self.request
        end = min(request.offset + request.limit, self.hits)
        words = [sentence(f"{span('hits', request.offset, end, self.hits)}, in {self.looked} text files")]
        if self.left_out:
            words.append(f"{self.left_out} files were left out: not text, too large or not to be read.")
        if not complete or not self.in_time:
            words.append("The search stopped before the end, so there may be more: search a folder below.")
        words.append(f"Lines are cut after {MAX_LINE} characters.")
        return " ".join(words)
