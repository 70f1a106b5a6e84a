"""Tools from a file: HTTP requests and programs, described in JSON or TOML, through the same ways in as every connector.

A manifest decides what is asked and whose words the answer is. It never holds a secret, never makes a value into a path, an
option or a header of its own, and when a third party wrote it, its prose is theirs and it starts no program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, final

from pydantic import Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from connectors._manifest_fill import Filler, TemplateError, holes_in, parse_template
from connectors._manifest_model import FIELDS, HttpEntry, InputEntry, Manifest, ProcessEntry, ToolEntry
from connectors._paging import as_text, page_of
from connectors.ingress import NetworkRules, fetch, run_process
from registry import AnyTool, Foreign, MixedReply, ToolDef, ToolFailed, ToolInput, refuse, reply
from registry.documents import Document, read_document
from registry.errors import DeclarationError, IngressRefused

__all__ = ["Manifest", "tools"]

PUBLIC = NetworkRules()
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# What may stand in an error that a third party's file causes.
PLAIN_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_-]{0,39}\Z")
PLAIN_CHOICE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}\Z")
HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")

Way: TypeAlias = tuple[str | int, ...]
Problem: TypeAlias = tuple[Way, str]


def tools(
    path: str | Path,
    *,
    secrets: Callable[[str], str],
    author: str | None = None,
    rules: NetworkRules = PUBLIC,
    folder: Path | None = None,
) -> tuple[AnyTool, ...]:
    """Make the tools that a manifest describes.

    Args:
        path: a `.json` or `.toml` file.
        secrets: gives a secret by its name, when a call needs it. A third party's manifest gets those that you hand out here.
        author: who wrote the manifest, as an origin; None is the owner. With it, descriptions are foreign, and programs,
            grants and a `read` that sends something are refused.
        rules: how far requests may reach; the default is the public internet.
        folder: where programs run; None is where this process runs.

    Raises:
        DocumentError: the file cannot be read.
        DeclarationError: it is no manifest; the text names the file, the line, the tool and the path of each mistake.
    """
    if author is not None and not any(map(str.isalnum, author)):
        raise DeclarationError(
            "connectors.manifest: author is blank. Say in a few words who wrote it, or leave it out."
        )
    document = read_document(Path(path))
    try:
        manifest = Manifest.model_validate(document.data)
    except ValidationError as error:
        found = [
            shape_problem(one) for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        problem = wrong(document, list(dict.fromkeys(found)))
    except RecursionError:
        problem = wrong(document, [((), "is nested too deeply")])
    else:
        mistakes = list(problems(manifest, is_foreign=author is not None))
        if not mistakes:
            setting = Setting(secrets=secrets, author=author, rules=rules, folder=folder)
            return tuple(tool_of(entry, setting) for entry in manifest.tools)
        problem = wrong(document, mistakes)
    raise problem


# -- what is wrong with it -----------------------------------------------------------------------------------------


def wrong(document: Document, found: list[Problem]) -> DeclarationError:
    lines = [located(document, way, message) for way, message in found]
    if len(lines) == 1:
        return DeclarationError(f"{lines[0]}.")
    return DeclarationError("\n".join([f"{len(lines)} things are wrong.", *(f"- {line}." for line in lines)]))


def located(document: Document, way: Way, message: str) -> str:
    """A mistake with its file, line, tool and path. Keys of the file are shown only where they could be names."""
    keys = [step if isinstance(step, int) or PLAIN_KEY.match(step) else "(a key)" for step in way]
    place = f"{document.name}, line {document.line(*way)}"
    if keys[:1] == ["tools"] and len(keys) > 1:
        return f"{place}, {tool_name(document, cast('int', way[1]))}{', ' if keys[2:] else ''}{path_of(keys[2:])}: {message}"
    return f"{place}{', ' if keys else ''}{path_of(keys)}: {message}"


def path_of(keys: list[str | int]) -> str:
    return ".".join(map(str, keys))


def tool_name(document: Document, number: int) -> str:
    entries = document.data.get("tools")
    entry: object = cast("list[object]", entries)[number] if isinstance(entries, list) else None
    name = cast("dict[str, object]", entry).get("name") if isinstance(entry, dict) else None
    return (
        f"tool {name!r}"
        if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        else f"tool {number + 1}"
    )


DECLARE: Final = (
    "say who chooses the bytes of the answer: untrusted_output = 'an origin, with {inputs}', or false for a tool that shows "
    "none of them"
)


def shape_problem(error: ErrorDetails) -> Problem:
    way = error["loc"]
    if way[2:3] == ("untrusted_output",):
        return way[:3], DECLARE
    if error["type"] == "missing":
        return way, "is required"
    if error["type"] == "extra_forbidden":
        near = get_close_matches(str(way[-1]), FIELDS, 1, 0.75)
        return way, f"is not a field here (did you mean {near[0]!r}?)" if near else "is not a field here"
    return tuple(step for step in way if step != "[key]"), error["msg"][:1].lower() + error["msg"][1:]


def problems(manifest: Manifest, *, is_foreign: bool) -> Iterator[Problem]:
    """What the shape alone does not say."""
    names = [entry.name for entry in manifest.tools]
    for number, entry in enumerate(manifest.tools):
        way: Way = ("tools", number)
        if entry.name in names[:number]:
            yield (*way, "name"), f"is the name of tool {names.index(entry.name) + 1} already"
        if (entry.http is None) == (entry.process is None):
            yield way, "must have either http or process"
            continue
        yield from input_problems(entry, way, is_foreign=is_foreign)
        yield from hole_problems(entry, way)
        yield from trust_problems(entry, way) if is_foreign else ()


def input_problems(entry: ToolEntry, way: Way, *, is_foreign: bool) -> Iterator[Problem]:
    for name, field in entry.input.items():
        here = (*way, "input", name)
        if field.choices and field.type != "string":
            yield (*here, "choices"), "are for a string"
        if (field.minimum, field.maximum) != (None, None) and field.type not in ("integer", "number"):
            yield here, "has a minimum or maximum and is no number"
        if is_foreign and not all(map(PLAIN_CHOICE.match, field.choices)):
            yield (*here, "choices"), "of a third party are of letters, digits and _ . : - alone"


def hole_problems(entry: ToolEntry, way: Way) -> Iterator[Problem]:
    """Templates that cannot be read, name no input, or hold a secret where it would be seen."""
    for here, value, may_hold in templates_of(entry):
        try:
            holes = list(holes_in(value))
        except TemplateError as error:
            yield (*way, *here), str(error)
            continue
        for hole in holes:
            if hole.kind not in may_hold:
                kinds = "a secret" if hole.kind == "secret" else "an input"
                yield (*way, *here), f"holds {kinds}, which may not stand there"
            elif hole.kind == "input" and hole.name not in entry.input:
                yield (*way, *here), f"names {hole.name!r}, which is no input of this tool"
    if isinstance(entry.untrusted_output, str) and not any(map(str.isalnum, entry.untrusted_output)):
        yield (*way, "untrusted_output"), DECLARE
    for name in entry.http.headers if entry.http is not None else ():
        if not HEADER_NAME.match(name):
            yield (*way, "http", "headers", name), "is no name of a header"
    if entry.http is not None and any(step in (".", "..") for step in entry.http.url.split("/")):
        yield (*way, "http", "url"), "holds a '.' or '..'"


def templates_of(entry: ToolEntry) -> Iterator[tuple[Way, Any, tuple[str, ...]]]:
    """Each template of a tool, where it stands, and what it may hold.

    A secret may stand where nobody sees it: not in an address, which is the origin of the answer, and not among arguments,
    which every user of the machine can read.
    """
    both, plain = ("input", "secret"), ("input",)
    if isinstance(entry.untrusted_output, str):
        yield ("untrusted_output",), entry.untrusted_output, plain
    if entry.http is not None:
        yield ("http", "url"), entry.http.url, plain
        yield from ((("http", "query", name), value, both) for name, value in entry.http.query.items())
        yield from ((("http", "headers", name), value, both) for name, value in entry.http.headers.items())
        yield ("http", "json"), entry.http.json_body, both
    if entry.process is not None:
        for number, value in enumerate(entry.process.argv):
            yield ("process", "argv", number), value, plain if number else ()
        yield from ((("process", "env", name), value, ("secret",)) for name, value in entry.process.env.items())


def trust_problems(entry: ToolEntry, way: Way) -> Iterator[Problem]:
    if entry.process is not None:
        yield (*way, "process"), "is refused: a manifest of a third party starts no program"
    if entry.scope is not None:
        yield (*way, "scope"), "is refused: a third party does not choose the grant that its tool is covered by"
    if entry.http is not None and entry.effect == "read" and entry.http.method not in SAFE_METHODS:
        yield (
            (*way, "effect"),
            f"is 'read', and {entry.http.method} sends something; of a third party that is not believed",
        )


# -- from entries to tools -----------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the deployment says about a manifest."""

    secrets: Callable[[str], str]
    author: str | None
    rules: NetworkRules
    folder: Path | None


