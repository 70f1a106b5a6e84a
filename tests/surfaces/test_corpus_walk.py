"""One body of tests over every surface: the same registry gives the same bytes, whoever asks and whatever was planted.

The hostile corpus walks through every field that a stranger may write in, with another text in each.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from registry import CatalogProse
from registry.testing.corpus import Attack
from tests.support.deployments import WAIT_S, until
from tests.support.loops import in_loop
from tests.support.told import taken_apart
from tests.surfaces.table import IN_PROCESS, SURFACES, Ask, Listed, Made, Shown, Surface, catalogue
from tests.surfaces.walked import (
    ATTACKS,
    GROUPS,
    HEAD,
    LONG,
    NAMES,
    OUTCOMES,
    PATIENT_S,
    SECRET,
    SHORT_PROSE,
    WORDS,
    Flags,
    data_of,
    described,
    every_outcome,
    hostile,
    origin_of,
    staying,
)


def on_surface(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on every surface, each time in a loop of its own."""
    every: Callable[..., Any] = pytest.mark.parametrize("surface", SURFACES.values(), ids=list(SURFACES))
    run: Callable[..., None] = every(in_loop(test))
    return run


async def both(stack: AsyncExitStack, surface: Surface, made: Made) -> tuple[Ask, Ask]:
    """The dispatcher, and a surface over another deployment that is made in the same way."""
    return (
        await stack.enter_async_context(IN_PROCESS.serve(made)),
        await stack.enter_async_context(surface.serve(made)),
    )


# -- what is the same ----------------------------------------------------------------------------------------------


def same(surface: Surface, got: Shown, own: Shown, code: str = "") -> list[str]:
    """What differs between a surface and the dispatcher."""
    wrong: list[str] = []
    if code in surface.says_nothing_of and got.text is None:
        return wrong if got.structured is None else ["data"]
    if got.text != carried_text(surface, own.text):
        wrong.append("text")
    if got.structured != carried_data(surface, value_of(surface, own)):
        wrong.append("data")
    if got.kind != own.kind and surface.tells_errors:
        wrong.append("kind")
    return wrong


def value_of(surface: Surface, own: Shown) -> JsonValue:
    """The structured half; where a program must have one, own words are it."""
    is_bare = own.structured is None and own.kind == "result"
    return {"own": own.text} if surface.gives_a_value and is_bare and not is_refusal(own) else own.structured


def is_refusal(own: Shown) -> bool:
    return (own.text or "").startswith("Refused (")


def carried_text(surface: Surface, text: str | None) -> str | None:
    """A text as it comes over a surface: byte for byte, but for what UTF-8 does not have."""
    if text is None or not surface.is_utf8:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def carried_data(surface: Surface, data: JsonValue) -> JsonValue:
    """Data as they come over a surface: whole, or not at all."""
    is_foreign = isinstance(data, dict) and "untrusted" in data
    if surface.structure == "none" or (surface.structure == "own" and is_foreign):
        return None
    if not surface.is_utf8 or is_unicode(json.dumps(data, ensure_ascii=False)):
        return data
    return {"omitted": "The data holds text that UTF-8 cannot carry, so none of it is sent."}


def is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


# -- the corpus ----------------------------------------------------------------------------------------------------


@on_surface
async def test_what_a_stranger_wrote_stands_in_the_fence_of_the_text_and_in_the_envelope_of_the_data(
    surface: Surface,
) -> None:
    wrong: list[tuple[str, list[str]]] = []
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, hostile)
        for number, group in enumerate(GROUPS):
            if len(group) == 1 and len(group[0].text) > surface.most_chars:
                continue
            got = await ask(f"answers{number}", {})
            faults = same(surface, got, await own(f"answers{number}", {}))
            outside, inside = taken_apart(got.text or "")
            whole = ("\n".join([HEAD] * len(group)), tuple(attack.text for attack in group))
            faults += ["fence"] if (outside, inside) != whole else []
            origins = ["a stranger", *map(origin_of, group)]
            envelope = carried_data(surface, {"untrusted": dict(data_of(group)), "origins": ["a stranger"]})
            faults += ["envelope"] if got.structured != envelope else []
            faults += ["rest"] if held(got.rest, group) or any(origin in got.rest for origin in origins[1:]) else []
            wrong += [(group[0].id, faults)] if faults else []

    assert wrong == []


