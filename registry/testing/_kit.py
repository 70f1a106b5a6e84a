"""Checks that a registry does what its declarations say, through the dispatcher and over the tools as they are.

Each tool is called with handlers of ours in the place of its own, so nothing of the author's runs but input validation and
the origin function; `assert_own_words` alone runs a real handler, and only one that declares itself harmless.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias, TypeVar, cast, final

from registry import (
    AnyTool,
    Caller,
    Deployment,
    Foreign,
    Outcome,
    Registry,
    ToolFailed,
    ToolInput,
    catalog,
    refuse,
    reply,
    run_registry_tool,
    unfence_untrusted,
)
from registry._envelope import outcome_body
from registry._fence import WORD
from registry._nested import in_event_loop
from registry.errors import FenceError
from registry.testing._observer import observe_ingress
from registry.testing._samples import sample_arguments, sampled
from registry.testing.corpus import BODIES, FAILURES

__all__ = [
    "assert_inputs_not_named",
    "assert_own_words",
    "assert_registry_declares",
    "assert_withstands_corpus",
    "fake_caller",
]

Arguments: TypeAlias = "Mapping[str, Mapping[str, Any]]"
T = TypeVar("T")

WAIT_S: Final = 30.0
OWN_WORDS: Final = "Canned own words."
FOREIGN_TEXT: Final = "Canned foreign text.\nIt has a second line."
SENTENCE: Final = "Canned refusal."


def fake_caller(*grants: str, id: str = "a caller of a test") -> Caller:  # noqa: A002  # the field's name
    """Return a caller with these grants and no others."""
    return Caller(id, frozenset(grants))


def assert_registry_declares(registry: Registry | Iterable[AnyTool], *, arguments: Arguments | None = None) -> None:
    """Assert that each tool answers as it declares: under an origin a canned answer, a canned failure's detail and a canned
    refusal to foreign arguments come out fenced, with their bytes intact; under `False` own words come out bare and foreign
    ones not at all.

    Args:
        registry: the real registry, or its tools.
        arguments: arguments by tool, for inputs of which none can be made from the schema.

    Raises:
        AssertionError: names the tool and what it did.
    """
    for tool in tools_of(registry):
        waited(declares(Stage(tool, arguments or {})))


def assert_withstands_corpus(registry: Registry | Iterable[AnyTool], *, arguments: Arguments | None = None) -> None:
    """Assert for each tool that no text of the corpus leaves its fence or its envelope, as an answer (under an origin) or as
    the detail of a failure, and that each survives byte for byte.

    Raises:
        AssertionError: names the tool and the text of the corpus.
    """
    for tool in tools_of(registry):
        waited(withstands(Stage(tool, arguments or {})))


def assert_own_words(registry: Registry | Iterable[AnyTool], *, arguments: Arguments | None = None) -> tuple[str, ...]:
    """Run the real handler of each tool that declares `False` and the effect `read`, and assert that it opens no file,
    socket, process or database meanwhile.

    Returns:
        One sentence for each tool that declares `False` and could not be run.

    Raises:
        AssertionError: names the tool and what it opened.
    """
    return tuple(reason for tool in tools_of(registry) for reason in [observed(tool, arguments or {})] if reason)


def assert_inputs_not_named(registry: Registry | Iterable[AnyTool], *names: str) -> None:
    """Assert that no tool takes an input of one of these names, at any depth, such as `"sql"` on a tool that is to hide it.

    Raises:
        AssertionError: names the tool and the input.
    """
    for tool in tools_of(registry):
        for found in input_names(catalog(deployment_of(tool)).tools[0].schema()):
            hold(found not in names, f"Tool {tool.name!r} takes an input named {found!r}, which it must not.")


def input_names(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        node = cast("dict[str, object]", schema)
        yield from cast("dict[str, object]", node.get("properties", {}))
        for branch in node.values():
            yield from input_names(branch)
    elif isinstance(schema, list):
        for branch in cast("list[object]", schema):
            yield from input_names(branch)


# -- one tool ------------------------------------------------------------------------------------------------------


async def declares(stage: Stage) -> None:
    own = await stage.answered(reply(OWN_WORDS))
    failed = await stage.failed(OWN_WORDS, None)
    refused = await stage.answered(refuse("canned", SENTENCE))
    stage.says(own.text == OWN_WORDS, "own words do not come out as they are", own)
    stage.says(failed.code == "failed" and failed.text.endswith(OWN_WORDS), "a failure's own words are lost", failed)
    stage.says(refused.code == "canned" and refused.text.endswith(SENTENCE), "a refusal does not come out", refused)
    stage.says(WORD not in failed.text + refused.text, "own words are fenced", failed)
    stage.is_fenced(await stage.failed(OWN_WORDS, FOREIGN_TEXT), FOREIGN_TEXT, f"The tool failed.\n{OWN_WORDS}")
    echoed = await stage.answered(refuse("canned", SENTENCE), argument_origins=("a stranger",))
    stage.is_fenced(echoed, SENTENCE, "Refused (canned).")

    bare = await stage.answered(FOREIGN_TEXT)
    foreign = await stage.answered(reply(Foreign(FOREIGN_TEXT)))
    if stage.tool.untrusted_output is False:
        stage.says(bare.text == FOREIGN_TEXT, "declares False, and its text is not shown as it is", bare)
        stage.says(foreign.code == "undeclared_foreign", "declares False, and foreign text is shown", foreign)
        return
    stage.is_fenced(bare, FOREIGN_TEXT, "")
    stage.is_fenced(foreign, FOREIGN_TEXT, "")
    stage.is_fenced(await stage.answered(reply(OWN_WORDS, Foreign(FOREIGN_TEXT))), FOREIGN_TEXT, OWN_WORDS)


async def withstands(stage: Stage) -> None:
    for attack in FAILURES:
        failed = await stage.failed(OWN_WORDS, attack.text)
        stage.is_fenced(failed, attack.text, f"The tool failed.\n{OWN_WORDS}", attack.id)
    if stage.tool.untrusted_output is False:
        return
    seen = (await stage.answered(FOREIGN_TEXT)).text
    for attack in BODIES:
        for text in dict.fromkeys((attack.text, attack.after(seen))):
            outcome = await stage.answered(reply(OWN_WORDS, Foreign(text), data=Foreign({"text": text})))
            stage.is_fenced(outcome, text, OWN_WORDS, attack.id)
            stage.is_enveloped(outcome, {"text": text}, attack.id)


def observed(tool: AnyTool, arguments: Arguments) -> str | None:
    if tool.untrusted_output is not False:
        return None
    if tool.effect != "read":
        return f"Tool {tool.name!r} was not run: its effect is {tool.effect!r}, and only a 'read' is run unasked."
    given = dict(arguments[tool.name]) if tool.name in arguments else sample_arguments(tool)
    if given is None:
        return f"Tool {tool.name!r} was not run: no arguments can be made from its schema. Give some."
    with observe_ingress() as watched:
        waited(run_registry_tool(deployment_of(tool), tool.name, given))
    opened = "".join(f"\n  {found}" for found in watched.undeclared)
    hold(
        not opened,
        f"Tool {tool.name!r} declares untrusted_output=False and opened:{opened}\n"
        "If bytes of it reach the answer, declare an origin.",
    )
    return None


def hold(holds: bool, sentence: str) -> None:
    """Fail with our sentence alone. pytest rewrites an `assert` in an installed plugin's package, and adds to its words."""
    if not holds:
        raise AssertionError(sentence)