def tool_of(entry: ToolEntry, setting: Setting) -> AnyTool:
    declared = declaration_of(entry)
    if entry.http is not None:
        handler = requesting(entry.http, declared, setting)
    else:
        handler = running(cast("ProcessEntry", entry.process), declared, setting)
    # tools-check: ignore[false-declaration] -- with false, `answered` gives our sentence alone; the two come from one field
    made: AnyTool = ToolDef(
        name=entry.name,
        description=entry.description if setting.author is None else Foreign(entry.description, setting.author),
        input=input_of(entry),
        handler=handler,
        # What the file says, checked above; that it says something is what its shape demands.
        untrusted_output=cast("Any", declared),
        scope=entry.scope,
        effect=entry.effect,
    )
    return made


Declared: TypeAlias = "Literal[False] | str | Callable[[ToolInput], str]"


def declaration_of(entry: ToolEntry) -> Declared:
    if entry.untrusted_output is False:
        return False
    template = parse_template(entry.untrusted_output)
    if not template.holes:
        return "".join(cast("tuple[str, ...]", template.pieces))
    return lambda request: Filler(values_of(request), no_secret).text(template)


def no_secret(name: str) -> str:
    raise KeyError(name)


KINDS: Final[Mapping[str, type]] = {"string": str, "integer": int, "number": float, "boolean": bool}