@on_surface
async def test_what_a_stranger_says_about_a_failure_stands_in_the_fence(surface: Surface) -> None:
    wrong: list[tuple[str, list[str]]] = []
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, hostile)
        for number, group in enumerate(GROUPS):
            if len(group) == 1 and len(group[0].text) > surface.most_chars:
                continue
            got = await ask(f"fails{number}", {})
            faults = same(surface, got, await own(f"fails{number}", {}))
            outside, inside = taken_apart(got.text or "")
            whole = (f"The tool failed.\n{WORDS}", ("\n".join(attack.text for attack in group),))
            faults += ["fence"] if (outside, inside) != whole else []
            faults += ["rest"] if held(got.rest, group) else []
            wrong += [(group[0].id, faults)] if faults else []

    assert wrong == []


@on_surface
async def test_what_a_caller_sends_comes_back_in_no_reply(surface: Surface) -> None:
    wrong: list[tuple[str, list[str]]] = []
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, hostile)
        for group in GROUPS:
            # A word that could be the name of a field is named; see `show_unknown`.
            sent = [attack for attack in group if is_sendable(attack.text) and not attack.text.isidentifier()]
            texts = {attack.text: attack.text for attack in sent}
            for arguments in ({"number": [*texts], "inner": texts}, {"number": 1, "inner": {"mode": texts}, **texts}):
                got = await ask("takes", arguments)
                faults = same(surface, got, await own("takes", arguments), "malformed")
                faults += ["kind"] if got.kind == "result" and surface.tells_errors else []
                faults += ["echo"] if held(f"{got.text}{got.rest}", tuple(sent)) else []
                wrong += [(group[0].id, faults)] if faults else []

    assert wrong == []


@pytest.mark.parametrize("prose", ["quoted", "omitted"])
@pytest.mark.parametrize("lists", [pytest.param(row.lists, id=name) for name, row in SURFACES.items() if row.lists])
@in_loop
async def test_what_a_third_party_wrote_about_its_tools_is_listed_as_the_deployment_decides(
    lists: Callable[[Made], Awaitable[Listed]], prose: CatalogProse
) -> None:
    expected = await catalogue(partial(described, prose))
    listed = await lists(partial(described, prose))

    assert listed == expected
    assert prose == "quoted" or not held(json.dumps(listed), tuple(SHORT_PROSE))


def is_sendable(text: str) -> bool:
    return len(text) <= LONG and is_unicode(text)


def held(rest: str, group: tuple[Attack, ...]) -> bool:
    """Whether the part that must be ours holds an attack, as it is or as JSON writes it."""
    forms = [form for attack in group for form in (attack.text, json.dumps(attack.text)[1:-1])]
    return any(form in rest for form in forms if len(form) > MEANT)


# A text of a few characters may stand anywhere by chance.
MEANT = 8


# -- each kind of outcome ------------------------------------------------------------------------------------------


@on_surface
async def test_every_kind_of_outcome_is_the_same_shows_no_secret_and_leaves_the_surface_serving(
    surface: Surface,
) -> None:
    wrong: list[tuple[str, list[str]]] = []
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, every_outcome)
        for kind, (_, arguments) in OUTCOMES.items():
            got = await ask(NAMES[kind], arguments)
            faults = same(surface, got, await own(NAMES[kind], arguments), kind.partition(" ")[0])
            faults += ["secret"] if SECRET in f"{got.text}{json.dumps(got.structured)}{got.rest}" else []
            faults += ["dead"] if (await ask("good", {})).text != "well" else []
            wrong += [(kind, faults)] if faults else []
        # All at once, and the surface still serves.
        await asyncio.gather(*(ask(NAMES[kind], arguments) for kind, (_, arguments) in OUTCOMES.items()))
        after = await ask("good", {})

    assert (wrong, after.text) == ([], "well")


