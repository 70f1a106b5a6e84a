"""The composition root as a file: `hedgerow.toml`, read once, for every surface of a process.

It decides what a deployment must have decided and has no default for that; what it does not know it refuses, for a setting
that is misspelled would leave open what somebody meant to close. It holds no secret, and no message here shows a value.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from registry._admission import Admission
from registry._deployment import CatalogProse, Deployment, Permitted, log_audit
from registry._fence import FenceKey
from registry._load import load_tools
from registry._registry import Registry
from registry.errors import DeclarationError, FenceError
from registry.surfaces._posture import posture
from registry.surfaces._tokens import Token, Tokens, digest_of

__all__ = ["FILE", "INSTALLED", "Composition", "HttpSettings", "Settings", "compose", "posture_of", "read_settings"]

FILE: Final = "hedgerow.toml"
INSTALLED: Final = "installed"
EVERY: Final = "every"
RANDOM: Final = "random"
SHORTEST_TOKEN: Final = 24

Seconds: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Wait: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Whole: TypeAlias = Annotated[int, Field(ge=1)]
Grants: TypeAlias = Literal["every"] | list[str]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Variable: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Section(BaseModel):
    """A table of the file. Closed, and as strict as TOML is: a number in quotes is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class AdmissionSettings(Section):
    """How many calls run at once, in the whole process."""

    max_concurrent: Whole
    """How many calls run at once."""
    window_s: Wait
    """For how many seconds a call waits for a place before it is shed."""


class InstanceSettings(Section):
    """A deployment with a name. What it leaves out is as in the whole file."""

    tools: list[str] | None = None
    """Its tools."""
    permitted: Grants | None = None
    """Which grants may be used in it: never more than in the whole file."""
    reply_timeout_s: Seconds | None = None
    """For how many seconds a caller waits at most."""
    max_result_chars: Whole | None = None
    """The longest answer."""
    max_media_bytes: Whole | None = None
    """The most media of one answer."""


class TokenSettings(Section):
    """Who may come in over HTTP."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The digest of the token, as `hedgerow token` prints it. Either this or `env`."""
    env: Variable | None = None
    """The environment variable that holds the token itself."""
    instances: list[str]
    """Which instances it opens."""
    grants: Grants
    """Which grants it has there at most."""


