"""Running a pipeline: each step through the dispatcher, values bound raw and typed, and their origins with them.

A value that somebody else chose stays `Foreign` to the end: it is fenced where a model reads it, and exact where a program
does. What a step found is never shown in a message of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, cast, final

from pydantic import JsonValue

from registry._as_text import as_text
from registry._deployment import Caller, Deployment
from registry._dispatch import REFUSALS, Dispatched, start_call
from registry._fence import Segment, compose
from registry._foreign import Foreign, join_origins, open_foreign, origins_of, under
from registry._outcome import Answered, Failed, Malformed, Outcome, Refused, Shed, TimedOut
from registry._pipeline_model import LiteralForm, Pipeline, PromptForm, RefForm, Step, TextForm, When, WhenEquals
from registry._pipeline_plan import plan_pipeline
from registry._pipeline_refs import ID, Missing, Ref, find, parse_ref, parse_template
from registry._render import refusal_text
from registry._reply import Media, Reply, json_data
from registry.errors import ForeignError, PipelineError, PromptError, ReplyError
from registry.prompt import PromptPart, owner, prompt, stranger

__all__ = ["PipelineResult", "StepResult", "run_pipeline"]

Origins: TypeAlias = tuple[str, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepResult:
    """What became of a step."""

    id: str
    """The step."""
    tool: str
    """The tool that it calls."""
    outcomes: tuple[Outcome, ...]
    """What each call ended in; empty when `when` turned the step down, or its list was empty."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineResult:
    """What a pipeline ended in. `outcome` is for whoever reads an outcome; `value` is the answer for a program."""

    outcome: Outcome
    """`Answered`, or what stopped it: a refusal as the tool worded it, or a failure that names the step."""
    stopped_at: str | None
    """The step that stopped it."""
    steps: tuple[StepResult, ...]
    """The steps that were come to, in order."""

    @property
    def text(self) -> str:
        """What a model may read."""
        return self.outcome.text

    @property
    def value(self) -> JsonValue | Foreign[JsonValue]:
        """What the pipeline returned, raw and typed; `Foreign` when somebody else chose any of it. None when it stopped."""
        return self.outcome.data if isinstance(self.outcome, Answered) else None

    @property
    def origins(self) -> tuple[str, ...]:
        """Who chose the foreign bytes of the outcome."""
        return self.outcome.origins if isinstance(self.outcome, Answered | Refused | Failed) else ()


async def run_pipeline(
    deployment: Deployment,
    pipeline: Pipeline,
    *,
    inputs: Mapping[str, JsonValue | Foreign[JsonValue]] | None = None,
    caller: Caller | None = None,
) -> PipelineResult:
    """Check a pipeline whole, then run its steps one after the other.

    Each step is a call like any other: permissions, admission, deadline and audit hold for each. A step that ends in anything
    but an answer stops the pipeline.

    Args:
        deployment: what the composition root decided.
        pipeline: the pipeline.
        inputs: the values that it lists; `Foreign` for what the owner did not choose.
        caller: who asks; None is the process itself.

    Raises:
        PipelineError: it cannot run. Nothing has run.
        asyncio.CancelledError: the caller was cancelled.
    """
    given = {name: json_input(name, value) for name, value in (inputs or {}).items()}
    plan_pipeline(deployment, pipeline, caller=caller, inputs=given)
    run = Run(deployment=deployment, caller=caller, inputs={name: bound(name, value) for name, value in given.items()})
    last: Dispatched | None = None
    for step in pipeline.steps:
        try:
            last = await run.step(step) or last
        except Stopped as stop:
            return PipelineResult(
                outcome=stopped_at(step.id, stop.outcome), stopped_at=step.id, steps=tuple(run.results)
            )
    try:
        outcome = run.answer(pipeline, last)
    except Unbound as error:
        outcome = Failed(text=f"The pipeline ran and has no result: {error}.")
    return PipelineResult(outcome=outcome, stopped_at=None, steps=tuple(run.results))


def json_input(name: str, value: object) -> JsonValue | Foreign[JsonValue]:
    """A value of a run as JSON, built anew."""
    try:
        return cast("Foreign[object]", value).map(json_data) if isinstance(value, Foreign) else json_data(value)
    except (ReplyError, ForeignError):
        shown = name if ID.fullmatch(name) else "one"
    raise PipelineError(f"inputs: {shown!r} is not JSON: str, int, float, bool, None, list, dict.")


# -- values --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Value:
    """A raw value and who chose it; nobody else where there are no origins."""

    raw: Any
    origins: Origins


