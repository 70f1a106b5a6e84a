"""What walks over every surface: deployments that any process can make, from a name and a few strings.

Tests and handlers that may be in two processes tell each other how far they are by files in a folder.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, final

from registry import (
    Admission,
    AnyTool,
    AuditRecord,
    CatalogProse,
    Deployment,
    Foreign,
    ToolFailed,
    ToolInput,
    refuse,
    reply,
)
from registry.testing.corpus import BODIES, CELLS, FAILURES, PROSE, Attack
from tests.support.deployments import WAIT_S, Nothing, Text, deploy, tool, until
from tests.support.third_party import peer_tool

SECRET = "postgres://user:password@host"

# -- the corpus ----------------------------------------------------------------------------------------------------

ATTACKS: tuple[Attack, ...] = (*BODIES, *CELLS, *PROSE, *FAILURES)
# Several in one call, each in a field of its own, for a call for each would take minutes over a pipe. A long one goes alone.
AT_ONCE = 8
LONG = 20_000
SHORT = [attack for attack in ATTACKS if len(attack.text) <= LONG]
GROUPS: tuple[tuple[Attack, ...], ...] = (
    *(tuple(SHORT[at : at + AT_ONCE]) for at in range(0, len(SHORT), AT_ONCE)),
    *((attack,) for attack in ATTACKS if len(attack.text) > LONG),
)
HEAD = "Our own line."
WORDS = "The other side said no."


def origin_of(attack: Attack) -> str:
    """An origin that they chose as well, such as an address."""
    return f"page {attack.text}"


def data_of(group: tuple[Attack, ...]) -> dict[str, str]:
    """Each text as a value, and as a key."""
    keys = {attack.text: attack.id for attack in group if len(attack.text) <= LONG}
    return {attack.id: attack.text for attack in reversed(group)} | keys


def answering(group: tuple[Attack, ...]) -> Callable[[Nothing], Any]:
    async def handler(_: Nothing) -> Any:
        parts = [part for attack in group for part in (HEAD, Foreign(attack.text, origin_of(attack)))]
        return reply(*parts, data=Foreign(data_of(group)))

    return handler


def failing(group: tuple[Attack, ...]) -> Callable[[Nothing], Any]:
    async def handler(_: Nothing) -> Any:
        raise ToolFailed(WORDS, detail=Foreign("\n".join(attack.text for attack in group)))

    return handler


class Inner(ToolInput):
    """A field with fields."""

    mode: Literal["fast", "slow"]


class Given(ToolInput):
    """An input that an attack fits nowhere."""

    number: int
    inner: Inner


def hostile() -> Deployment:
    """Tools whose answers and failures are the corpus, and one that takes no text."""
    return deploy(
        *(tool(answering(group), "a stranger", name=f"answers{n}") for n, group in enumerate(GROUPS)),
        *(tool(failing(group), "a server", name=f"fails{n}") for n, group in enumerate(GROUPS)),
        tool(lambda _: "called", name="takes", takes=Given),
        admission=Admission(max_concurrent=4, window_s=20),
        reply_timeout_s=30,
        max_result_chars=50_000_000,
    )


SHORT_PROSE = [attack for attack in PROSE if len(attack.text) <= LONG]


def described(prose: CatalogProse) -> Deployment:
    """Tools whose every word is another of the corpus, written by a third party."""
    texts = [attack.text for attack in SHORT_PROSE]
    tools = [peer_tool(text, name=f"peer{n}") for n, text in enumerate(texts)]
    return replace(deploy(*tools), catalog_prose=prose)


# -- each kind of outcome ------------------------------------------------------------------------------------------


class Unprintable(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


def in_a_thread(error: Callable[[], BaseException]) -> Callable[[object], str]:
    def handler(_: object) -> str:
        raise error()

    return handler


def on_the_loop(error: Callable[[], BaseException]) -> Callable[[object], Any]:
    async def handler(_: object) -> str:
        raise error()

    return handler


def group_of_errors() -> BaseExceptionGroup[BaseException]:
    return BaseExceptionGroup(SECRET, [KeyboardInterrupt(SECRET), ValueError(SECRET)])


OUTCOMES: dict[str, tuple[AnyTool, dict[str, Any]]] = {
    "answered": (tool(lambda _: reply("Ours.", data={"a": [1, None, "b"]})), {}),
    "empty": (tool(lambda _: ""), {}),
    "own words that are no UTF-8": (tool(lambda _: reply("a\ud800b", data={"c": "\udcff"})), {}),
    "bytes that are no UTF-8": (tool(lambda _: b"\xff\xfe\x00", "a file"), {}),
    "data that is no UTF-8": (tool(lambda _: reply("x", data=Foreign({"a\udcff": "\ud800"})), "a file"), {}),
    "refused": (tool(lambda _: refuse("no_such_page", "There is no such page.")), {}),
    "too large": (tool(lambda _: "x" * 50_000_000), {}),
    "too large under an origin": (tool(lambda _: Foreign("x" * 50_000_000), "a stranger"), {}),
    "undeclared": (tool(lambda _: Foreign(SECRET)), {}),
    "malformed": (tool(lambda _: "x", takes=Text), {"text": [SECRET]}),
    "malformed by unknown fields": (tool(lambda _: "x", takes=Text), {SECRET: SECRET, "other": {SECRET: 1}, "\x00": 1}),
    "failed": (tool(on_the_loop(lambda: RuntimeError(SECRET))), {}),
    "failed in words of its own": (tool(in_a_thread(lambda: ToolFailed("The disk is full."))), {}),
    "failed and cannot say why": (tool(on_the_loop(Unprintable)), {}),
    "failed in a thread and cannot say why": (tool(in_a_thread(Unprintable)), {}),
    "failed as a group": (tool(on_the_loop(group_of_errors)), {}),
    "failed as a group in a thread": (tool(in_a_thread(group_of_errors)), {}),
    "failed by ending the process": (tool(on_the_loop(lambda: SystemExit(SECRET))), {}),
    "failed by ending the thread": (tool(in_a_thread(lambda: SystemExit(SECRET))), {}),
    "failed by an interrupt in a thread": (tool(in_a_thread(lambda: KeyboardInterrupt(SECRET))), {}),
    "failed by cancelling itself": (tool(on_the_loop(lambda: asyncio.CancelledError(SECRET))), {}),
    "failed by stopping": (tool(in_a_thread(lambda: StopIteration(SECRET))), {}),
    "failed by closing": (tool(on_the_loop(lambda: GeneratorExit(SECRET))), {}),
    "failed because of a bad answer": (tool(lambda _: 5, "a number"), {}),
}
NAMES = {kind: f"kind{number}" for number, kind in enumerate(OUTCOMES)}


def every_outcome() -> Deployment:
    """One tool for each kind, and one that is well."""
    kinds = [
        tool(one.handler, one.untrusted_output, name=NAMES[kind], takes=one.input)
        for kind, (one, _) in OUTCOMES.items()
    ]
    admission = Admission(max_concurrent=8, window_s=10)
    return deploy(*kinds, tool(lambda _: "well", name="good"), admission=admission, reply_timeout_s=30)


# -- calls that take long ------------------------------------------------------------------------------------------


@final
class Flags:
    """Flags that are up or not, for whoever knows the folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def up(self, name: str) -> None:
        (self.folder / name).touch()

    def is_up(self, name: str) -> bool:
        return (self.folder / name).exists()

    async def wait(self, name: str) -> None:
        await until(lambda: self.is_up(name))

    def audit(self, record: AuditRecord) -> None:
        with (self.folder / "audited").open("a", encoding="ascii") as file:
            file.write(json.dumps([record.tool, record.code]) + "\n")

    def audited(self, *tools: str) -> list[str]:
        """The codes of these tools' calls, in order."""
        path = self.folder / "audited"
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        return [code for name, code in map(json.loads, lines) if name in tools]


def staying(folder: str, max_concurrent: str, window_s: str, reply_timeout_s: str) -> Deployment:
    """Two tools, `reads` and `writes`, that stay until the flag `over` is up, and one that says how many places are taken."""
    flags = Flags(folder)
    admission = Admission(max_concurrent=int(max_concurrent), window_s=float(window_s))

    def stay(name: str) -> Callable[[Nothing], Any]:
        async def handler(_: Nothing) -> str:
            flags.up(f"{name} inside")
            try:
                await flags.wait("over")
            except asyncio.CancelledError:
                flags.up(f"{name} stopped")
                raise
            flags.up(f"{name} done")
            return "done"

        return handler

    return deploy(
        tool(stay("reads"), name="reads", effect="read"),
        tool(stay("writes"), name="writes", effect="write"),
        tool(lambda _: f"{admission.in_use} taken", name="places"),
        admission=admission,
        reply_timeout_s=float(reply_timeout_s),
        audit=flags.audit,
    )


PATIENT_S = str(4 * WAIT_S)
