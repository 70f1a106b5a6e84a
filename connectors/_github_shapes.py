"""What GitHub's JSON is, as plain values and as text. Every function here is for use inside of `Foreign.map`.

A line holds one field, and no field can begin another line: texts of one line are escaped, texts of many are quoted or come
last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, cast

from connectors._rest import word
from registry import escape_cell, quote_prose, render_table

__all__ = [
    "Item",
    "Rows",
    "code_rows",
    "comment_rows",
    "comments_text",
    "entries_of",
    "folder_text",
    "issue_fields",
    "issue_rows",
    "issues_of",
    "items_of",
    "opening_text",
    "pull_fields",
    "pull_rows",
    "repository_rows",
    "rows_text",
]

Item: TypeAlias = dict[str, object]
Rows: TypeAlias = Callable[[Iterable[Item]], list[Item]]

# GitHub's own bounds are lower. What is longer came from something else, and is no reason to refuse the whole answer.
MAX_FIELD: Final = 1000
MAX_LIST: Final = 100


def objects(value: object) -> list[Item]:
    """The objects of a list, in order; everything else in it is left out."""
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Item", item) for item in found if isinstance(item, dict)]


def items_of(value: object) -> list[Item]:
    """The items of an answer: of a list, or of what a search answers."""
    return objects(cast("Item", value).get("items") if isinstance(value, dict) else value)


def issues_of(value: object) -> list[Item]:
    """The issues of a list in which GitHub counts pull requests as issues."""
    return [item for item in items_of(value) if "pull_request" not in item]


def field(item: object, *keys: str) -> str:
    """One text, looked up key by key, on one line and bounded."""
    for key in keys[:-1]:
        item = cast("Item", item).get(key) if isinstance(item, dict) else None
    return word(item, keys[-1])[:MAX_FIELD]


def number(item: object, key: str) -> int:
    """One whole number, or 0."""
    found = cast("Item", item).get(key) if isinstance(item, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**53 else 0


def names(item: Item, key: str, name: str) -> list[str]:
    return [field(each, name) for each in objects(item.get(key))[:MAX_LIST]]


# -- issues and pull requests --------------------------------------------------------------------------------------


def issue_fields(item: Item) -> Item:
    """What is shown of an issue, and of a pull request seen as one."""
    return {
        "number": number(item, "number"),
        "title": field(item, "title"),
        "state": field(item, "state"),
        "author": field(item, "user", "login"),
        "association": field(item, "author_association"),
        "labels": names(item, "labels", "name"),
        "assignees": names(item, "assignees", "login"),
        "comments": number(item, "comments"),
        "created": field(item, "created_at"),
        "updated": field(item, "updated_at"),
        "url": field(item, "html_url"),
    }


def pull_fields(item: Item) -> Item:
    """What is shown of a pull request."""
    return {
        **issue_fields(item),
        "from": field(item, "head", "label"),
        "into": field(item, "base", "label"),
        "head_commit": field(item, "head", "sha"),
    }


def opening_text(fields: Item, body: str) -> str:
    """The fields of an issue, a line each, and then what its author wrote."""
    lines: list[str] = []
    for key, value in fields.items():
        if isinstance(value, list):
            lines += [f"{key.removesuffix('s')}: {escape_cell(each)}" for each in cast("list[str]", value)]
        elif value not in ("", 0):
            lines.append(f"{key}: {escape_cell(str(value))}")
    return "\n".join([*lines, "", body])


def issue_rows(items: Iterable[Item]) -> list[Item]:
    return [issue_fields(item) | {"repository": repository_of(item)} for item in items]


def pull_rows(items: Iterable[Item]) -> list[Item]:
    return [pull_fields(item) for item in items]


def repository_of(item: Item) -> str:
    """The repository of an issue that a search found: the end of an address."""
    return "/".join(field(item, "repository_url").split("/")[-2:])


# -- comments ------------------------------------------------------------------------------------------------------


def comment_rows(items: Iterable[Item], limit: int) -> list[Item]:
    return [
        {
            "author": field(item, "user", "login"),
            "association": field(item, "author_association"),
            "created": field(item, "created_at"),
            "path": field(item, "path"),
            "url": field(item, "html_url"),
            "body": word(item, "body")[:limit],
            "length": len(word(item, "body")),
        }
        for item in items
    ]


def comments_text(rows: Sequence[Item]) -> str:
    """Comments one below the other. Every line of a comment is quoted, so none can begin the next one."""
    shown: list[str] = []
    for at, row in enumerate(rows, start=1):
        parts = [f"comment {at} by {escape_cell(str(row['author']))}"]
        parts += [f"{name} {escape_cell(str(row[name]))}" for name in ("association", "created", "path") if row[name]]
        shown.append(f"{', '.join(parts)}:\n{quote_prose(str(row['body']))}")
    return "\n".join(shown)


# -- files and searches --------------------------------------------------------------------------------------------


def entries_of(value: object) -> list[Item]:
    """The entries of a folder."""
    entries = cast("Item", value).get("entries") if isinstance(value, dict) else None
    return [
        {"name": field(item, "name"), "type": field(item, "type"), "size": number(item, "size")}
        for item in objects(entries)
    ]


def folder_text(rows: Sequence[Item], provenance: str) -> str:
    return rows_text(rows, ("name", "type", "size"), provenance)


def code_rows(items: Iterable[Item]) -> list[Item]:
    """Files that a search found, each with the first piece of it that holds what was looked for."""
    return [
        {
            "repository": field(item, "repository", "full_name"),
            "path": field(item, "path"),
            "fragment": next((field(match, "fragment") for match in objects(item.get("text_matches"))), ""),
            "url": field(item, "html_url"),
        }
        for item in items
    ]


def repository_rows(items: Iterable[Item]) -> list[Item]:
    return [
        {
            "repository": field(item, "full_name"),
            "description": field(item, "description"),
            "language": field(item, "language"),
            "stars": number(item, "stargazers_count"),
            "updated": field(item, "pushed_at"),
            "url": field(item, "html_url"),
        }
        for item in items
    ]


def rows_text(rows: Sequence[Item], columns: Sequence[str], provenance: str) -> str:
    """A line for each row, of which no cell can begin another."""
    return render_table(columns, ([cell(row[column]) for column in columns] for row in rows), provenance)


def cell(value: object) -> str:
    return ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