def bound(name: str, value: object) -> Value:
    if isinstance(value, Foreign):
        foreign = cast("Foreign[object]", value)
        return Value(open_foreign(foreign), origins_of(foreign) or (f"input {name}",))
    return Value(value, ())


def value_of(done: Dispatched) -> Value:
    """What a step returned, for a program: its data, else the text of its foreign parts, else its own words.

    A head of ours ("3 open issues") is no part of the value: it was written for a reader.
    """
    settled = cast("Reply[Any]", done.reply)
    answered = cast("Answered", done.outcome)
    if settled.has_data or answered.data is not None:
        return bound("", answered.data)
    returned = parts_of(done.returned) or settled.parts
    pairs = list(zip(settled.parts, returned, strict=True))
    theirs = [part for part, was in pairs if isinstance(was, Foreign)] or [part for part, _ in pairs]
    values = [bound("", part) for part in theirs]
    texts = [as_text(value.raw) for value in values if not isinstance(value.raw, Media)]
    return Value("\n".join(texts), join_origins(*(value.origins for value in values)))


def parts_of(returned: object) -> tuple[object, ...]:
    return returned.parts if isinstance(returned, Reply) else ()


def as_list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


@final
class Unbound(Exception):
    """A reference finds nothing when it is looked at; the text names it, and nothing of what was looked through."""


