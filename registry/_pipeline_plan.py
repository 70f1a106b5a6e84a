"""Looking a pipeline through before any of it runs: what cannot work with these tools, and which values are foreign.

What can be found without calling a tool is found here, all of it at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

from pydantic import JsonValue
from pydantic_core import ErrorDetails

from registry._arguments import UNKNOWN_KEY, parse, sentence
from registry._deployment import Caller, Deployment, Permitted
from registry._foreign import Foreign, is_origin, join_origins, origins_of
from registry._pipeline_check import Problem, problems, refs_of, report
from registry._pipeline_model import LiteralForm, Pipeline, PromptForm, RefForm, Step, TextForm, WhenEquals
from registry._pipeline_refs import Ref, parse_ref
from registry._tooldef import AnyTool, wording
from registry.documents import Document
from registry.prompt import READ_BY_MODEL

__all__ = ["ArgumentPlan", "Plan", "StepPlan", "plan_pipeline"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPlan:
    """One value that is made when the pipeline runs."""

    path: str
    """Where it goes: `arguments.title`."""
    refs: tuple[str, ...]
    """What it is made of."""
    origins: tuple[str, ...]
    """Who may choose it; empty for values of our own."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What a step will do, and what of it is foreign."""

    id: str
    """The step."""
    tool: str
    """The tool that it calls."""
    effect: str
    """What a call of the tool changes: `read`, `write` or `destroy`."""
    runs: str
    """How often: `once`, `when ...`, `for each item of ...`."""
    arguments: tuple[ArgumentPlan, ...]
    """The values that are made when it runs."""
    origins: tuple[str, ...]
    """Who may choose what it returns; empty for own words."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A pipeline that was looked through: nothing is wrong with it that can be known before it runs."""

    steps: tuple[StepPlan, ...]
    """Its steps, in order."""
    result: ArgumentPlan
    """What it returns."""

    @property
    def text(self) -> str:
        """The plan for a person: one line for each step, and one for each value that is made."""
        lines: list[str] = []
        for number, step in enumerate(self.steps, start=1):
            lines.append(f"{number}. {step.id}: {step.tool} ({step.effect}), {step.runs} -> {chosen_by(step.origins)}")
            lines += [described(value) for value in step.arguments]
        return "\n".join([*lines, described(self.result).strip()])


def described(value: ArgumentPlan) -> str:
    return f"   {value.path} = {', '.join(value.refs)} -> {chosen_by(value.origins)}"


def chosen_by(origins: tuple[str, ...]) -> str:
    return f"foreign: {', '.join(origins)}" if origins else "own"


