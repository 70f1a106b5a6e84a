"""Tools over a terminal: what git says of a repository, what a tmux pane shows, and the programs that a deployment named.

No shell, and git and tmux change nothing.

A repository is text that somebody else wrote, its `.git/config` included, and git runs programs that a configuration names.
`GitRun` is the one place that starts git, and it leaves no such name standing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, final

from pydantic import Field

from connectors._paging import as_text, page_of, span
from connectors._process import run_process
from connectors._runs import Programs
from registry import AnyTool, Foreign, MixedReply, OwnReply, ToolDef, ToolInput, refuse, reply
from registry.errors import DeclarationError, IngressRefused, ToolFailed

__all__ = [
    "GitDiff",
    "GitLog",
    "GitShow",
    "GitStatus",
    "Programs",
    "ReadProgram",
    "StartProgram",
    "StopProgram",
    "TmuxPane",
    "program_tools",
    "tools",
]

MAX_OUTPUT: Final = 20_000_000
GIT_S: Final = 30.0

REVISION = "A commit, branch or tag, such as HEAD~2, or a range such as main..HEAD."
PATH = "Only this file or folder, relative to the repository, without '..'. Empty for all."


class GitLog(ToolInput):
    """What `git_log` takes."""

    revision: str = Field(default="HEAD", max_length=200, description=REVISION)
    path: str = Field(default="", max_length=4096, description=PATH)
    offset: int = Field(default=0, ge=0, description="How many commits to skip.")
    limit: int = Field(default=20, ge=1, le=200, description="How many commits to show at most.")


class GitShow(ToolInput):
    """What `git_show` takes."""

    revision: str = Field(default="HEAD", max_length=200, description="A commit or tag, such as HEAD~2.")
    path: str = Field(default="", max_length=4096, description=PATH)
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")


class GitDiff(ToolInput):
    """What `git_diff` takes."""

    revision: str = Field(
        default="",
        max_length=200,
        description="A commit to compare the files with, or a range such as main..HEAD. Empty compares with the index.",
    )
    staged: bool = Field(default=False, description="Whether to show what is staged, instead of what is not.")
    path: str = Field(default="", max_length=4096, description=PATH)
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")


class GitStatus(ToolInput):
    """What `git_status` takes."""

    path: str = Field(default="", max_length=4096, description=PATH)
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")


class TmuxPane(ToolInput):
    """What `tmux_pane` takes."""

    target: str = Field(max_length=100, description="The pane: %3, or session, session:window or session:window.pane.")
    history: int = Field(default=0, ge=0, le=10_000, description="How many lines above the visible ones to show too.")
    offset: int = Field(default=0, ge=0, description="How many characters to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")


class StartProgram(ToolInput):
    """What `start_program` takes."""

    program: str = Field(max_length=40, description="The name of the program.")


class ReadProgram(ToolInput):
    """What `read_program` takes."""

    run: int = Field(ge=1, description="The number of the run, as start_program says it.")
    offset: int = Field(default=0, ge=0, description="How many characters of what is kept to skip.")
    limit: int = Field(default=8000, ge=1, le=100_000, description="How many characters to show at most.")


class StopProgram(ToolInput):
    """What `stop_program` takes."""

    run: int = Field(ge=1, description="The number of the run, as start_program says it.")


def program_tools(programs: Programs) -> tuple[AnyTool, ...]:
    """Make the tools that start, read and stop the programs which the deployment named.

    Args:
        programs: what may run; the caller closes it.

    Raises:
        DeclarationError: `programs` is something else.
    """
    if not isinstance(cast("object", programs), Programs):
        raise DeclarationError("connectors.terminal: programs is not a Programs. Write Programs({...}, folder=...).")

    def start_program(request: StartProgram) -> OwnReply:
        try:
            number = programs.start(request.program)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return reply(f"Run {number} has started. read_program shows what it prints.")

    def read_program(request: ReadProgram) -> MixedReply:
        try:
            seen = programs.look(request.run)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        head = f"Run {request.run} is running" if seen.state == "running" else f"Run {request.run}: {seen.state}"
        if seen.exit_code is not None:
            head += f", exit code {seen.exit_code}"
        if seen.total > seen.kept:
            head += f", its first {seen.total - seen.kept} bytes are not kept"
        where, part = page_of(seen.text, request.offset, request.limit)
        return reply(f"{head}, {where}.", part)

    def stop_program(request: StopProgram) -> OwnReply:
        try:
            programs.stop(request.run)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return reply(f"Run {request.run} is over.")

    return (
        ToolDef(
            name="start_program",
            description=f"Start one of these programs, which goes on after the call: {programs.names()}.",
            input=StartProgram,
            handler=start_program,
            untrusted_output=False,
            effect="write",
        ),
        ToolDef(
            name="read_program",
            description="Show what a program that was started has printed so far, and whether it has ended.",
            input=ReadProgram,
            handler=read_program,
            untrusted_output=lambda request: f"program run {request.run}",
            effect="read",
        ),
        ToolDef(
            name="stop_program",
            description="End a program that was started, with all that it has started itself.",
            input=StopProgram,
            handler=stop_program,
            untrusted_output=False,
            effect="write",
        ),
    )


def tools(repository: Path, *, tmux_socket: str = "default") -> tuple[AnyTool, ...]:
    """Make the terminal tools.

    Args:
        repository: a work tree with its own `.git` folder (not a linked work tree, a submodule or a bare repository).
        tmux_socket: the name of the tmux server, as `tmux -L` takes it.

    Raises:
        DeclarationError: the repository or the socket name is not of that kind.
    """
    if not isinstance(cast("object", repository), Path):
        raise DeclarationError("connectors.terminal: repository is not a Path. Write Path(...) of a repository.")
    git = GitRun(repository=repository)
    git.check()
    if not SOCKET.match(tmux_socket):
        raise DeclarationError(
            "connectors.terminal: tmux_socket is not a name. Write letters, digits, '_' and '-', as `tmux -L` takes it."
        )
    name = repository.resolve().name

    async def git_log(request: GitLog) -> MixedReply:
        try:
            scope = [*revision_of(request.revision), "--", *path_of(request.path)]
            counted = await git.run("rev-list", "--count", *scope)
            page = [f"--skip={request.offset}", f"--max-count={request.limit}"]
            found = await git.run("log", *page, *LOG_OPTIONS, LOG_FORMAT, *scope)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        total = counted.measure(int)
        head = span("commits", request.offset, min(request.offset + request.limit, total), total)
        return reply(sentence(head), found)

    async def git_show(request: GitShow) -> MixedReply:
        try:
            scope = [*revision_of(request.revision), "--", *path_of(request.path)]
            found = await git.run("show", *LOG_OPTIONS, "--format=fuller", "--stat", "--patch", *DIFF_OPTIONS, *scope)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return paged(found, request.offset, request.limit)

    async def git_diff(request: GitDiff) -> MixedReply:
        try:
            staged = ["--cached"] if request.staged else []
            scope = [*revision_of(request.revision), "--", *path_of(request.path)]
            found = await git.run("diff", *staged, "--stat", "--patch", *DIFF_OPTIONS, *scope)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return paged(found, request.offset, request.limit)

    async def git_status(request: GitStatus) -> MixedReply:
        try:
            found = await git.run("status", *STATUS_OPTIONS, "--", *path_of(request.path))
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return paged(found, request.offset, request.limit)

    async def tmux_pane(request: TmuxPane) -> MixedReply:
        if not TARGET.match(request.target):
            return refuse(
                "target_refused",
                "The target does not name a pane. Write %3, session, session:window or session:window.pane, of letters, "
                "digits, '_' and '-', without a leading '-'.",
            )
        try:
            found = await capture(tmux_socket, request)
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        return paged(found, request.offset, request.limit)

    origin = f"git repository {name}" if any(map(str.isalnum, name)) else "git repository"
    return (
        ToolDef(
            name="git_log",
            description="List commits, newest first, a page at a time.",
            input=GitLog,
            handler=git_log,
            untrusted_output=origin,
            effect="read",
        ),
        ToolDef(
            name="git_show",
            description="Show a commit: its message and its changes.",
            input=GitShow,
            handler=git_show,
            untrusted_output=origin,
            effect="read",
        ),
        ToolDef(
            name="git_diff",
            description="Show changes: of the files, of what is staged, or between commits.",
            input=GitDiff,
            handler=git_diff,
            untrusted_output=origin,
            effect="read",
        ),
        ToolDef(
            name="git_status",
            description="Show the branch, and which files are changed, staged or unknown to git.",
            input=GitStatus,
            handler=git_status,
            untrusted_output=origin,
            effect="read",
        ),
        ToolDef(
            name="tmux_pane",
            description="Show what a tmux pane shows.",
            input=TmuxPane,
            handler=tmux_pane,
            untrusted_output=lambda request: f"tmux pane {request.target}",
            effect="read",
        ),
    )


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def paged(text: Foreign[str], offset: int, limit: int) -> MixedReply:
    where, part = page_of(text, offset, limit)
    return reply(sentence(where), part)


# -- arguments -----------------------------------------------------------------------------------------------------

# No leading '-' (an option), no ':' (a path inside, or a search), no blank, no pattern. `@{...}` holds a number or 'u'.
REVISION_FORM: Final = re.compile(r"(?:[\w./+~^]|@(?:\{(?:-?\d{1,9}|u|upstream|push)\})?|(?<=[\w./+~^@])-){1,200}\Z")
SOCKET: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}\Z")
TARGET: Final = re.compile(r"(?:%\d{1,9}|[A-Za-z0-9_][A-Za-z0-9_-]*(?::[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.\d{1,9})?)?)\Z")


def revision_of(revision: str) -> list[str]:
    """The arguments for a revision. `--end-of-options` says once more that it is none."""
    if not revision:
        return []
    if not REVISION_FORM.match(revision):
        raise IngressRefused(
            "revision_refused",
            "The revision is not of the plain form. Write a commit, branch or tag such as HEAD~2, or a range such as "
            "main..HEAD, of letters, digits and . / _ - ~ ^ @, without a leading '-'.",
        )
    return ["--end-of-options", revision]


def path_of(path: str) -> list[str]:
    """The argument for a path, taken literally. One outside of the work tree would make `git diff` read any file."""
    if not path:
        return []
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        raise IngressRefused(
            "path_refused",
            "The path leads out of the repository or cannot be one. Write it relative to the repository, without '..'.",
        )
    return [path]


# -- git -----------------------------------------------------------------------------------------------------------

LOG_OPTIONS: Final = ("--no-color", "--no-show-signature", "--no-mailmap", "--no-notes", "--decorate=short")
LOG_FORMAT: Final = "--format=%h %ad %an%d%n    %s"
DIFF_OPTIONS: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short")
STATUS_OPTIONS: Final = ("--branch", "--short", "--ignore-submodules=all", "--untracked-files=normal", "--no-renames")

# Settings that hold for every repository, whatever its own configuration says. See docs/reference/connectors/terminal.md.
SAFE: Final = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "false"),
    ("core.untrackedCache", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.orderFile", os.devnull),
    ("diff.submodule", "short"),
    ("diff.ignoreSubmodules", "all"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("log.showSignature", "false"),
    ("log.diffMerges", "separate"),
    ("log.date", "iso-strict"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("protocol.allow", "never"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
)
# Settings whose names a repository makes up: `filter.<any>.clean` and the like. Each one that is found is set to nothing.
RUNS: Final = re.compile(
    r"(?:filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|merge\..*\.driver|pager\..*"
    r"|.*\.(?:uploadpack|receivepack|vcs|program|helper|proxy|sshcommand))\Z",
    re.IGNORECASE | re.DOTALL,
)
REQUIRED: Final = re.compile(r"filter\..*\.required\Z", re.IGNORECASE | re.DOTALL)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GitRun:
    """Runs git in one repository, with every program that its configuration could name taken out."""

    repository: Path

    def check(self) -> None:
        """Refuse a repository whose parts lie elsewhere: then its files would not be the ones that were allowed.

        Raises:
            DeclarationError: it has no `.git` folder of its own, or one that holds links or names another store.
        """
        found = self.elsewhere()
        if found is not None:
            raise DeclarationError(f"connectors.terminal: {found}")

    def elsewhere(self) -> str | None:
        """What of the repository lies elsewhere, and what to write instead; None where nothing does."""
        folder = self.repository / ".git"
        if folder.is_symlink() or not folder.is_dir() or (folder / "commondir").exists():
            return (
                "repository has no '.git' folder of its own. Write the folder of a repository, not of a linked work tree, a "
                "submodule or a bare repository."
            )
        if holds_links(folder):
            return (
                "a part of repository's '.git' folder is a link, so what it shows may be another repository's. Write the "
                "folder of a repository that holds its own objects and branches."
            )
        if names_stores(folder):
            return (
                "repository takes objects from another store (objects/info/alternates), so what it shows may be another "
                "repository's. Write the folder of one that holds its own objects; 'git repack -a -d' fetches them in, and "
                "then the file can go."
            )
        return None

    def environment(self, settings: Sequence[tuple[str, str]]) -> dict[str, str]:
        # As variables and not as `-c name=value`: a name that a repository made up may hold '=' itself, and would then
        # set something else.
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            variables[f"GIT_CONFIG_KEY_{number}"] = key
            variables[f"GIT_CONFIG_VALUE_{number}"] = value
        root = self.repository.resolve()
        return variables | {
            # Named outright, so that neither a parent folder's repository nor `core.worktree` is used. Git then does not ask
            # who owns the folder (safe.directory); that question guards against what is neutralised here.
            "GIT_DIR": str(root / ".git"),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            # What a hash names is what is shown: no object stands in for another one, and no parent for another.
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": os.devnull,
            "GIT_LITERAL_PATHSPECS": "1",
            # A partial clone would fetch a missing object, by a program that its configuration names.
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_SSH_COMMAND": "false",
            "GIT_PAGER": "cat",
            "GIT_ASKPASS": "false",
        }

    async def settings(self) -> list[tuple[str, str]]:
        """The settings for this repository. Reading a configuration runs nothing.

        Raises:
            ToolFailed: a part of the configuration, or what it names, lies elsewhere.
        """
        listed = await self.start(["git", "config", "--list", "--show-origin", "-z"], SAFE)
        # For this program alone: the names go back to git and nowhere else.
        fields = listed.for_program().split("\0")
        names: set[str] = set()
        for origin, entry in zip(fields[::2], fields[1::2], strict=False):
            name, _, value = entry.partition("\n")
            names.add(name)
            if origin.startswith("file:") and not self.holds(origin.removeprefix("file:")):
                raise ToolFailed(
                    "The repository's configuration includes a file outside of it, so it is not looked at."
                )
            if name == "extensions.refstorage" and value not in STORAGES:
                raise ToolFailed("The repository's configuration keeps branches elsewhere, so it is not looked at.")
        silenced = [(name, "") for name in sorted(names) if RUNS.match(name)]
        optional = [(name, "false") for name in sorted(names) if REQUIRED.match(name)]
        return [*SAFE, *silenced, *optional]

    def holds(self, path: str) -> bool:
        """Whether a file that git read lies below the repository, links resolved."""
        return Path(self.repository, path).resolve().is_relative_to(self.repository.resolve())

    async def run(self, command: str, *arguments: str) -> Foreign[str]:
        """Run one git command and return what it printed.

        Raises:
            IngressRefused: it printed too much, or an argument cannot be one.
            ToolFailed: the repository's parts lie elsewhere, or git ended with an error; what it said is the detail.
        """
        found = self.elsewhere()
        if found is not None:
            raise ToolFailed(f"This can no longer be shown: {found}")
        settings = await self.settings()
        if command in READS_FILES:
            await self.check_index(settings)
        return await self.start(["git", "--no-pager", "--no-optional-locks", command, *arguments], settings)

    async def check_index(self, settings: Sequence[tuple[str, str]]) -> None:
        """Refuse an index that names files outside of the work tree.

        Git makes no such index, and takes one that it is given at its word: `git diff` would show any file of the machine.

        Raises:
            ToolFailed: the index names one.
        """
        listed = await self.start(["git", "ls-files", "-z"], settings)
        if listed.measure(lambda paths: any(map(leads_out, paths.split("\0")[:-1]))):
            raise ToolFailed("The repository's index names a file outside of it, so it is not looked at.")

    async def start(self, argv: list[str], settings: Sequence[tuple[str, str]]) -> Foreign[str]:
        ran = await run_process(
            argv,
            cwd=self.repository,
            env=self.environment(settings),
            timeout_s=GIT_S,
            max_bytes=MAX_OUTPUT,
        )
        if ran.exit_code != 0:
            raise ToolFailed(f"git ended with exit code {ran.exit_code}.", as_text(ran.stderr))
        return as_text(ran.stdout)


# What looks at files of the work tree, or may take one for what the index says that it is.
READS_FILES: Final = frozenset({"diff", "show", "status"})
STORAGES: Final = frozenset({"files", "reftable"})

# What git reads below a `.git` folder, beside its own entries; of the objects, their folders and packs alone.
READ_BELOW: Final = frozenset({"refs", "reftable", "logs", "info", "worktrees"})
PACKS: Final = frozenset({"pack", "info"})


def holds_links(folder: Path) -> bool:
    """Whether a part of a `.git` folder may lie elsewhere. Its hooks may, since none is ever run here."""
    for at, folders, files in os.walk(folder):
        inside = Path(at).relative_to(folder).parts
        if any(Path(at, name).is_symlink() for name in (*folders, *files) if inside or name != "hooks"):
            return True
        if not inside:
            folders[:] = [name for name in folders if name in READ_BELOW or name == "objects"]
        elif inside == ("objects",):
            folders[:] = [name for name in folders if name in PACKS]
    return False


def names_stores(folder: Path) -> bool:
    """Whether a `.git` folder takes objects from elsewhere. Comments and blank lines name nothing."""
    try:
        lines = (folder / "objects" / "info" / "alternates").read_bytes().splitlines()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # what cannot be read by us may be read by git
    return any(line.strip() and not line.startswith(b"#") for line in lines)


def leads_out(path: str) -> bool:
    """Whether a path of the index is one that no work tree holds, or git's own folder."""
    return any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/"))


async def capture(socket: str, request: TmuxPane) -> Foreign[str]:
    first = f"-{request.history}" if request.history else "0"
    # -N: never start a server, whose configuration could run programs.
    argv = ["tmux", "-L", socket, "-N", "-f", os.devnull, "capture-pane", "-p", "-S", first, "-t", request.target]
    ran = await run_process(argv, timeout_s=10.0, max_bytes=MAX_OUTPUT)
    if ran.exit_code != 0:
        raise ToolFailed(f"tmux ended with exit code {ran.exit_code}.", as_text(ran.stderr))
    return as_text(ran.stdout)
