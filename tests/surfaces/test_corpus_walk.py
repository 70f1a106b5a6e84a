"""One body of tests over every surface: the same registry gives the same bytes, whoever asks and whatever was planted.

The hostile corpus walks through every field that a stranger may write in, with another text in each.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from registry import Admission, AnyTool, Deployment, Foreign, ToolFailed, ToolInput, refuse, reply
from registry.testing.corpus import BODIES, FAILURES, PROSE
from tests.support.deployments import WAIT_S, Text, codes, deploy, tool, until
from tests.support.loops import in_loop
from tests.support.told import taken_apart
from tests.surfaces.table import (
    ECHOES_THE_NAME,
    HAS_NO_WORD_FOR_ERRORS,
    SAYS_NOTHING_OF,
    SENDS_NO_STRUCTURE,
    SURFACES,
    Shown,
)

SECRET = "postgres://user:password@host"
ATTACKS = tuple(dict.fromkeys(attack.text for attack in (*BODIES, *FAILURES, *PROSE)))


class Index(ToolInput):
    """Which attack."""

    at: int


def attack(at: int) -> str:
    """An attack by its number; the next one is another text."""
    return ATTACKS[at % len(ATTACKS)]


async def page(request: Index) -> Any:
    """Our head, their text, and their data, a different attack in each."""
    data = {"title": attack(request.at + 1), "rows": [attack(request.at + 2)]}
    return reply("One page.", Foreign(attack(request.at)), data=Foreign(data))


async def failing(request: Index) -> str:
    """A failure of ours, about which they say something."""
    raise ToolFailed("The other side said no.", Foreign(attack(request.at)))


def origin(request: Index) -> str:
    """An origin that they chose as well, such as an address."""
    return f"page {attack(request.at + 3)}"


WALKED = (
    tool(page, origin, name="page", takes=Index),
    tool(failing, origin, name="failing", takes=Index),
)


def surfaces() -> pytest.MarkDecorator:
    """Run a test on every surface."""
    return pytest.mark.parametrize("surface", SURFACES)


def on_surface(test: Callable[[str], Awaitable[None]]) -> Callable[[str], None]:
    return pytest.mark.parametrize("surface", SURFACES)(in_loop(test))


def roomy(*tools: AnyTool) -> Deployment:
    return deploy(
        *tools, max_result_chars=5_000_000, reply_timeout_s=30, admission=Admission(max_concurrent=8, window_s=5)
    )


async def asked(surface: str, tools: tuple[AnyTool, ...], name: str, arguments: dict[str, Any]) -> tuple[Shown, Shown]:
    """What a surface shows, and what the dispatcher does."""
    deployment = roomy(*tools)
    async with SURFACES["in process"](deployment) as ask:
        own = await ask(name, arguments)
    async with SURFACES[surface](deployment) as ask:
        return await ask(name, arguments), own


def same(surface: str, got: Shown, own: Shown, code: str = "") -> list[str]:
    """What differs between a surface and the dispatcher."""
    wrong: list[str] = []
    if got.text != own.text and (surface, code) not in SAYS_NOTHING_OF:
        wrong.append("text")
    if got.structured != own.structured and surface not in SENDS_NO_STRUCTURE:
        wrong.append("data")
    if got.kind != own.kind and surface not in HAS_NO_WORD_FOR_ERRORS:
        wrong.append("kind")
    return wrong


# -- the corpus ----------------------------------------------------------------------------------------------------


@on_surface
async def test_what_a_stranger_wrote_stands_in_the_fence_of_the_text_and_in_the_envelope_of_the_data(
    surface: str,
) -> None:
    wrong: list[tuple[int, list[str]]] = []
    deployment = roomy(*WALKED)
    async with SURFACES["in process"](deployment) as own, SURFACES[surface](deployment) as ask:
        for at in range(len(ATTACKS)):
            got = await ask("page", {"at": at})
            faults = same(surface, got, await own("page", {"at": at}))
            outside, inside = taken_apart(got.text or "")
            faults += ["fence"] if (outside, inside) != ("One page.", (attack(at),)) else []
            data = {"title": attack(at + 1), "rows": [attack(at + 2)]}
            envelope = {"untrusted": data, "origins": [origin(Index(at=at))]}
            faults += ["envelope"] if got.structured not in (envelope, None) else []
            faults += ["structure"] if (got.structured is None) != (surface in SENDS_NO_STRUCTURE) else []
            faults += ["rest"] if holds_any(got.rest, at) else []
            wrong += [(at, faults)] if faults else []

    assert wrong == []


@on_surface
async def test_what_a_stranger_says_about_a_failure_stands_in_the_fence(surface: str) -> None:
    wrong: list[tuple[int, list[str]]] = []
    deployment = roomy(*WALKED)
    async with SURFACES["in process"](deployment) as own, SURFACES[surface](deployment) as ask:
        for at in range(len(ATTACKS)):
            got = await ask("failing", {"at": at})
            faults = same(surface, got, await own("failing", {"at": at}))
            outside, inside = taken_apart(got.text or "")
            faults += ["fence"] if inside != (attack(at),) or "The other side said no." not in outside else []
            faults += ["data"] if got.structured is not None else []
            faults += ["rest"] if holds_any(got.rest, at) else []
            wrong += [(at, faults)] if faults else []

    assert wrong == []


def holds_any(rest: str, at: int) -> bool:
    """Whether the part that must be ours holds an attack, as it is or as JSON writes it."""
    planted = [attack(at + step) for step in range(4)]
    return any(text in rest or json.dumps(text)[1:-1] in rest for text in planted if len(text) > MEANT)


# A text of a few characters may stand anywhere by chance.
MEANT = 8


# -- each kind of outcome ------------------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[object], str]:
    def handler(_: object) -> str:
        raise error

    return handler


class Unprintable(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


OUTCOMES: dict[str, tuple[AnyTool, dict[str, Any]]] = {
    "answered": (tool(lambda _: reply("Ours.", data={"a": [1, None, "b"]})), {}),
    "empty": (tool(lambda _: ""), {}),
    "own words that are no UTF-8": (tool(lambda _: "a\ud800b"), {}),
    "bytes that are no UTF-8": (tool(lambda _: b"\xff\xfe\x00", "a file"), {}),
    "data that is no UTF-8": (tool(lambda _: reply("x", data=Foreign({"a\udcff": "\ud800"})), "a file"), {}),
    "refused": (tool(lambda _: refuse("no_such_page", "There is no such page.")), {}),
    "too large": (tool(lambda _: "x" * 50_000_000), {}),
    "undeclared": (tool(lambda _: Foreign(SECRET)), {}),
    "malformed": (tool(lambda _: "x", takes=Text), {"text": [SECRET], SECRET: SECRET, "other": {SECRET: 1}}),
    "malformed because of a lone surrogate": (tool(lambda _: "x", takes=Text), {"text": [SECRET], "\x00": 1}),
    "failed": (tool(raising(RuntimeError(SECRET))), {}),
    "failed in words of its own": (tool(raising(ToolFailed("The disk is full."))), {}),
    "failed and cannot say why": (tool(raising(Unprintable())), {}),
    "failed as a group": (tool(raising(BaseExceptionGroup(SECRET, [KeyboardInterrupt(SECRET)]))), {}),
    "failed by ending the thread": (tool(raising(SystemExit(SECRET))), {}),
    "failed by stopping": (tool(raising(StopIteration(SECRET))), {}),
    "failed because of a bad answer": (tool(lambda _: 5, "a number"), {}),
}


@pytest.mark.parametrize("kind", OUTCOMES)
@surfaces()
def test_every_kind_of_outcome_is_the_same_everywhere_and_shows_no_secret(surface: str, kind: str) -> None:
    one, arguments = OUTCOMES[kind]

    @in_loop
    async def run() -> None:
        got, own = await asked(surface, (one,), "tool", arguments)
        assert (same(surface, got, own), got.structured is None or surface not in SENDS_NO_STRUCTURE) == ([], True)
        assert SECRET not in f"{got.text}{json.dumps(got.structured)}{got.rest}"

    run()


@on_surface
async def test_a_tool_that_there_is_not_is_named_nowhere(surface: str) -> None:
    got, own = await asked(surface, (tool(lambda _: "x"),), "no-such-tool", {})

    assert same(surface, got, own, "unknown_tool") == []
    assert "no-such-tool" not in (got.text or "")
    assert ("no-such-tool" in got.rest) is (surface in ECHOES_THE_NAME)


@on_surface
async def test_a_call_that_finds_no_place_is_shed(surface: str) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def stay(_: object) -> str:
        inside.set()
        await leave.wait()
        return "done"

    deployment = deploy(tool(stay), admission=Admission(max_concurrent=1, window_s=0))
    async with SURFACES["in process"](deployment) as own, SURFACES[surface](deployment) as ask:
        first = asyncio.ensure_future(own("tool", {}))
        await inside.wait()
        shed = await own("tool", {}), await ask("tool", {})
        leave.set()
        done = await first

    assert (same(surface, shed[1], shed[0]), done.text) == ([], "done")
    assert "not started" in (shed[0].text or "")


@pytest.mark.parametrize("effect", ["read", "write"])
@surfaces()
def test_a_call_that_runs_out_of_time_says_whether_it_may_be_repeated(surface: str, effect: Any) -> None:
    over = threading.Event()

    async def stay(_: object) -> str:
        await until(over.is_set)
        return "done"

    @in_loop
    async def run() -> None:
        admission = Admission(max_concurrent=4, window_s=0.01)
        deployment = deploy(tool(stay, effect=effect), admission=admission, reply_timeout_s=0.1)
        async with SURFACES["in process"](deployment) as own, SURFACES[surface](deployment) as ask:
            late = await own("tool", {}), await ask("tool", {})
            over.set()
            await until(lambda: admission.in_use == 0)
        assert same(surface, late[1], late[0]) == []
        assert ("Do not repeat" in (late[1].text or "")) is (effect == "write")

    run()


@pytest.mark.parametrize("effect", ["read", "write"])
@surfaces()
def test_a_caller_that_leaves_gets_nothing_and_every_place_comes_back(surface: str, effect: Any) -> None:
    inside, over = threading.Event(), threading.Event()
    ends: list[str] = []
    audited: list[Any] = []

    async def stay(_: object) -> str:
        inside.set()
        try:
            await until(over.is_set)
        except asyncio.CancelledError:
            ends.append("stopped")
            raise
        ends.append("ran on")
        return "done"

    @in_loop
    async def run() -> None:
        admission = Admission(max_concurrent=4, window_s=1)
        deployment = deploy(
            tool(stay, effect=effect), admission=admission, audit=audited.append, reply_timeout_s=WAIT_S
        )
        async with SURFACES[surface](deployment) as ask:
            task = asyncio.ensure_future(ask("tool", {}))
            await until(inside.is_set)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: len(audited) == 1)
            over.set()
            await until(lambda: admission.in_use == 0)
            after = await ask("tool", {})
        assert (ends[:1], codes(audited)) == (["stopped" if effect == "read" else "ran on"], ["cancelled", "answered"])
        assert after.text == "done"

    run()


@on_surface
async def test_a_surface_goes_on_after_the_worst_of_each_kind(surface: str) -> None:
    worst = tuple(
        tool(one.handler, one.untrusted_output, name=f"worst{number}", takes=one.input)
        for number, (one, _) in enumerate(OUTCOMES.values())
    )
    deployment = deploy(*worst, tool(lambda _: "well", name="good"))
    async with SURFACES[surface](deployment) as ask:
        await asyncio.gather(
            *(ask(f"worst{number}", arguments) for number, (_, arguments) in enumerate(OUTCOMES.values()))
        )
        after = await ask("good", {})

    assert (after.text, deployment.admission.in_use) == ("well", 0)


def test_the_walk_can_see_what_it_looks_for() -> None:
    assert taken_apart(attack(0)) == (attack(0), ())
    assert holds_any(json.dumps({"a": attack(1)}), 0)
    assert len(ATTACKS) > 100