@pytest.mark.parametrize(
    "surface", [pytest.param(row, id=name) for name, row in SURFACES.items() if row.takes_any_name]
)
@in_loop
async def test_a_tool_that_there_is_not_is_named_nowhere(surface: Surface) -> None:
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, every_outcome)
        got = await ask("no-such-tool", {})
        faults = same(surface, got, await own("no-such-tool", {}), "unknown_tool")

    assert (faults, got.kind == "error" or not surface.tells_errors) == ([], True)
    assert "no-such-tool" not in (got.text or "")
    assert ("no-such-tool" in got.rest) is surface.echoes_the_name


# -- calls that take long ------------------------------------------------------------------------------------------


async def shed(ask: Ask, flags: Flags) -> Shown:
    """What is shown of a call that finds no place, while the only one is taken by another call."""
    first = asyncio.ensure_future(ask("reads", {}))
    await flags.wait("reads inside")
    found = await ask("writes", {})
    flags.up("over")
    assert (await first).text == "done"
    assert not flags.is_up("writes inside")
    return found


@on_surface
async def test_a_call_that_finds_no_place_is_shed(surface: Surface, tmp_path: Path) -> None:
    found: list[Shown] = []
    for row in (IN_PROCESS, surface):
        flags = Flags(tmp_path / str(len(found)))
        flags.folder.mkdir()
        async with row.serve(partial(staying, str(flags.folder), "1", "0", PATIENT_S)) as ask:
            found.append(await shed(ask, flags))

    assert same(surface, found[1], found[0]) == []
    assert "not started" in (found[1].text or "")


@on_surface
async def test_a_call_that_runs_out_of_time_says_whether_it_may_be_repeated(surface: Surface, tmp_path: Path) -> None:
    flags = Flags(tmp_path)
    async with AsyncExitStack() as stack:
        own, ask = await both(stack, surface, partial(staying, str(tmp_path), "4", "0.1", "0.3"))
        for name in ("reads", "writes"):
            late, expected = await ask(name, {}), await own(name, {})
            assert same(surface, late, expected) == []
            assert (late.kind == "error" or not surface.tells_errors) is True
            assert ("Do not repeat" in (late.text or "")) is (name == "writes")
        flags.up("over")
        await every_place_is_back(ask)

    assert (flags.is_up("reads stopped"), flags.is_up("writes stopped")) == (True, False)


@on_surface
async def test_a_caller_that_leaves_gets_nothing_and_every_place_comes_back(surface: Surface, tmp_path: Path) -> None:
    flags = Flags(tmp_path)
    async with surface.serve(partial(staying, str(tmp_path), "4", "1", PATIENT_S)) as ask:
        for name in ("reads", "writes"):
            leaving = asyncio.ensure_future(ask(name, {}))
            await flags.wait(f"{name} inside")
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
        await until(lambda: len(flags.audited("reads", "writes")) == 2)
        await flags.wait("reads stopped")
        flags.up("over")
        await flags.wait("writes done")
        await every_place_is_back(ask)
        after = await ask("reads", {})

    assert (after.text, flags.audited("reads", "writes")) == ("done", ["cancelled", "cancelled", "answered"])


async def every_place_is_back(ask: Ask) -> None:
    """Ask until nothing runs but the question itself."""
    async with asyncio.timeout(2 * WAIT_S):
        while (await ask("places", {})).text != "1 taken":  # noqa: ASYNC110  # it may be another process
            await asyncio.sleep(0.001)


# -- the walk itself -----------------------------------------------------------------------------------------------


def test_the_walk_can_see_what_it_looks_for() -> None:
    group: Any = GROUPS[0]
    assert taken_apart(group[0].text) == (group[0].text, ())
    assert held(json.dumps({"a": group[1].text}), group)
    assert sum(map(len, GROUPS)) == len(ATTACKS) > 400