class HttpSettings(Section):
    """Where `hedgerow serve` listens, and its bounds."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """The port; 0 is a free one."""
    max_body_bytes: Annotated[int, Field(ge=2)] = 1_000_000
    """The largest body of a request."""
    head_timeout_s: Seconds = 10
    """For how many seconds the head of a request may be on its way, the first from the connection on."""
    body_timeout_s: Seconds = 30
    """For how many seconds a body may be on its way."""
    max_connections: Whole = 1000
    """How many clients may be connected."""
    lame_duck_s: Wait = 0
    """For how many seconds everything is served as before after SIGTERM, while `/readyz` says no."""
    drain_s: Wait = 30
    """For how many seconds at the end what is running may take to end."""


class Settings(Section):
    """The whole file."""

    tools: list[str]
    """Where tools are, each as `module:attribute`; `installed` is those of the installed connector packages."""
    permitted: Grants
    """Which grants may be used: `every`, or a list."""
    reply_timeout_s: Seconds
    """For how many seconds a caller waits at most, admission included."""
    catalog_prose: CatalogProse
    """What becomes of descriptions that a third party wrote."""
    fence_key: Annotated[str, Field(pattern=r"^(random|env:[A-Za-z_][A-Za-z0-9_]*)$")]
    """`random`, for this process alone, or `env:VARIABLE`, which several workers share."""
    max_result_chars: Whole
    """The longest answer; a longer one is refused."""
    max_media_bytes: Whole
    """The most media of one answer, in bytes."""
    admission: AdmissionSettings
    """How many calls run at once."""
    instances: Annotated[dict[Name, InstanceSettings], Field(min_length=1)] = {"main": InstanceSettings()}
    """The deployments by name; without it, one named `main`."""
    tokens: dict[Name, TokenSettings] = {}
    """Who may come in over HTTP, by a name for the audit."""
    http: HttpSettings = HttpSettings()
    """Where `hedgerow serve` listens."""


# -- reading -------------------------------------------------------------------------------------------------------


def read_settings(path: Path) -> Settings:
    """Read the file.

    Raises:
        DeclarationError: it cannot be read, is not TOML, or holds a setting that is unknown, missing or of another form;
            one sentence for each, without the value.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeclarationError(f"{path.name} cannot be read: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(f"{path.name} is not TOML: {error}.") from error
    except ValueError as error:
        raise DeclarationError(f"{path.name} is not in UTF-8.") from error
    try:
        return Settings.model_validate(found)
    except ValidationError as error:
        # What is written and not known comes first: it is often what is missing, misspelled.
        errors = sorted(
            error.errors(include_url=False, include_input=False), key=lambda one: one["type"] != "extra_forbidden"
        )
        raise DeclarationError("\n".join(dict.fromkeys(said(path.name, one) for one in errors))) from None


def said(file: str, error: ErrorDetails) -> str:
    """One sentence about one error."""
    way = [str(step) for step in error["loc"] if step not in ("function-after", "[key]")]
    # Of a union every branch complains; what follows the name of the setting is the branch.
    known = fields_at(way[:-1])
    where = ".".join(way)
    match error["type"]:
        case "extra_forbidden":
            near = get_close_matches(way[-1], known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
            return f"{file}: {where} is not a setting. {hint}"
        case "missing":
            return f"{file}: {where} is missing. Decide it; see the reference of the settings."
        case _:
            name = ".".join(way[:3] if way[0] in ("instances", "tokens") else way[: 2 if way[0] in NESTED else 1])
            return f"{file}: {name} is not of the form it must have. {FORMS.get(name.rpartition('.')[2], '')}".rstrip()


NESTED: Final = frozenset({"admission", "http"})
FORMS: Final[Mapping[str, str]] = {
    "tools": 'Write a list such as ["my_tools:TOOLS"].',
    "permitted": 'Write "every" or a list of grants.',
    "grants": 'Write "every" or a list of grants.',
    "catalog_prose": 'Write "quoted" or "omitted".',
    "fence_key": 'Write "random" or "env:VARIABLE".',
    "sha256": "Write the 64 hexadecimal digits that `hedgerow token` prints.",
    "env": "Write the name of an environment variable.",
    "instances": "Write at least one name of A-Z, a-z, 0-9, '.', '_' and '-'.",
    "host": 'Write an address such as "127.0.0.1".',
    "port": "Write a number from 0 to 65535.",
}


def fields_at(way: Iterable[str]) -> list[str]:
    """The settings of the table that a way leads to."""
    model: Any = Settings
    for step in way:
        table = {"admission": AdmissionSettings, "http": HttpSettings, "instances": None, "tokens": None}
        inside = {"instances": InstanceSettings, "tokens": TokenSettings}
        model = inside.get(model, model) if isinstance(model, str) else (table.get(step, model) or step)
    return [] if isinstance(model, str) else list(cast("type[BaseModel]", model).model_fields)


# -- composing -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """What a process serves, on whatever surfaces: one admission and one fence key for all of it."""

    deployments: Mapping[str, Deployment]
    """The deployments, by the name of the instance."""
    admission: Admission
    """The one bound of the process."""
    tokens: Tokens | None
    """Who may come in over HTTP; None when the file names nobody."""
    http: HttpSettings
    """Where HTTP is served."""
    fence_key_is: str
    """Where the fence key is from; not the key."""


def compose(settings: Settings, environment: Mapping[str, str] = os.environ) -> Composition:
    """Make what the file decides.

    Raises:
        DeclarationError: a name leads nowhere: tools, a grant that no tool needs, an instance, an environment variable.
    """
    admission = Admission(max_concurrent=settings.admission.max_concurrent, window_s=settings.admission.window_s)
    key = fence_key(settings.fence_key)
    deployments = {
        name: deployed(settings, name, instance, admission, key) for name, instance in settings.instances.items()
    }
    named = grants_of(settings.permitted)
    if named is not None:
        known = {tool.grant for deployment in deployments.values() for tool in deployment.tools.values()}
        refuse_unknown("permitted", named, known, "grant")
    tokens = [token_of(name, token, deployments, environment) for name, token in settings.tokens.items()]
    return Composition(
        deployments=deployments,
        admission=admission,
        tokens=Tokens(tokens) if tokens else None,
        http=settings.http,
        fence_key_is=settings.fence_key,
    )


def deployed(
    settings: Settings, name: str, instance: InstanceSettings, admission: Admission, key: FenceKey
) -> Deployment:
    tools = Registry(tools_named(settings.tools if instance.tools is None else instance.tools))
    permitted = Permitted.every() if settings.permitted == EVERY else Permitted.of(*settings.permitted)
    narrower = grants_of(instance.permitted)
    if narrower is not None:
        refuse_unknown(f"instances.{name}.permitted", narrower, {tool.grant for tool in tools.values()}, "grant")
        permitted = permitted.narrowed(narrower)
    return Deployment(
        tools=tools,
        permitted=permitted,
        admission=admission,
        reply_timeout_s=instance.reply_timeout_s or settings.reply_timeout_s,
        catalog_prose=settings.catalog_prose,
        fence_key=key,
        max_result_chars=instance.max_result_chars or settings.max_result_chars,
        max_media_bytes=instance.max_media_bytes or settings.max_media_bytes,
        audit=log_audit,
    )


def tools_named(references: Iterable[str]) -> Iterator[Any]:
    for reference in references:
        if reference == INSTALLED:
            yield from Registry.from_entry_points().values()
        else:
            yield from load_tools(reference, option="tools")


def token_of(
    name: str, token: TokenSettings, deployments: Mapping[str, Deployment], environment: Mapping[str, str]
) -> Token:
    refuse_unknown(f"tokens.{name}.instances", frozenset(token.instances), set(deployments), "instance")
    grants = grants_of(token.grants)
    if grants is not None:
        opened = [deployments[instance] for instance in token.instances]
        known = {tool.grant for deployment in opened for tool in deployment.tools.values()}
        refuse_unknown(f"tokens.{name}.grants", grants, known, "grant")
    if (token.sha256 is None) == (token.env is None):
        raise DeclarationError(f"tokens.{name}: write either sha256 or env, and not both.")
    digest = token.sha256 or digest_of(secret_of(f"tokens.{name}", cast("str", token.env), environment))
    return Token(id=name, sha256=digest, instances=frozenset(token.instances), grants=grants)


def secret_of(where: str, variable: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(variable, "")
    if len(secret) < SHORTEST_TOKEN:
        raise DeclarationError(
            f"{where}: {variable} holds no token of {SHORTEST_TOKEN} characters or more. Make one with `hedgerow token`."
        )
    return secret


def fence_key(written: str) -> FenceKey:
    if written == RANDOM:
        return FenceKey.random()
    try:
        return FenceKey.from_env(written.removeprefix("env:"))
    except FenceError as error:
        raise DeclarationError(f"fence_key: {error}") from error


def grants_of(written: Grants | None) -> frozenset[str] | None:
    return None if written is None or isinstance(written, str) else frozenset(written)


def refuse_unknown(where: str, named: frozenset[str], known: set[str], kind: str) -> None:
    """A name that leads nowhere is a mistake: whoever wrote it believes that it opens or closes something."""
    for name in sorted(named - known):
        there = ", ".join(sorted(known)) or "none"
        raise DeclarationError(f"{where}: there is no {kind} {name!r}. There are: {there}.")


# -- saying --------------------------------------------------------------------------------------------------------


def posture_of(composition: Composition, serving: str) -> str:
    """Say what was decided, for the log of the start: who may call what, and every limit. No secret and no digest.

    Args:
        composition: what is served.
        serving: what serves, and where.
    """
    return posture(
        serving=serving,
        callers={
            f"token {token.id}": f"instances {listed(token.instances)}; grants {listed(token.grants)}"
            for token in composition.tokens or ()
        },
        deployments=composition.deployments,
        limits={"fence_key": composition.fence_key_is, **composition.http.model_dump()},
    )


def listed(found: frozenset[str] | None) -> str:
    return EVERY if found is None else ", ".join(sorted(found)) or "none"
