"""Tools that read GitHub: issues, pull requests, comments, files, searches.

Counts, states and page numbers are ours to say. Titles, texts, names, labels, paths and messages are whoever's who may write
to a repository, which for a public one is everybody.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, final

from pydantic import BaseModel, ConfigDict, Field

from connectors import _github_shapes as shapes
from connectors._decoding import decode_text, sniff_image
from connectors._paging import counted, page_of, span
from connectors._rest import Answer, Credential, Query, Service, word
from connectors.ingress import NetworkRules
from registry import AnyTool, Foreign, Media, MixedReply, ToolDef, ToolInput, refuse, reply
from registry.errors import ForeignError, IngressRefused

__all__ = [
    "ListComments",
    "ListIssues",
    "ListPulls",
    "ReadDiff",
    "ReadFile",
    "ReadIssue",
    "ReadPull",
    "Search",
    "tools",
]

FactsT = TypeVar("FactsT", bound=BaseModel)

PUBLIC: Final = NetworkRules()
HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
# The words of the media type decide what a file comes as; as an object, a folder is told from a file by a word of its own.
AS_OBJECT: Final = {"Accept": "application/vnd.github.object+json"}
AS_RAW: Final = {"Accept": "application/vnd.github.raw+json"}
AS_DIFF: Final = {"Accept": "application/vnd.github.diff"}
WITH_MATCHES: Final = {"Accept": "application/vnd.github.text-match+json"}
NEXT: Final = re.compile(r'rel="?next\b')

# No name is '.' or '..', so none leads out of its place in a path. GitHub has names that begin with one dot.
REPO: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[.]?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$"
Repo = Annotated[str, Field(pattern=REPO, description="The repository, as owner/name.")]
Number = Annotated[int, Field(ge=1, le=2**31, description="The number behind the '#'.")]
PageNumber = Annotated[int, Field(ge=1, le=10_000, description="Which page.")]
State: TypeAlias = Literal["open", "closed", "all"]
SearchKind: TypeAlias = Literal["issues", "code", "repositories"]


class ListIssues(ToolInput):
    """What `github_list_issues` takes."""

    repo: Repo
    state: State = Field(default="open", description="Which issues.")
    label: str | None = Field(default=None, min_length=1, max_length=100, description="Only issues with this label.")
    page: PageNumber = 1
    limit: int = Field(default=30, ge=1, le=100, description="How many entries a page has, pull requests counted.")


class ListPulls(ToolInput):
    """What `github_list_pulls` takes."""

    repo: Repo
    state: State = Field(default="open", description="Which pull requests.")
    page: PageNumber = 1
    limit: int = Field(default=30, ge=1, le=100, description="How many pull requests a page has.")


class ReadIssue(ToolInput):
    """What `github_read_issue` takes."""

    repo: Repo
    number: Number
    offset: int = Field(default=0, ge=0, description="How many characters of the text to skip.")
    limit: int = Field(default=8000, ge=1, le=50_000, description="How many characters of the text to show at most.")


class ReadPull(ToolInput):
    """What `github_read_pull` takes."""

    repo: Repo
    number: Number
    offset: int = Field(default=0, ge=0, description="How many characters of the text to skip.")
    limit: int = Field(default=8000, ge=1, le=50_000, description="How many characters of the text to show at most.")


class ReadDiff(ToolInput):
    """What `github_read_diff` takes."""

    repo: Repo
    number: Number
    offset: int = Field(default=0, ge=0, description="How many characters of the diff to skip.")
    limit: int = Field(default=8000, ge=1, le=50_000, description="How many characters of the diff to show at most.")


class ListComments(ToolInput):
    """What `github_list_comments` takes."""

    repo: Repo
    number: Number
    kind: Literal["conversation", "review"] = Field(
        default="conversation",
        description="Comments on an issue or a pull request, or those on lines of a pull request's changes.",
    )
    page: PageNumber = 1
    limit: int = Field(default=20, ge=1, le=100, description="How many comments a page has.")
    chars: int = Field(
        default=1500, ge=1, le=65_536, description="How many characters of each comment to show at most."
    )


class ReadFile(ToolInput):
    """What `github_read_file` takes."""

    repo: Repo
    path: str = Field(
        default="",
        max_length=4096,
        description="The file or folder, with '/' between the parts and without a leading '/'. Empty for the root.",
    )
    ref: str | None = Field(
        default=None,
        min_length=1,
        max_length=255,
        description="A branch, a tag or a commit; the default branch without it.",
    )
    offset: int = Field(default=0, ge=0, description="How many characters of a file, or entries of a folder, to skip.")
    limit: int = Field(
        default=8000,
        ge=1,
        le=50_000,
        description="How many characters of a file, or entries of a folder, to show at most.",
    )


class Search(ToolInput):
    """What `github_search` takes."""

    kind: SearchKind = Field(description="What to look for. Issues are issues and pull requests.")
    query: str = Field(
        min_length=1,
        max_length=256,
        description="Words and qualifiers of GitHub's search, such as 'repo:owner/name is:issue is:open crash'.",
    )
    page: PageNumber = 1
    limit: int = Field(default=20, ge=1, le=100, description="How many results a page has.")


def tools(
    *,
    secrets: Callable[[str], str] | None,
    secret: str = "github",  # noqa: S107  # a name
    server: str = "https://api.github.com",
    rules: NetworkRules = PUBLIC,
) -> tuple[AnyTool, ...]:
    """Make the tools. What they may read is what the token may; give it no more than that.

    Args:
        secrets: gives the token by its name, when a call needs it; None asks without one, which GitHub limits to 60 requests
            an hour.
        secret: the name of the token.
        server: the address of the REST API; `https://HOST/api/v3` for a server of your own.
        rules: how far requests may reach; the default is the public internet.

    Raises:
        DeclarationError: the address or the rules cannot be used.
    """
    credential = (
        None if secrets is None else Credential(give=secrets, name=secret, header="Authorization", scheme="Bearer")
    )
    hub = GitHub(
        Service(
            connector="connectors.github",
            name="GitHub",
            server=server,
            rules=rules,
            credential=credential,
            headers=HEADERS,
        )
    )
    return (
        ToolDef(
            name="github_list_issues",
            description="List the issues of a repository, newest first.",
            input=ListIssues,
            handler=hub.list_issues,
            untrusted_output=issues_origin,
            effect="read",
        ),
        ToolDef(
            name="github_list_pulls",
            description="List the pull requests of a repository, newest first.",
            input=ListPulls,
            handler=hub.list_pulls,
            untrusted_output=pulls_origin,
            effect="read",
        ),
        ToolDef(
            name="github_read_issue",
            description="Read an issue: its title, labels and text.",
            input=ReadIssue,
            handler=hub.read_issue,
            untrusted_output=issue_origin,
            effect="read",
        ),
        ToolDef(
            name="github_read_pull",
            description="Read a pull request: its title, labels, branches and text.",
            input=ReadPull,
            handler=hub.read_pull,
            untrusted_output=pull_origin,
            effect="read",
        ),
        ToolDef(
            name="github_read_diff",
            description="Read the changes of a pull request as a diff.",
            input=ReadDiff,
            handler=hub.read_diff,
            untrusted_output=diff_origin,
            effect="read",
        ),
        ToolDef(
            name="github_list_comments",
            description="List the comments on an issue or a pull request, oldest first.",
            input=ListComments,
            handler=hub.list_comments,
            untrusted_output=comments_origin,
            effect="read",
        ),
        ToolDef(
            name="github_read_file",
            description="Read a file of a repository, or list a folder.",
            input=ReadFile,
            handler=hub.read_file,
            untrusted_output=file_origin,
            effect="read",
        ),
        ToolDef(
            name="github_search",
            description="Search GitHub for issues and pull requests, code or repositories.",
            input=Search,
            handler=hub.search,
            untrusted_output=search_origin,
            effect="read",
        ),
    )


# -- who chose the bytes -------------------------------------------------------------------------------------------


def issues_origin(request: ListIssues) -> str:
    return f"issues of {request.repo}"


def pulls_origin(request: ListPulls) -> str:
    return f"pull requests of {request.repo}"


def issue_origin(request: ReadIssue) -> str:
    return f"issue {request.number} in {request.repo}"


def pull_origin(request: ReadPull) -> str:
    return f"pull request {request.number} in {request.repo}"


def diff_origin(request: ReadDiff) -> str:
    return f"changes of pull request {request.number} in {request.repo}"


def comments_origin(request: ListComments) -> str:
    return f"comments on {request.number} in {request.repo}"


def file_origin(request: ReadFile) -> str:
    at = "" if request.ref is None else f" at {request.ref}"
    return f"{request.path or 'the root'} in {request.repo}{at}"


def search_origin(request: Search) -> str:
    """Without the query: origins stand in the audit."""
    return f"{request.kind} found by GitHub"


# -- what is ours about an answer ----------------------------------------------------------------------------------


class Facts(BaseModel):
    """What may be said in our words of an issue or a pull request."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    number: int = Field(ge=1, le=2**31)
    state: Literal["open", "closed"]
    comments: int = Field(ge=0, le=10**9)