@final
class Stopped(Exception):
    """The pipeline stops with this outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


def stopped_at(step: str, outcome: Outcome) -> Outcome:
    """A refusal stays as it is; everything else says which step it was."""
    words = f"The pipeline stopped at step {step!r}."
    if isinstance(outcome, Malformed | Failed | Shed | TimedOut):
        return replace(outcome, text=f"{words}\n{outcome.text}")
    return outcome


# -- the run -------------------------------------------------------------------------------------------------------

SKIPPED: Final = Missing("refers to a step that did not run")


@final
@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One run, with what its steps have returned so far."""

    deployment: Deployment
    caller: Caller | None
    inputs: dict[str, Value]
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    results: list[StepResult] = field(default_factory=list[StepResult])

    async def step(self, step: Step) -> Dispatched | None:
        """Run a step; return its last answer, or None when it was turned down.

        Raises:
            Stopped: it ended in anything else.
        """
        calls: list[Dispatched] = []
        values: list[Value] = []
        try:
            for names in self.rounds(step):
                self.values |= names
                if step.when is not None and not self.holds(step.when):
                    continue
                done = await self.call(step)
                calls.append(done)
                if not isinstance(done.outcome, Answered):
                    raise Stopped(done.outcome)
                values.append(value_of(done))
        except Unbound as error:
            raise Stopped(Failed(text=f"{error}.")) from None
        finally:
            self.results.append(StepResult(id=step.id, tool=step.tool, outcomes=tuple(call.outcome for call in calls)))
            self.values.pop("item", None)
            self.values.pop("index", None)
        if step.for_each is not None:
            self.values[step.id] = Value(
                [value.raw for value in values], join_origins(*(value.origins for value in values))
            )
        elif values:
            self.values[step.id] = values[0]
        return calls[-1] if calls else None

    def rounds(self, step: Step) -> list[dict[str, Value]]:
        """What `item` and `index` are, once for each time that a step runs."""
        if step.for_each is None:
            return [{}]
        found = self.look(step.for_each.ref, "for_each")
        items = as_list(found.raw)
        if items is None:
            raise Unbound(f"for_each: {step.for_each.ref!r} is no list")
        if len(items) > step.for_each.max:
            raise Unbound(f"for_each: {step.for_each.ref!r} has {len(items)} items, more than {step.for_each.max}")
        return [{"item": Value(item, found.origins), "index": Value(n, ())} for n, item in enumerate(items)]

    def holds(self, when: When) -> bool:
        found = self.found(parse_ref(when.ref))
        if isinstance(when, WhenEquals):
            return not isinstance(found.raw, Missing) and is_same(found.raw, when.equals)
        return isinstance(found.raw, Missing) != when.exists

    async def call(self, step: Step) -> Dispatched:
        made = {name: self.made(argument, f"arguments.{name}") for name, argument in step.arguments.items()}
        return await start_call(
            self.deployment,
            step.tool,
            # A copy: a handler that changes what it was given must not change what a later step is given.
            {name: deepcopy(value.raw) for name, value in made.items()},
            self.caller,
            join_origins(*(value.origins for value in made.values())),
        )

    # -- making a value ----------------------------------------------------------------------------------------

    def made(self, argument: object, path: str) -> Value:
        """Make a value of an argument, with the origins of everything that went into it."""
        if isinstance(argument, LiteralForm):
            return Value(argument.literal, ())
        if isinstance(argument, RefForm):
            return self.look(argument.ref, path)
        if isinstance(argument, TextForm):
            pieces = self.pieces(argument.text, path)
            return Value("".join(as_text(piece.raw) for piece in pieces), origins_in(pieces))
        if isinstance(argument, PromptForm):
            pieces = self.pieces(argument.prompt, path)
            try:
                return Value(fenced(pieces, self.deployment), origins_in(pieces))
            except PromptError:
                raise Unbound(f"{path}: a value that is our own holds a block of the fence") from None
        if isinstance(argument, dict):
            named = {key: self.made(item, f"{path}.{key}") for key, item in cast("dict[str, object]", argument).items()}
            return Value({key: value.raw for key, value in named.items()}, origins_in(named.values()))
        if isinstance(argument, list):
            items = [self.made(item, f"{path}.{n}") for n, item in enumerate(cast("list[object]", argument))]
            return Value([value.raw for value in items], origins_in(items))
        return Value(argument, ())

    def pieces(self, text: str, path: str) -> list[Value]:
        return [
            Value(piece, ()) if isinstance(piece, str) else self.seen(piece, path)
            for piece in parse_template(text).pieces
        ]

    def look(self, ref: str, path: str) -> Value:
        return self.seen(parse_ref(ref), path)

    def seen(self, ref: Ref, path: str) -> Value:
        found = self.found(ref)
        if isinstance(found.raw, Missing):
            raise Unbound(f"{path}: {ref.text!r} {found.raw.why}")
        return found

    def found(self, ref: Ref) -> Value:
        """What a reference finds; `Missing` in the place of the value when that is nothing."""
        if ref.step == "inputs":
            given = self.inputs[ref.segments[0].name or ""]
            return Value(find(ref.segments[1:], given.raw), given.origins)
        value = self.values.get(ref.step)
        if value is None:
            return Value(SKIPPED, ())
        return Value(find(ref.segments, value.raw), value.origins)

    # -- the result --------------------------------------------------------------------------------------------

    def answer(self, pipeline: Pipeline, last: Dispatched | None) -> Outcome:
        """The outcome of a pipeline that came to its end."""
        if "result" in pipeline.model_fields_set:
            return self.shown(self.made(pipeline.result, "result"))
        ran = pipeline.steps[-1]
        if ran.for_each is not None:
            return self.shown(self.values[ran.id])
        if last is None or ran.id not in self.values:
            return Answered(text="The last step did not run.", data=None, origins=(), media=())
        value = self.values[ran.id]
        return replace(
            cast("Answered", last.outcome), data=under(value.raw, value.origins) if value.origins else value.raw
        )

    def shown(self, value: Value) -> Outcome:
        """A value as a program reads it, and fenced as a model does."""
        segment = Segment(text=as_text(value.raw), origins=value.origins or None)
        key, most = self.deployment.fence_key, self.deployment.max_result_chars
        text = compose([segment], key=key) if len(segment.text) <= most else ""
        if len(segment.text) > most or len(text) > most:
            code = "result_too_large"
            return Refused(code=code, text=refusal_text(code, REFUSALS[code], (), key))
        data: JsonValue | Foreign[JsonValue] = under(value.raw, value.origins) if value.origins else value.raw
        return Answered(text=text, data=data, origins=value.origins, media=())


def origins_in(values: Iterable[Value]) -> Origins:
    return join_origins(*(value.origins for value in values))


def fenced(pieces: Iterable[Value], deployment: Deployment) -> str:
    """A text for a model: the pipeline's own words are its owner's, and each foreign value stands in a block of its own."""
    parts: list[PromptPart] = []
    words = ""
    for piece in pieces:
        if not piece.origins:
            words += as_text(piece.raw)
            continue
        parts += [*owned(words), stranger(under(piece.raw, piece.origins))]
        words = ""
    return prompt(*parts, *owned(words)).text(key=deployment.fence_key)


def owned(words: str) -> list[PromptPart]:
    """What stands in a pipeline without an origin is the document's own text."""
    return [owner(words)] if words else []


def is_same(one: object, other: object) -> bool:
    """Whether two JSON values are the same; to Python, `True` is 1 and in JSON it is not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return len(items) == len(others) and all(map(is_same, items, others))
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    return one == other