def plan_pipeline(
    deployment: Deployment,
    pipeline: Pipeline,
    *,
    caller: Caller | None = None,
    inputs: Mapping[str, JsonValue | Foreign[JsonValue]] | None = None,
    document: Document | None = None,
) -> Plan:
    """Look a pipeline through without running any of it: the dry run.

    What it says of foreign values is what the declarations say; a step may turn out to return own words after all, never the
    other way round. Inputs that are not given count as own.

    Args:
        deployment: the tools, and what the caller may use.
        pipeline: the pipeline.
        caller: who will run it; None is the process itself.
        inputs: the values of a run, as for `run_pipeline`; None when they are not known yet.
        document: the file that it came from, for the lines in messages.

    Raises:
        PipelineError: it cannot run; the text names each step and path.
    """
    report(list(problems(pipeline)), document)
    planner = Planner(deployment=deployment, permitted=deployment.permitted_for(caller))
    if inputs is not None:
        planner.take_inputs(pipeline, inputs)
    steps = tuple(planner.step(step, number) for number, step in enumerate(pipeline.steps))
    report(planner.problems, document)
    if "result" in pipeline.model_fields_set:
        refs = refs_of(pipeline.result)
        result = ArgumentPlan(
            path="result", refs=tuple(ref.text for ref in refs), origins=join_origins(*map(planner.origins_at, refs))
        )
    else:
        result = ArgumentPlan(path="result", refs=(steps[-1].id,), origins=steps[-1].origins)
    return Plan(steps=steps, result=result)


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Planner:
    """One pass over the steps, with what is known of those before."""

    deployment: Deployment
    permitted: Permitted
    problems: list[Problem] = field(default_factory=list[Problem])
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Who may choose what a step returned, or the item of the step at hand."""
    input_origins: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def take_inputs(self, pipeline: Pipeline, inputs: Mapping[str, object]) -> None:
        missing = [name for name in pipeline.inputs if name not in inputs]
        unknown = len([name for name in inputs if name not in pipeline.inputs])
        if missing:
            message = f"{', '.join(map(repr, missing))} must be given"
            self.problems.append(Problem(way=("inputs",), step=None, message=message))
        if unknown:
            message = f"{unknown} of the inputs that are given are none that the pipeline lists"
            self.problems.append(Problem(way=("inputs",), step=None, message=message))
        for name, value in inputs.items():
            if not isinstance(value, Foreign):
                continue
            self.input_origins[name] = origins_of(cast("Foreign[object]", value)) or (f"input {name}",)

    def origins_at(self, ref: Ref) -> tuple[str, ...]:
        if ref.step == "inputs":
            return self.input_origins.get(ref.segments[0].name or "", ())
        return self.origins.get(ref.step, ())

    def step(self, step: Step, number: int) -> StepPlan:
        tool = self.tool_of(step, number)
        if step.for_each is not None:
            self.origins["item"] = self.origins_at(parse_ref(step.for_each.ref))
        made = [
            ArgumentPlan(
                path=f"arguments.{name}",
                refs=tuple(ref.text for ref in refs),
                origins=join_origins(*map(self.origins_at, refs)),
            )
            for name, argument in step.arguments.items()
            if (refs := refs_of(argument))
        ]
        self.origins.pop("item", None)
        self.origins[step.id] = join_origins(declared_by(tool, step), *(argument.origins for argument in made))
        if tool is not None:
            self.problems += misfits(tool, step, number)
        return StepPlan(
            id=step.id,
            tool=step.tool,
            effect="?" if tool is None else tool.effect,
            runs=how_often(step),
            arguments=tuple(made),
            origins=self.origins[step.id],
        )

    def tool_of(self, step: Step, number: int) -> AnyTool | None:
        tool = self.deployment.tools.get(step.tool)
        message = None
        if tool is None:
            message = f"there is no tool {step.tool!r} here"
        elif not self.permitted.allows(tool.grant):
            message, tool = f"this caller may not use the tool {step.tool!r}", None
        if message is not None:
            self.problems.append(Problem(way=("steps", number, "tool"), step=step.id, message=message))
        return tool


def how_often(step: Step) -> str:
    runs = "once" if step.for_each is None else f"for each item of {step.for_each.ref} (at most {step.for_each.max})"
    if step.when is None:
        return runs
    test = (
        "equals a value" if isinstance(step.when, WhenEquals) else f"{'exists' if step.when.exists else 'is missing'}"
    )
    return f"{runs}, when {step.when.ref} {test}"


def declared_by(tool: AnyTool | None, step: Step) -> tuple[str, ...]:
    """The origin that a tool declares; one that is made from the input is known when nothing of the input is a reference."""
    if tool is None or tool.untrusted_output is False:
        return ()
    declared: object = tool.untrusted_output
    if isinstance(declared, str):
        return (declared,)
    unknown = (f"an origin made from the input of {tool.name}",)
    if refs_of(step.arguments):
        return unknown
    try:
        request = parse(tool, plain(step.arguments))
        made = None if isinstance(request, list) else tool.untrusted_output(request)
    except Exception:  # noqa: BLE001  # the author's own function; when it runs, the dispatcher says what is wrong with it
        return unknown
    return (made,) if isinstance(made, str) and is_origin(made) else unknown


@final
class Unmade:
    """Stands for a value that is made when the pipeline runs."""


UNMADE: Final = Unmade()


def plain(argument: object) -> Any:
    """An argument with what is known of it, and `UNMADE` for the rest."""
    if isinstance(argument, LiteralForm):
        return argument.literal
    if isinstance(argument, RefForm):
        return UNMADE
    if isinstance(argument, TextForm | PromptForm):
        return UNMADE
    if isinstance(argument, dict):
        return {name: plain(item) for name, item in cast("dict[str, object]", argument).items()}
    if isinstance(argument, list):
        return [plain(item) for item in cast("list[object]", argument)]
    return argument


def misfits(tool: AnyTool, step: Step, number: int) -> Iterator[Problem]:
    """Arguments that cannot fit, whatever the references find; and fields for a model that are not filled by `$prompt`."""
    way = ("steps", number, "arguments")
    arguments = plain(step.arguments)
    try:
        errors = parse(tool, arguments)
    except Exception:  # noqa: BLE001  # a validator of the author's, on a value that stands for another
        errors = []
    for error in errors if isinstance(errors, list) else []:
        if is_certain(error, arguments):
            said = sentence(error, is_own=wording(tool).schema is None)
            yield Problem(way=(*way, *error["loc"]), step=step.id, message=said)
    for name, made in step.arguments.items():
        if is_for_model(tool, name) and not isinstance(made, PromptForm) and refs_of(made):
            message = f"the field is read by a model, so only $prompt may fill it from other steps (tool {tool.name!r})"
            yield Problem(way=(*way, name), step=step.id, message=message)


def is_certain(error: ErrorDetails, arguments: object) -> bool:
    """Whether an error is one of what stands in the file, and of nothing that is made later.

    Its place must lead through the arguments as they are written: the name of a branch of a union does not, and the error of
    one branch says nothing while another may fit.
    """
    if not holds_unmade(arguments):
        return True
    loc = error["loc"]
    for number, step in enumerate(loc):
        is_last = number == len(loc) - 1
        if isinstance(arguments, dict) and (is_last or step in cast("dict[object, object]", arguments)):
            arguments = cast("dict[object, object]", arguments).get(step)
        elif isinstance(arguments, list) and isinstance(step, int) and step < len(cast("list[object]", arguments)):
            arguments = cast("list[object]", arguments)[step]
        else:
            return False
    return error["type"] in UNKNOWN_KEY or not holds_unmade(arguments)


def holds_unmade(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(holds_unmade, cast("dict[str, object]", value).values()))
    return any(map(holds_unmade, cast("list[object]", value))) if isinstance(value, list) else value is UNMADE


def is_for_model(tool: AnyTool, name: str) -> bool:
    found = next((f for n, f in tool.input.model_fields.items() if name in (n, f.alias)), None)
    return found is not None and READ_BY_MODEL in found.metadata
