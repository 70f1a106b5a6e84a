"""What the composition root decides, once, for every surface. Forgetting a decision is a type error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, final, get_args

from registry._admission import Admission, is_number, is_whole
from registry._fence import FenceKey
from registry._foreign import shown
from registry._registry import Registry
from registry._tooldef import AnyTool
from registry.errors import DeclarationError

__all__ = ["REQUEST_ID", "AuditRecord", "Caller", "CatalogProse", "Deployment", "Permitted"]

CatalogProse: TypeAlias = Literal["quoted", "omitted"]
"""What becomes of descriptions that a third party wrote."""

log = logging.getLogger("hedgerow.audit")

# Set by the HTTP surface, around each request.
REQUEST_ID: ContextVar[str | None] = ContextVar("hedgerow_request_id", default=None)


@final
@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Args:
        id: for the audit, never shown to a model.
        grants: what this caller may use at most. They narrow a deployment's `Permitted`, and never widen it.
    """

    id: str
    grants: frozenset[str]


@final
@dataclass(frozen=True, slots=True, init=False)
class Permitted:
    """Which grants may be used. Made by `every` or `of`; there is no default, so none can be left open by mistake."""

    grants: frozenset[str] | None
    """The grants; None is every one."""

    def __init__(self) -> None:
        raise DeclarationError("Permitted: it says nothing yet. Write Permitted.every() or Permitted.of('a', 'b').")

    @classmethod
    def every(cls) -> Permitted:
        """Permit every tool."""
        return cls._made(None)

    @classmethod
    def of(cls, *grants: str) -> Permitted:
        """Permit the tools whose grant is named here (a tool's grant is its scope, else its name)."""
        for grant in cast("tuple[object, ...]", grants):
            if not isinstance(grant, str):
                raise DeclarationError(
                    f"Permitted.of: got {shown(grant)}. Write the grants as strings; unpack a list of them with *."
                )
        return cls._made(frozenset(grants))

    def allows(self, grant: str) -> bool:
        """Say whether a grant may be used."""
        return self.grants is None or grant in self.grants

    def narrowed(self, grants: frozenset[str]) -> Permitted:
        """Permit only what is in both."""
        return self._made(grants if self.grants is None else self.grants & grants)

    @classmethod
    def _made(cls, grants: frozenset[str] | None) -> Permitted:
        made = object.__new__(cls)
        object.__setattr__(made, "grants", grants)
        return made


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """What is remembered of a call. It holds no arguments and no results; an origin may name an address or a path."""

    tool: str | None
    """The tool's name; None when there is no tool of the name that was asked for."""
    caller: str | None
    """The caller's id; None is the process itself."""
    code: str
    """The outcome's code, or `cancelled` when the caller went away."""
    declared: str | Literal[False] | None
    """The declared origin for these arguments; None when the call did not get as far."""
    origins: tuple[str, ...]
    """Who chose the foreign bytes that were shown."""
    text_chars: int
    """The length of the text that was shown."""
    media_bytes: int
    """The size of the media that was shown."""
    duration_s: float
    """Seconds from the call to its outcome."""
    nested: bool
    """Whether a handler made the call."""
    request_id: str | None = None
    """The id of the request over HTTP that the call came in by, as the client knows it; None for any other call."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deployment:
    """Everything that holds for all calls. Every field is required.

    Raises:
        DeclarationError: a field is not what it must be, or the admission window is not shorter than the reply timeout
            (then nothing would ever be shed: the deadline would always come first).
    """

    tools: Registry
    """The tools there are."""
    permitted: Permitted | Callable[[Caller | None], Permitted]
    """Which grants may be used. A fixed `Permitted` holds for the process itself and is narrowed by the grants of a caller;
    a function decides for each caller alone (None is the process itself)."""
    admission: Admission
    """How many calls run at once; one for the whole process."""
    reply_timeout_s: float
    """For how many seconds a caller waits at most, admission included."""
    catalog_prose: CatalogProse
    """What becomes of descriptions that a third party wrote."""
    fence_key: FenceKey
    """What makes a fence unforgeable. Workers that share a conversation share it."""
    max_result_chars: int
    """The longest answer; a longer one is refused, never shortened."""
    max_media_bytes: int
    """The most media of one answer, in bytes; more is refused."""
    audit: Callable[[AuditRecord], None]
    """Gets one record per call. What it raises is logged and changes no outcome."""

    def __post_init__(self) -> None:
        check(isinstance(cast("object", self.tools), Registry), "tools", self.tools, "a Registry")
        is_permission = isinstance(self.permitted, Permitted) or callable(cast("object", self.permitted))
        check(
            is_permission,
            "permitted",
            self.permitted,
            "Permitted.every(), Permitted.of(...) or a function of the caller",
        )
        check(isinstance(cast("object", self.admission), Admission), "admission", self.admission, "an Admission")
        is_timeout = is_number(self.reply_timeout_s) and 0 < self.reply_timeout_s < float("inf")
        check(is_timeout, "reply_timeout_s", self.reply_timeout_s, "a number of seconds above 0")
        check(
            self.catalog_prose in get_args(CatalogProse), "catalog_prose", self.catalog_prose, "'quoted' or 'omitted'"
        )
        check(
            isinstance(cast("object", self.fence_key), FenceKey), "fence_key", None, "FenceKey.random() or .from_env()"
        )
        for name in ("max_result_chars", "max_media_bytes"):
            bound: object = getattr(self, name)
            check(is_whole(bound) and cast("int", bound) > 0, name, bound, "a whole number above 0")
        check(callable(cast("object", self.audit)), "audit", self.audit, "a function of an AuditRecord")
        if self.admission.window_s >= self.reply_timeout_s:
            raise DeclarationError(
                f"Deployment: the admission window ({self.admission.window_s} s) is not shorter than reply_timeout_s "
                f"({self.reply_timeout_s} s), so no call would ever be shed. Write a shorter window or a longer timeout."
            )

    @classmethod
    def single_user(cls, tools: Registry | Iterable[AnyTool], *, reply_timeout_s: float = 60) -> Deployment:
        """Deploy for one person on one machine, the posture of a script, a notebook or a desktop agent.

        Every tool is permitted. 8 calls run at once and a ninth waits 5 seconds (or half of the timeout, if that is less);
        an answer may take 60 seconds, 100,000 characters and 10 MB of media. Third-party descriptions are quoted. The fence
        key is random, so blocks verify in this process alone. The audit goes to the logger `hedgerow.audit` at level INFO.
        """
        return cls(
            tools=tools if isinstance(tools, Registry) else Registry(tools),
            permitted=Permitted.every(),
            admission=Admission(max_concurrent=8, window_s=min(5.0, reply_timeout_s / 2)),
            reply_timeout_s=reply_timeout_s,
            catalog_prose="quoted",
            fence_key=FenceKey.random(),
            max_result_chars=100_000,
            max_media_bytes=10_000_000,
            audit=log_audit,
        )

    def permitted_for(self, caller: Caller | None) -> Permitted:
        """Decide what a caller may use; the catalogue shows the same set."""
        if not isinstance(self.permitted, Permitted):
            return self.permitted(caller)
        return self.permitted if caller is None else self.permitted.narrowed(caller.grants)


def log_audit(record: AuditRecord) -> None:
    """Write a record to the logger `hedgerow.audit`."""
    log.info("%s", record)


def check(holds: bool, field: str, found: object, wanted: str) -> None:
    if not holds:
        raise DeclarationError(f"Deployment: {field} is {shown(found)}. Write {wanted}.")
