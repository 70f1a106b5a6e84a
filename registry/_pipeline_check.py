"""Reading a pipeline, and finding what is wrong with its shape, its ids and its references, without any tool.

Everything is found at once, each mistake with its file, line, step and path. It shows what the author of the pipeline wrote
and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from registry._arguments import NAME
from registry._pipeline_model import FIELDS, TAGS, WRONG, Pipeline, PromptForm, RefForm, Step, TextForm
from registry._pipeline_refs import Ref, RefError, parse_ref, parse_template
from registry.documents import Document, read_document
from registry.errors import PipelineError

__all__ = ["Problem", "Way", "load_pipeline", "parse_pipeline", "problems", "refs_of", "report"]

RESERVED: Final = ("inputs", "item", "index")
Way: TypeAlias = "tuple[str | int, ...]"


def load_pipeline(path: str | Path) -> Pipeline:
    """Read a pipeline from a `.json` or `.toml` file, and check what can be checked without tools.

    Raises:
        DocumentError: the file cannot be read.
        PipelineError: it is no pipeline; the text names the file, the line, the step and the path of each mistake.
    """
    document = read_document(Path(path))
    return parse_pipeline(document.data, document=document)


def parse_pipeline(data: Mapping[str, Any], *, document: Document | None = None) -> Pipeline:
    """Read a pipeline from data, and check what can be checked without tools.

    Args:
        data: the pipeline as JSON.
        document: the file that it came from, for the lines in messages.

    Raises:
        PipelineError: it is no pipeline.
    """
    try:
        pipeline = Pipeline.model_validate(dict(data))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise wrong(list(dict.fromkeys(shape_problem(one, data) for one in found)), document) from error
    except RecursionError:
        raise wrong([Problem(way=(), step=None, message="is nested too deeply")], document) from None
    report(list(problems(pipeline)), document)
    return pipeline


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, and where."""

    way: Way
    step: str | None
    message: str

    def __str__(self) -> str:
        path = ".".join(map(str, self.way[2:] if self.step is not None else self.way))
        names = (f"step {self.step!r}" if self.step is not None else "", path)
        return f"{', '.join(filter(None, names)) or 'the whole'}: {self.message}"


def report(found: list[Problem], document: Document | None) -> None:
    if found:
        raise wrong(found, document)


def wrong(found: list[Problem], document: Document | None) -> PipelineError:
    """All that is wrong, at once, each with its place."""

    def located(problem: Problem) -> str:
        if document is None:
            return str(problem)
        return f"{document.name}, line {document.line(*problem.way)}, {problem}"

    if len(found) == 1:
        return PipelineError(f"{located(found[0])}.")
    return PipelineError("\n".join([f"{len(found)} things are wrong.", *(f"- {located(one)}." for one in found)]))


def shape_problem(error: ErrorDetails, data: Mapping[str, Any]) -> Problem:
    """A mistake of the shape, with pydantic's own tags taken out of its place."""
    loc = error["loc"]
    message = error["msg"][:1].lower() + error["msg"][1:]
    if "<value>" in loc:
        loc, message = (
            loc[: loc.index("<value>")],
            "is no JSON value: write a string, a finite number, true, false or null",
        )
    elif error["type"] == "union_tag_invalid":
        message = "holds a key that begins with '$' and is none of $ref, $text, $prompt and $literal"
    elif error["type"] == "extra_forbidden":
        near = get_close_matches(str(loc[-1]), FIELDS, 1, 0.75)
        message = f"is not a field here (did you mean {near[0]!r}?)" if near else "is not a field here"
    elif error["type"] == "missing":
        message = "is required"
    way = tuple(step for step in loc if step not in TAGS and step != WRONG)
    return Problem(way=way, step=step_name(way, data), message=message)


def step_name(way: Way, data: Mapping[str, Any]) -> str | None:
    """The id of the step that a way leads into, or its number."""
    if len(way) < 2 or way[0] != "steps" or not isinstance(way[1], int):
        return None
    steps = data.get("steps")
    step: object = cast("list[object]", steps)[way[1]] if isinstance(steps, list) else None
    name = cast("dict[str, object]", step).get("id") if isinstance(step, dict) else None
    return name if isinstance(name, str) and NAME.match(name) else str(way[1] + 1)


# -- what can be known from the pipeline alone ---------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A reference, and where it stands."""

    way: Way
    ref: Ref


