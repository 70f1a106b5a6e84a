"""What GitHub answers, in the shapes of its published description, with the texts of a test in every field that somebody
writes. The links of a thing to its parts are mostly left out: none is followed.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.support.servers import response

API = "https://api.github.com"


def account(login: str = "octocat") -> dict[str, Any]:
    return {
        "login": login,
        "id": 1,
        "node_id": "MDQ6VXNlcjE=",
        "avatar_url": "https://github.com/images/error/octocat_happy.gif",
        "gravatar_id": "",
        "url": f"{API}/users/octocat",
        "html_url": "https://github.com/octocat",
        "followers_url": f"{API}/users/octocat/followers",
        "following_url": f"{API}/users/octocat/following{{/other_user}}",
        "gists_url": f"{API}/users/octocat/gists{{/gist_id}}",
        "starred_url": f"{API}/users/octocat/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{API}/users/octocat/subscriptions",
        "organizations_url": f"{API}/users/octocat/orgs",
        "repos_url": f"{API}/users/octocat/repos",
        "events_url": f"{API}/users/octocat/events{{/privacy}}",
        "received_events_url": f"{API}/users/octocat/received_events",
        "type": "User",
        "site_admin": False,
    }


def label(name: str = "bug") -> dict[str, Any]:
    return {
        "id": 208045946,
        "node_id": "MDU6TGFiZWwyMDgwNDU5NDY=",
        "url": f"{API}/repos/octocat/Hello-World/labels/bug",
        "name": name,
        "description": "Something isn't working",
        "color": "f29513",
        "default": True,
    }


def issue(
    number: int = 1347,
    *,
    title: str = "Found a bug",
    body: str | None = "I'm having a problem with this.",
    login: str = "octocat",
    labels: tuple[str, ...] = ("bug",),
    assignees: tuple[str, ...] = (),
    state: str = "open",
    comments: int = 0,
    is_pull: bool = False,
    **more: Any,
) -> dict[str, Any]:
    url = f"{API}/repos/octocat/Hello-World/issues/{number}"
    pull = {
        "url": f"{API}/repos/octocat/Hello-World/pulls/{number}",
        "html_url": None,
        "diff_url": None,
        "patch_url": None,
    }
    return {
        "id": 1,
        "node_id": "MDU6SXNzdWUx",
        "url": url,
        "repository_url": f"{API}/repos/octocat/Hello-World",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": f"https://github.com/octocat/Hello-World/issues/{number}",
        "number": number,
        "state": state,
        "title": title,
        "body": body,
        "user": account(login),
        "labels": [label(name) for name in labels],
        "assignee": None,
        "assignees": [account(name) for name in assignees],
        "milestone": None,
        "locked": False,
        "comments": comments,
        "closed_at": None,
        "created_at": "2011-04-22T13:33:48Z",
        "updated_at": "2011-04-23T13:33:48Z",
        "author_association": "NONE",
        **({"pull_request": pull} if is_pull else {}),
        **more,
    }


def branch(name: str) -> dict[str, Any]:
    return {
        "label": name,
        "ref": name,
        "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "user": account(),
        "repo": None,
    }


def pull(
    number: int = 1347, *, head: str = "octocat:new-topic", base: str = "octocat:master", **more: Any
) -> dict[str, Any]:
    """A pull request as it is read alone, with its counts."""
    counts = {"commits": 3, "additions": 100, "deletions": 1, "changed_files": 5, "review_comments": 0}
    flags = {"draft": False, "merged": False, "mergeable": True, "rebaseable": True, "mergeable_state": "clean"}
    made = issue(number, comments=10)
    return {**made, "head": branch(head), "base": branch(base), **counts, **flags, "merged_at": None, **more}


def comment(body: str = "Me too", *, login: str = "octocat", **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "node_id": "MDEyOklzc3VlQ29tbWVudDE=",
        "url": f"{API}/repos/octocat/Hello-World/issues/comments/1",
        "html_url": "https://github.com/octocat/Hello-World/issues/1347#issuecomment-1",
        "issue_url": f"{API}/repos/octocat/Hello-World/issues/1347",
        "body": body,
        "user": account(login),
        "created_at": "2011-04-14T16:00:49Z",
        "updated_at": "2011-04-14T16:00:49Z",
        "author_association": "COLLABORATOR",
        **more,
    }


def review_comment(body: str, *, path: str) -> dict[str, Any]:
    hunk = "@@ -16,33 +16,40 @@ public class Connection : IConnection..."
    return comment(
        body, path=path, diff_hunk=hunk, line=2, side="RIGHT", commit_id="6dcb09b", pull_request_review_id=42
    )


def file(content: bytes, /, *, name: str = "README.md", **more: Any) -> dict[str, Any]:
    """A file as the media type `object` has it, its content in lines of 60 as GitHub writes them."""
    return {
        "type": "file",
        "encoding": "base64",
        "size": len(content),
        "name": name,
        "path": name,
        "content": base64.encodebytes(content).decode(),
        "sha": "3d21ec53a331a6f037a91c368710b99387d012c1",
        "url": f"{API}/repos/octokit/octokit.rb/contents/README.md",
        "git_url": f"{API}/repos/octokit/octokit.rb/git/blobs/3d21ec53a331a6f037a91c368710b99387d012c1",
        "html_url": "https://github.com/octokit/octokit.rb/blob/master/README.md",
        "download_url": "https://raw.githubusercontent.com/octokit/octokit.rb/master/README.md",
        "_links": {"git": None, "self": f"{API}/repos/octokit/octokit.rb/contents/README.md", "html": None},
        **more,
    }


def folder(*names: str) -> dict[str, Any]:
    entries = [
        {**file(b"", name=name), "type": "dir" if name.endswith("/") else "file", "size": 625, "content": None}
        for name in names
    ]
    return {**file(b""), "type": "dir", "entries": entries}


def found(*items: dict[str, Any], total: int, incomplete: bool = False) -> dict[str, Any]:
    return {"total_count": total, "incomplete_results": incomplete, "items": list(items)}


def code(path: str, *, repo: str, fragment: str) -> dict[str, Any]:
    match: dict[str, Any] = {
        "object_url": None,
        "object_type": None,
        "property": "content",
        "fragment": fragment,
        "matches": [],
    }
    return {
        "name": path,
        "path": path,
        "sha": "d7212f9dee2dcc18f084d7df8f417b80846ded5a",
        "html_url": "https://github.com/jquery/jquery/blob/x/src/attributes/classes.js",
        "repository": {"id": 167174, "full_name": repo, "private": False, "owner": account()},
        "score": 1.0,
        "text_matches": [match],
    }


def repository(name: str, *, description: str | None, language: str | None) -> dict[str, Any]:
    return {
        "id": 3081286,
        "name": name,
        "full_name": name,
        "owner": account(),
        "private": False,
        "html_url": "https://github.com/dtrupenn/Tetris",
        "description": description,
        "fork": False,
        "pushed_at": "2012-01-01T00:31:50Z",
        "stargazers_count": 1,
        "language": language,
        "score": 1.0,
    }


def answered(body: object, *, status: str = "200 OK", headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """An answer of the API with the headers that each has."""
    always = (
        ("Content-Type", "application/json; charset=utf-8"),
        ("X-RateLimit-Limit", "5000"),
        ("X-RateLimit-Remaining", "4999"),
        ("X-RateLimit-Reset", "1372700873"),
        ("X-RateLimit-Resource", "core"),
    )
    given = {name for name, _ in headers}
    kept = tuple((name, value) for name, value in always if name not in given)
    return response(json.dumps(body).encode(), status=status, headers=(*kept, *headers))


def problem(message: str, *, status: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": status[:3]}
    return answered(body, status=status, headers=headers)