def input_of(entry: ToolEntry) -> type[ToolInput]:
    """The class of a tool's arguments. Its fields have names of ours, so that no name of a file shadows anything."""
    fields = {f"field_{number}": field_of(name, field) for number, (name, field) in enumerate(entry.input.items())}
    made: type[ToolInput] = create_model("Arguments", __base__=ToolInput, **cast("Any", fields))
    return made


def field_of(name: str, field: InputEntry) -> tuple[Any, Any]:
    kind: Any = Literal[tuple(field.choices)] if field.choices else KINDS[field.type]
    bounds: dict[str, Any] = {}
    if field.type == "string" and not field.choices:
        bounds = {"min_length": field.min_length, "max_length": field.max_length}
    if field.type in ("integer", "number"):
        bounds = {"ge": field.minimum, "le": field.maximum}
        bounds |= {"allow_inf_nan": False} if field.type == "number" else {}
    bounded: Any = Annotated[kind, Field(**{key: value for key, value in bounds.items() if value is not None})]
    if field.required:
        return bounded, Field(alias=name, description=field.description)
    return bounded | None, Field(default=None, alias=name, description=field.description)


def values_of(request: ToolInput) -> dict[str, Any]:
    return request.model_dump(by_alias=True)


def origin_for(declared: Declared, request: ToolInput) -> str | None:
    if declared is False:
        return None
    return declared if isinstance(declared, str) else declared(request)


def requesting(entry: HttpEntry, declared: Declared, setting: Setting) -> Any:
    """The handler of a tool that sends a request."""
    address = parse_template(entry.url)
    query = {name: parse_template(value) for name, value in entry.query.items()}
    headers = {name: parse_template(value) for name, value in entry.headers.items()}
    has_body = "json_body" in entry.model_fields_set

    async def send(request: ToolInput) -> MixedReply:
        filler = Filler(values_of(request), setting.secrets)
        try:
            sent = filler.texts(headers)
            body = json.dumps(filler.json(entry.json_body)).encode() if has_body else None
            if has_body and not any(name.lower() == "content-type" for name in sent):
                sent["Content-Type"] = "application/json"
            answer = await fetch(
                filler.url(address, query),
                rules=setting.rules,
                origin=origin_for(declared, request),
                method=entry.method,
                headers=sent,
                body=body,
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        except ToolFailed as failed:
            failure = without_secrets(failed, filler)
        else:
            text = answer.text().map(filler.hide)
            if not 200 <= answer.status < 300:
                raise ToolFailed(f"The server answered with status {answer.status}.", cut(text, entry.max_chars))
            return answered(f"Status {answer.status}", text, declared, entry.max_chars)
        raise failure

    return send


def running(entry: ProcessEntry, declared: Declared, setting: Setting) -> Any:
    """The handler of a tool that runs a program."""
    argv = tuple(map(parse_template, entry.argv))
    env = {name: parse_template(value) for name, value in entry.env.items()}

    async def run(request: ToolInput) -> MixedReply:
        filler = Filler(values_of(request), setting.secrets)
        try:
            ran = await run_process(
                filler.argv(argv),
                cwd=setting.folder,
                env=filler.texts(env),
                timeout_s=entry.timeout_s,
                origin=origin_for(declared, request),
            )
        except IngressRefused as refused:
            return refuse(refused.code, refused.sentence)
        except ToolFailed as failed:
            failure = without_secrets(failed, filler)
        else:
            if ran.exit_code not in entry.exit_codes:
                said = cut(as_text(ran.stderr).map(filler.hide), entry.max_chars)
                raise ToolFailed(f"The program ended with exit code {ran.exit_code}.", said)
            text = as_text(ran.stdout).map(filler.hide)
            return answered(f"Exit code {ran.exit_code}", text, declared, entry.max_chars)
        raise failure

    return run


def answered(head: str, text: Foreign[str], declared: Declared, max_chars: int) -> MixedReply:
    """Our sentence and their text; without an origin, our sentence alone."""
    if declared is False:
        return reply(f"{head}.")
    where, part = page_of(text, 0, max_chars, again="the rest is not shown")
    return reply(f"{head}, {where}.", part)


def cut(text: Foreign[str], max_chars: int) -> Foreign[str]:
    return text.map(lambda whole: whole[:max_chars])


def without_secrets(failed: ToolFailed, filler: Filler) -> ToolFailed:
    return ToolFailed(failed.words, None if failed.detail is None else failed.detail.map(filler.hide))