def problems(pipeline: Pipeline) -> Iterator[Problem]:
    """What is wrong with ids and references. Without tools: those are looked at by `plan_pipeline`."""
    ids = [step.id for step in pipeline.steps]
    needs: dict[str, set[str]] = {step.id: set() for step in pipeline.steps}
    for name in (name for number, name in enumerate(pipeline.inputs) if name in pipeline.inputs[:number]):
        yield Problem(way=("inputs",), step=None, message=f"{name!r} stands twice")
    for number, step in enumerate(pipeline.steps):
        needs[step.id] |= {use.ref.step for use in uses_in_step(step, number) if isinstance(use, Use)}
    for number, step in enumerate(pipeline.steps):
        way = ("steps", number, "id")
        if step.id in RESERVED:
            yield Problem(way=way, step=step.id, message=f"is one of {', '.join(RESERVED)}, which mean something else")
        if step.id in ids[:number]:
            yield Problem(way=way, step=step.id, message=f"is the id of step {ids.index(step.id) + 1} already")
        for use in uses_in_step(step, number):
            if isinstance(use, Problem):
                yield Problem(way=use.way, step=step.id, message=use.message)
                continue
            unfit = wrong_target(use.ref, step, number, ids, pipeline, needs, is_list=use.way[2:3] == ("for_each",))
            if unfit is not None:
                yield Problem(way=use.way, step=step.id, message=unfit)
    for use in uses_in(pipeline.result, ("result",)):
        if isinstance(use, Problem):
            yield use
            continue
        unfit = wrong_target(use.ref, None, len(ids), ids, pipeline, needs, is_list=False)
        if unfit is not None:
            yield Problem(way=use.way, step=None, message=unfit)


def wrong_target(
    ref: Ref,
    step: Step | None,
    number: int,
    ids: list[str],
    pipeline: Pipeline,
    needs: Mapping[str, set[str]],
    *,
    is_list: bool,
) -> str | None:
    """What is wrong with the step that a reference names, or None."""
    name = ref.step
    if name == "inputs":
        key = ref.segments[0].name if ref.segments else None
        if key is None:
            return f"{ref.text!r} names no input. Write inputs.name"
        return None if key in pipeline.inputs else f"{ref.text!r} names an input that the pipeline does not list"
    if name in ("item", "index"):
        if step is not None and step.for_each is not None and not is_list:
            return None
        return f"{ref.text!r} stands outside of a step with for_each"
    if name in ids[:number]:
        return None
    if step is not None and name == step.id:
        return f"{ref.text!r} refers to the step itself"
    if step is not None and name in ids:
        cycle = way_back(name, step.id, needs, (step.id,))
        if cycle is not None:
            return f"{ref.text!r} makes a cycle: {' -> '.join(cycle)}"
        return f"{ref.text!r} refers to step {ids.index(name) + 1}, which comes later"
    return f"{ref.text!r} refers to a step that does not exist"


def way_back(at: str, to: str, needs: Mapping[str, set[str]], way: tuple[str, ...]) -> tuple[str, ...] | None:
    """How a step leads back to another by the steps that it needs, or None."""
    if at == to:
        return (*way, at)
    if at in way:
        return None
    found = (way_back(other, to, needs, (*way, at)) for other in sorted(needs.get(at, ())))
    return next((cycle for cycle in found if cycle is not None), None)


def uses_in_step(step: Step, number: int) -> Iterator[Use | Problem]:
    way = ("steps", number)
    if step.for_each is not None:
        yield read(step.for_each.ref, (*way, "for_each", "$ref"))
    if step.when is not None:
        yield read(step.when.ref, (*way, "when", "$ref"))
    for name, argument in step.arguments.items():
        yield from uses_in(argument, (*way, "arguments", name))


def uses_in(argument: object, way: Way) -> Iterator[Use | Problem]:
    """Every reference in an argument, or what is wrong with it."""
    if isinstance(argument, RefForm):
        yield read(argument.ref, (*way, "$ref"))
    elif isinstance(argument, TextForm | PromptForm):
        key, text = ("$text", argument.text) if isinstance(argument, TextForm) else ("$prompt", argument.prompt)
        try:
            refs = parse_template(text).refs
        except RefError as error:
            yield Problem(way=(*way, key), step=None, message=str(error).removesuffix("."))
        else:
            yield from (Use(way=(*way, key), ref=ref) for ref in refs)
    elif isinstance(argument, dict):
        for name, item in cast("dict[str, object]", argument).items():
            yield from uses_in(item, (*way, name))
    elif isinstance(argument, list):
        for number, item in enumerate(cast("list[object]", argument)):
            yield from uses_in(item, (*way, number))


def read(text: str, way: Way) -> Use | Problem:
    try:
        return Use(way=way, ref=parse_ref(text))
    except RefError as error:
        return Problem(way=way, step=None, message=str(error).removesuffix("."))


def refs_of(argument: object) -> list[Ref]:
    """The references of an argument of a checked pipeline."""
    return [use.ref for use in uses_in(argument, ()) if isinstance(use, Use)]