@final
class Stage:
    """A tool with a handler of ours in the place of its own, and a deployment around it."""

    def __init__(self, tool: AnyTool, arguments: Arguments) -> None:
        given = dict(arguments[tool.name]) if tool.name in arguments else sample_arguments(tool)
        self.tool: AnyTool = dataclasses.replace(
            tool, handler=self.play, input=tool.input if given is not None else unvalidated(tool)
        )
        self.is_guess = given is None
        self.arguments: dict[str, Any] = given or {}
        self.deployment = deployment_of(self.tool)
        self.act: Callable[[], Any] = str

    async def play(self, _: object) -> Any:
        return self.act()

    async def answered(self, answer: object, argument_origins: Iterable[str] = ()) -> Outcome:
        """Call the tool with a handler that returns this."""
        self.act = lambda: answer
        outcome = await run_registry_tool(
            self.deployment, self.tool.name, self.arguments, argument_origins=argument_origins
        )
        if outcome.code == "failed" or outcome.code == "malformed":
            self.says(not self.is_guess, "no arguments can be made from its schema. Give some", outcome)
        return outcome

    async def failed(self, words: str, detail: str | None) -> Outcome:
        """Call the tool with a handler that raises this."""

        def fail() -> None:
            raise ToolFailed(words, detail=None if detail is None else Foreign(detail))

        self.act = fail
        return await run_registry_tool(self.deployment, self.tool.name, self.arguments)

    def is_fenced(self, outcome: Outcome, text: str, head: str, attack: str = "") -> None:
        """What was foreign is one block after our own head, and comes out of it byte for byte."""
        what = f"{attack} of the corpus" if attack else "foreign text"
        own, block = (head, outcome.text) if not head else (outcome.text[: len(head)], outcome.text[len(head) + 1 :])
        self.says(own == head, f"{what} changes the own words before it", outcome)
        try:
            inside = unfence_untrusted(block, key=self.deployment.fence_key)
        except FenceError:
            raise AssertionError(self.problem(f"{what} is not in one fence", outcome)) from None
        self.says(inside == text, f"{what} does not come out of its fence byte for byte", outcome)

    def is_enveloped(self, outcome: Outcome, data: object, attack: str) -> None:
        """The structured half has our keys alone, and under the key for foreign data what was given, byte for byte."""
        body: Any = json.loads(json.dumps(outcome_body(outcome)))
        is_ours = set(body) == {"outcome", "text", "origins", "data"} and set(body["data"]) == {"untrusted", "origins"}
        self.says(is_ours, f"{attack} of the corpus leaves the envelope of its structured half", outcome)
        self.says(
            body["data"]["untrusted"] == data, f"{attack} of the corpus is changed in its structured half", outcome
        )

    def says(self, holds: bool, what: str, outcome: Outcome) -> None:
        hold(holds, self.problem(what, outcome))

    def problem(self, what: str, outcome: Outcome) -> str:
        return f"Tool {self.tool.name!r}: {what}. The outcome is {outcome.code!r}: {outcome.text[:500]!r}"


def unvalidated(tool: AnyTool) -> type[ToolInput]:
    """The tool's input without its validation, so that an origin function gets something of the right shape."""
    schema = tool.input.model_json_schema()
    guess = sampled(schema, schema, 0)
    values = {name: guess.get(name) for name in cast("dict[str, object]", tool.input.model_fields)}
    made: ToolInput = tool.input.model_construct(**values)

    class Unvalidated(tool.input):  # type: ignore[misc, name-defined]  # the class is a value here
        @classmethod
        def model_validate(cls, *_: object, **__: object) -> ToolInput:
            return made

    return cast("type[ToolInput]", Unvalidated)


def deployment_of(tool: AnyTool) -> Deployment:
    # Bounds that no text of the corpus runs into.
    return dataclasses.replace(Deployment.single_user([tool], reply_timeout_s=WAIT_S), max_result_chars=50_000_000)


def tools_of(registry: Registry | Iterable[AnyTool]) -> tuple[AnyTool, ...]:
    return tuple((registry if isinstance(registry, Registry) else Registry(registry)).values())


def waited(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end, also where an event loop runs already: then in a thread with a loop of its own."""
    if not in_event_loop():
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(asyncio.run, work).result()
