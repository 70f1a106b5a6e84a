"""What a pipeline is: steps that call tools, and how their arguments are made. Shapes alone; nothing here runs or looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType

__all__ = [
    "FIELDS",
    "TAGS",
    "Argument",
    "ForEach",
    "LiteralForm",
    "Pipeline",
    "PromptForm",
    "RefForm",
    "Step",
    "TextForm",
    "When",
    "WhenEquals",
    "WhenExists",
]

MOST_STEPS: Final = 100
MOST_ITEMS: Final = 1000

REFERENCE = "The id of an earlier step, and a path into what it returned: `issues.items[0].title`."
TEMPLATE = "A text in which `{step.path}` is filled in; `{{` and `}}` are braces."
Id = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
Scalar = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | None


class Form(BaseModel):
    """A table of a pipeline."""

    # By alias alone: two spellings of one key would be two ways to read a file.
    model_config = ConfigDict(extra="forbid", frozen=True)


class RefForm(Form):
    ref: str = Field(alias="$ref", description=REFERENCE)


class TextForm(Form):
    text: str = Field(alias="$text", description=f"{TEMPLATE} For programs: values are filled in as they are.")


class PromptForm(Form):
    prompt: str = Field(
        alias="$prompt", description=f"{TEMPLATE} For a model: values that somebody else chose are fenced."
    )


class LiteralForm(Form):
    literal: JsonValue = Field(alias="$literal", description="A value in which `$` has no meaning.")


# An object with a key that begins with `$` is a form or a mistake, never a plain object.
NO_FORM: Final[dict[str, JsonValue]] = {"propertyNames": {"not": {"pattern": "^[$]"}}}
FORMS: Final = ("$ref", "$text", "$prompt", "$literal")
OBJECT, ARRAY, SCALAR, WRONG = "<object>", "<array>", "<value>", "<unknown>"
# What pydantic puts into the place of an error beside keys and positions.
TAGS: Final = frozenset({OBJECT, ARRAY, SCALAR, "<equals>", "<exists>", *(f"<{form}>" for form in FORMS)})


def form_of(value: object) -> str:
    """Say which form a value of the file has."""
    if isinstance(value, Form):
        return next(f"<{form}>" for form in FORMS if form[1:] in type(value).model_fields)
    if isinstance(value, list | tuple):
        return ARRAY
    if not isinstance(value, Mapping):
        return SCALAR
    keys = [key for key in cast("Mapping[object, object]", value) if isinstance(key, str) and key.startswith("$")]
    if not keys:
        return OBJECT
    return f"<{keys[0]}>" if keys[0] in FORMS else WRONG


if TYPE_CHECKING:
    # mypy cannot follow an alias that names itself inside of Annotated.
    Argument: TypeAlias = object
else:
    Argument = TypeAliasType(
        "Argument",
        Annotated[
            Annotated[RefForm, Tag("<$ref>")]
            | Annotated[TextForm, Tag("<$text>")]
            | Annotated[PromptForm, Tag("<$prompt>")]
            | Annotated[LiteralForm, Tag("<$literal>")]
            | Annotated[dict[str, "Argument"], Field(json_schema_extra=NO_FORM), Tag(OBJECT)]
            | Annotated[list["Argument"], Tag(ARRAY)]
            | Annotated[Scalar, Tag(SCALAR)],
            Discriminator(form_of),
        ],
    )


class WhenEquals(Form):
    """A condition of a step: what a reference finds is this value."""

    ref: str = Field(alias="$ref", description=REFERENCE)
    equals: JsonValue = Field(description="The value that it must be; JSON, of the same type.")


class WhenExists(Form):
    """A condition of a step: a reference finds something, or nothing."""

    ref: str = Field(alias="$ref", description=REFERENCE)
    exists: bool = Field(description="Whether the path must find something.")


def condition_of(value: Any) -> str:
    if isinstance(value, WhenEquals) or (isinstance(value, Mapping) and "equals" in value):
        return "<equals>"
    return "<exists>"


When = Annotated[
    Annotated[WhenEquals, Tag("<equals>")] | Annotated[WhenExists, Tag("<exists>")], Discriminator(condition_of)
]


class ForEach(Form):
    """A list of which each item is a call of the step."""

    ref: str = Field(alias="$ref", description=f"{REFERENCE} It must find a list.")
    max: int = Field(ge=1, le=MOST_ITEMS, description="The most items; a longer list stops the pipeline.")


class Step(Form):
    """One step: a tool, and how its arguments are made."""

    id: Id = Field(description="How later steps refer to what this one returned.")
    tool: str = Field(description="The name of a tool of the deployment.")
    arguments: dict[str, Argument] = Field(default={}, description="What the tool takes; values, or how to make them.")
    when: When | None = Field(
        default=None, description="Run the step only then; with `for_each`, for these items only."
    )
    for_each: ForEach | None = Field(
        default=None, description="Run the step once for each item of a list: `item` and `index` are its names."
    )


class Pipeline(Form):
    """Steps, one after the other. Build it with `load_pipeline` or `Pipeline.model_validate`; `plan_pipeline` checks it."""

    description: str = Field(default="", description="What it is for. Not shown to any model.")
    inputs: list[Id] = Field(default=[], description="Names of the values that a run is given: `inputs.name`.")
    steps: list[Step] = Field(min_length=1, max_length=MOST_STEPS, description="What is called, in order.")
    result: Argument = Field(
        default=None, description="What the pipeline returns; without it, what its last step returned."
    )


# What a table may hold, by the name in the file, for whoever misspelled one.
FIELDS: Final = frozenset(
    field.alias or name
    for form in (Pipeline, Step, ForEach, WhenEquals, WhenExists)
    for name, field in form.model_fields.items()
)