class PullFacts(Facts):
    """What may be said in our words of a pull request."""

    draft: bool = False
    merged: bool = False
    commits: int = Field(ge=0, le=10**9)
    changed_files: int = Field(ge=0, le=10**9)
    additions: int = Field(ge=0, le=10**9)
    deletions: int = Field(ge=0, le=10**9)


class Found(BaseModel):
    """What may be said in our words of a search."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    total_count: int = Field(ge=0, le=10**12)
    incomplete_results: bool


@final
class GitHub:
    """The handlers, over one service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def ask(
        self,
        repo: str,
        *steps: str,
        origin: str,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask for something of a repository.

        Raises:
            IngressRefused: `not_found`, or what the way in refuses.
            ToolFailed: GitHub answered with another status than 200.
        """
        owner, _, name = repo.partition("/")
        path = ("repos", owner, name, *steps)
        return expected(await self.service.ask(*path, origin=origin, query=query, headers=headers))

    async def list_issues(self, request: ListIssues) -> MixedReply:
        query: Query = {
            "state": request.state,
            "labels": request.label,
            "per_page": request.limit,
            "page": request.page,
        }
        try:
            answer = await self.ask(request.repo, "issues", origin=issues_origin(request), query=query)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        every = list_in(answer)
        rows = every.map(shapes.issues_of).map(shapes.issue_rows)
        total = rows.measure(len)
        words = [
            f"{counted(total, f'{which(request.state)}issue')} on page {request.page}{more(answer, request.page)}."
        ]
        pulls = every.measure(lambda items: len(shapes.items_of(items))) - total
        if pulls:
            words.append(f"{counted(pulls, 'pull request')} of the page left out.")
        columns = ("number", "title", "state", "author", "comments", "updated", "labels")
        table = rows.map(lambda items: shapes.rows_text(items, columns, request.repo))
        return reply(" ".join(words), table, data=rows.map(lambda items: {"issues": items}))

    async def list_pulls(self, request: ListPulls) -> MixedReply:
        query: Query = {"state": request.state, "per_page": request.limit, "page": request.page}
        try:
            answer = await self.ask(request.repo, "pulls", origin=pulls_origin(request), query=query)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        rows = list_in(answer).map(shapes.items_of).map(shapes.pull_rows)
        head = (
            f"{counted(rows.measure(len), f'{which(request.state)}pull request')} on page {request.page}"
            f"{more(answer, request.page)}."
        )
        columns = ("number", "title", "state", "author", "updated", "from", "into", "labels")
        table = rows.map(lambda items: shapes.rows_text(items, columns, request.repo))
        return reply(head, table, data=rows.map(lambda items: {"pulls": items}))

    async def read_issue(self, request: ReadIssue) -> MixedReply:
        try:
            answer = await self.ask(request.repo, "issues", str(request.number), origin=issue_origin(request))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        item = answer.json()
        facts = facts_in(answer, item, Facts)
        what = "Pull request" if item.measure(lambda issue: "pull_request" in issue) else "Issue"
        where, body = page_of(item.map(lambda issue: word(issue, "body")), request.offset, request.limit)
        fields = item.map(shapes.issue_fields)
        head = f"{what} {facts.number} is {facts.state}, with {counted(facts.comments, 'comment')}; its text: {where}."
        return opened(head, fields, body)

    async def read_pull(self, request: ReadPull) -> MixedReply:
        try:
            answer = await self.ask(request.repo, "pulls", str(request.number), origin=pull_origin(request))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        item = answer.json()
        facts = facts_in(answer, item, PullFacts)
        where, body = page_of(item.map(lambda pull: word(pull, "body")), request.offset, request.limit)
        fields = item.map(shapes.pull_fields)
        state = "merged" if facts.merged else f"{facts.state}{' and a draft' if facts.draft else ''}"
        head = (
            f"Pull request {facts.number} is {state}, with {counted(facts.comments, 'comment')}, "
            f"{counted(facts.commits, 'commit')} and {counted(facts.changed_files, 'changed file')} "
            f"(+{facts.additions} -{facts.deletions} lines); its text: {where}."
        )
        return opened(head, fields, body)

    async def read_diff(self, request: ReadDiff) -> MixedReply:
        try:
            answer = await self.ask(
                request.repo, "pulls", str(request.number), origin=diff_origin(request), headers=AS_DIFF
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        where, part = page_of(answer.text(), request.offset, request.limit)
        return reply(f"The diff: {where}.", part)

    async def list_comments(self, request: ListComments) -> MixedReply:
        place = "issues" if request.kind == "conversation" else "pulls"
        query: Query = {"per_page": request.limit, "page": request.page}
        try:
            answer = await self.ask(
                request.repo, place, str(request.number), "comments", origin=comments_origin(request), query=query
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        rows = list_in(answer).map(shapes.items_of).map(lambda items: shapes.comment_rows(items, request.chars))
        words = [f"{counted(rows.measure(len), 'comment')} on page {request.page}{more(answer, request.page)}."]
        cut = rows.measure(lambda items: sum(row["length"] != len(str(row["body"])) for row in items))
        if cut:
            words.append(f"{cut} cut after {request.chars} characters.")
        return reply(" ".join(words), rows.map(shapes.comments_text), data=rows.map(lambda items: {"comments": items}))

    async def read_file(self, request: ReadFile) -> MixedReply:
        origin = file_origin(request)
        steps = ("contents", *request.path.split("/")) if request.path else ("contents",)
        query: Query = {"ref": request.ref}
        try:
            answer = await self.ask(request.repo, *steps, origin=origin, query=query, headers=AS_OBJECT)
            item = answer.json()
            kind = item.map(lambda found: word(found, "type")).one_of("file", "dir", "symlink", "submodule")
            encoding = item.map(lambda found: word(found, "encoding")).one_of("base64", "none")
            if kind == "file" and encoding == "none":  # larger than a megabyte
                raw = await self.ask(request.repo, *steps, origin=origin, query=query, headers=AS_RAW)
                return shown_file(raw.fetched.body, raw, request)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        if kind == "dir":
            return shown_folder(item, request)
        if kind == "file" and encoding == "base64":
            return shown_file(decoded(answer, item), answer, request)
        if kind == "symlink":
            return reply("A symbolic link. It leads to:", item.map(lambda found: word(found, "target")))
        if kind == "submodule":
            return reply("A submodule. Its repository:", item.map(lambda found: word(found, "submodule_git_url")))
        raise answer.failure("The answer of GitHub is neither a file nor a folder.")

    async def search(self, request: Search) -> MixedReply:
        origin = search_origin(request)
        query: Query = {"q": request.query, "per_page": request.limit, "page": request.page}
        lane = "code_search" if request.kind == "code" else "search"
        try:
            answer = expected(
                await self.service.ask(
                    "search", request.kind, origin=origin, query=query, headers=WITH_MATCHES, lane=lane
                )
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        body = answer.json()
        facts = facts_in(answer, body, Found)
        make, columns = SEARCHES[request.kind]
        rows = body.map(shapes.items_of).map(make)
        start = (request.page - 1) * request.limit
        again = f"ask again with page={request.page + 1} for more"
        words = [f"Found: {span('results', start, start + rows.measure(len), facts.total_count, again)}."]
        if facts.incomplete_results:
            words.append("GitHub ran out of time, so there may be more.")
        table = rows.map(lambda items: shapes.rows_text(items, columns, "GitHub"))
        return reply(" ".join(words), table, data=rows.map(lambda items: {"results": items}))


SEARCHES: Final[Mapping[SearchKind, tuple[shapes.Rows, tuple[str, ...]]]] = {
    "issues": (shapes.issue_rows, ("repository", "number", "title", "state", "author", "updated", "labels")),
    "code": (shapes.code_rows, ("repository", "path", "fragment")),
    "repositories": (shapes.repository_rows, ("repository", "description", "language", "stars", "updated")),
}


def expected(answer: Answer) -> Answer:
    """Hand on an answer with status 200.

    Raises:
        IngressRefused: `not_found`.
        ToolFailed: any other status.
    """
    if answer.status in (404, 410):
        raise IngressRefused(
            "not_found", "GitHub has no such thing, or does not show it to this deployment. Ask for another one."
        )
    if answer.status == 422:
        raise answer.failure("GitHub cannot make sense of the query or the arguments (status 422).")
    if answer.status != 200:
        raise answer.unexpected()
    return answer


def list_in(answer: Answer) -> Foreign[Any]:
    body = answer.json()
    if not body.measure(lambda value: isinstance(value, list)):
        raise answer.failure("The answer of GitHub is not a list.")
    return body


def facts_in(answer: Answer, body: Foreign[Any], model: type[FactsT]) -> FactsT:
    try:
        return body.narrow(model)
    except ForeignError:
        failure = answer.failure("The answer of GitHub is not what it should be.")
    raise failure


def which(state: State) -> str:
    return "" if state == "all" else f"{state} "


def more(answer: Answer, page: int) -> str:
    """Whether there is a next page. Its address is theirs, and is not asked for: pages are counted."""
    has_next = answer.fetched.header("link").measure(lambda link: NEXT.search(link) is not None)
    return f"; ask again with page={page + 1} for more" if has_next else ""


def opened(head: str, fields: Foreign[shapes.Item], body: Foreign[str]) -> MixedReply:
    text = fields.map(lambda item: body.map(lambda part: shapes.opening_text(item, part)))
    return reply(head, text, data=fields.map(lambda item: body.map(lambda part: {**item, "body": part})))


def decoded(answer: Answer, item: Foreign[Any]) -> Foreign[bytes]:
    try:
        return item.map(lambda found: base64.b64decode(word(found, "content")))
    except ForeignError:
        failure = answer.failure("The file in the answer of GitHub cannot be decoded.")
    raise failure


def shown_file(content: Foreign[bytes], answer: Answer, request: ReadFile) -> MixedReply:
    size = counted(content.measure(len), "byte")
    mime = content.map(lambda body: sniff_image(body) or "").one_of(
        "image/png", "image/jpeg", "image/gif", "image/webp"
    )
    if mime is not None:
        return reply(f"An {mime} of {size}.", content.map(lambda body: Media(body, mime)))
    text = content.map(lambda body: decode_text(body, "utf-8")).map(answer.secrets.hide)
    if text.measure(lambda whole: "\0" in whole):
        return refuse("not_text", f"The file holds {size} that are not text, so it is not shown.")
    where, part = page_of(text, request.offset, request.limit)
    return reply(f"A file of {size}, {where}.", part)


def shown_folder(item: Foreign[Any], request: ReadFile) -> MixedReply:
    entries = item.map(shapes.entries_of)
    total = entries.measure(len)
    end = min(request.offset + request.limit, total)
    shown = entries.map(lambda rows: rows[request.offset : end])
    text = shown.map(lambda rows: shapes.folder_text(rows, request.repo))
    return reply(
        f"A folder, {span('entries', request.offset, end, total)}.",
        text,
        data=shown.map(lambda rows: {"entries": rows}),
    )
