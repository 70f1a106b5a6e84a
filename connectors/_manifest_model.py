"""What a manifest is: tools as data. Shapes alone; `connectors.manifest` makes tools of them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from connectors.ingress import Method

__all__ = ["FIELDS", "NAME", "HttpEntry", "InputEntry", "Manifest", "ProcessEntry", "ToolEntry"]

NAME: Final = "^[A-Za-z][A-Za-z0-9_]{0,39}$"
TEMPLATE: Final = "`{name}` is the input of that name; `{{` and `}}` are braces."
SECRETS: Final = f"{TEMPLATE} `{{secret:name}}` is a secret of the deployment."

Scalar: TypeAlias = Literal["string", "integer", "number", "boolean"]


class Entry(BaseModel):
    """A table of a manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InputEntry(Entry):
    type: Scalar = Field(description="What the input is.")
    description: str = Field(min_length=1, description="For the model that fills it in.")
    required: bool = Field(
        default=True, description="Whether it must be given. One that is not has no value: it is left out."
    )
    choices: list[str] = Field(default=[], description="The only values, for a string.")
    min_length: int | None = Field(default=None, ge=0, description="The fewest characters, for a string.")
    max_length: int = Field(default=1000, ge=1, description="The most characters, for a string.")
    minimum: float | None = Field(default=None, description="The least value, for a number.")
    maximum: float | None = Field(default=None, description="The greatest value, for a number.")


class HttpEntry(Entry):
    method: Method = Field(default="GET", description="The request method.")
    url: str = Field(
        pattern="^https?://[^/{}?#@ ]+(/[^?# ]*)?$",
        description=f"The address, without a query. Inputs may stand in the path alone. {TEMPLATE}",
    )
    query: dict[str, str] = Field(default={}, description=f"The query. {SECRETS}")
    headers: dict[str, str] = Field(default={}, description=f"Headers. {SECRETS}")
    json_body: JsonValue = Field(
        default=None,
        alias="json",
        description=f"The body, as JSON. A string that is one `{{name}}` alone becomes the value with its type. {SECRETS}",
    )
    max_chars: int = Field(default=20_000, ge=1, description="The most characters of the answer that are shown.")


class ProcessEntry(Entry):
    argv: list[str] = Field(
        min_length=1,
        description=f"The program, and each of its arguments. Never a shell. The program itself is fixed. {TEMPLATE}",
    )
    env: dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")], str] = Field(
        default={}, description="Variables, fixed or `{secret:name}`."
    )
    exit_codes: list[int] = Field(default=[0], min_length=1, description="The codes that mean that it worked.")
    timeout_s: float = Field(default=30, gt=0, le=600, description="The longest that it may run, in seconds.")
    max_chars: int = Field(default=20_000, ge=1, description="The most characters of its output that are shown.")


def one_way(schema: dict[str, Any]) -> None:
    schema["oneOf"] = [{"required": ["http"]}, {"required": ["process"]}]


def no_number(declared: object) -> object:
    """To Python 0 is False. In a file it is a number, which declares nothing."""
    return None if type(declared) in (int, float) else declared


class ToolEntry(Entry):
    model_config = ConfigDict(json_schema_extra=one_way)

    name: str = Field(pattern="^[A-Za-z0-9_-]{1,64}$", description="The name of the tool.")
    description: str = Field(min_length=1, description="For the model that chooses a tool.")
    untrusted_output: Annotated[Literal[False] | str, BeforeValidator(no_number)] = Field(
        description="Who chose the bytes of the answer, in a few words: an origin, in which `{name}` is an input. `false`: "
        "none of them is shown, and the tool answers with the status or the exit code alone."
    )
    effect: Literal["read", "write", "destroy"] = Field(default="write", description="What a call changes.")
    scope: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="The grant that a caller needs; without it, the tool's name."
    )
    input: dict[Annotated[str, Field(pattern=NAME)], InputEntry] = Field(default={}, description="What the tool takes.")
    http: HttpEntry | None = Field(default=None, description="A request to send.")
    process: ProcessEntry | None = Field(default=None, description="A program to run.")


class Manifest(Entry):
    """Tools as data."""

    tools: list[ToolEntry] = Field(min_length=1, description="What is offered.")


# What a table may hold, by the name in the file, for whoever misspelled one.
FIELDS: Final = frozenset(
    field.alias or name
    for entry in (Manifest, ToolEntry, HttpEntry, ProcessEntry, InputEntry)
    for name, field in entry.model_fields.items()
)
