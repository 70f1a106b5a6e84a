"""The bound on running handlers holds, whoever stops waiting, and every place comes back.

The tests that prove the bound count the handlers that are inside; those that prove a place is held look at
`Admission.in_use` while the handler is known to be inside.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# The handlers are lambdas in tables, which no annotation reaches; mypy takes what they get for Any.

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from registry import Admission, Deployment, Outcome, Shed, TimedOut, run_registry_tool, run_registry_tool_sync
from registry.errors import DeclarationError
from tests.support.deployments import WAIT_S, Nothing, deploy, tool, until, until_sync

SOON_S = 0.05


def bounded(places: int, window_s: float = 1) -> Admission:
    return Admission(max_concurrent=places, window_s=window_s)


async def call(deployment: Deployment, name: str = "tool") -> Outcome:
    return await run_registry_tool(deployment, name, {})


class Count:
    """Counts who is inside, and remembers the most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = self.most = self.entered = 0

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.entered += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_concurrent": 0}, "max_concurrent is 0"),
        ({"max_concurrent": True}, "max_concurrent is True"),
        ({"max_concurrent": 1.5}, "max_concurrent is 1.5"),
        ({"window_s": -1}, "window_s is -1"),
        ({"window_s": float("inf")}, "window_s is inf"),
        ({"window_s": float("nan")}, "window_s is nan"),
        ({"window_s": "5"}, "window_s is '5'"),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        Admission(**{"max_concurrent": 1, "window_s": 1, **changes})


def test_a_window_that_is_not_shorter_than_the_deadline_is_refused() -> None:
    with pytest.raises(DeclarationError, match="so no call would ever be shed"):
        deploy(admission=bounded(1, window_s=2), reply_timeout_s=2)


def test_as_many_run_at_once_as_there_are_places_and_no_more() -> None:
    count = Count()

    async def main() -> None:
        gate = asyncio.Barrier(3)

        async def enter(request: Nothing) -> str:
            with count:
                await gate.wait()  # nobody leaves before three have entered
            return "ok"

        deployment = deploy(tool(enter), admission=bounded(3))
        outcomes = await asyncio.gather(*(call(deployment) for _ in range(9)))
        assert {outcome.code for outcome in outcomes} == {"answered"}
        assert deployment.admission.in_use == 0

    asyncio.run(main())
    assert (count.most, count.entered) == (3, 9)


def test_a_call_that_finds_no_place_in_the_window_is_shed_and_never_started() -> None:
    async def main() -> Outcome:
        entered: list[Nothing] = []
        release = asyncio.Event()

        async def enter(request: Nothing) -> str:
            entered.append(request)
            await release.wait()
            return "ok"

        deployment = deploy(tool(enter), admission=bounded(1, window_s=SOON_S))
        first = asyncio.create_task(call(deployment))
        await until(lambda: len(entered) == 1)
        shed = await call(deployment)
        release.set()
        assert (await first).code == "answered"
        assert len(entered) == 1
        return shed

    shed = asyncio.run(main())
    assert isinstance(shed, Shed)
    assert shed.text == "Every place was taken. The tool was not started, and may be asked again."


def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    order: list[int] = []

    async def main() -> None:
        deployment = deploy(tool(lambda request: "ok"), admission=bounded(1))
        gate = deployment.admission.gate
        assert gate.try_enter()

        async def enter(number: int) -> None:
            assert await gate.enter(WAIT_S)
            order.append(number)
            gate.leave()

        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(enter(number))
            await asyncio.sleep(0)
            gate.leave()

    asyncio.run(main())
    assert order == list(range(20))


# -- the place belongs to the work, not to the waiter ---------------------------------------------------------------


def test_a_thread_that_outlives_its_deadline_keeps_its_place_until_it_ends() -> None:
    inside, release = threading.Event(), threading.Event()

    def block(request: Nothing) -> str:
        inside.set()
        until_sync(release)
        return "ok"

    async def main() -> None:
        deployment = deploy(tool(block, effect="read"), admission=bounded(1, 0.01), reply_timeout_s=SOON_S)
        outcome = await call(deployment)
        assert isinstance(outcome, TimedOut)
        assert inside.is_set()
        assert deployment.admission.in_use == 1
        assert (await call(deployment)).code == "shed"
        release.set()
        await until(lambda: deployment.admission.in_use == 0)
        assert (await call(deployment)).code == "answered"

    asyncio.run(main())


def test_a_read_that_resists_cancelling_keeps_its_place_but_not_its_caller() -> None:
    async def main() -> None:
        release, resisting = asyncio.Event(), asyncio.Event()

        async def resist(request: Nothing) -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    resisting.set()  # swallowed
            return "ok"

        deployment = deploy(tool(resist, effect="read"), admission=bounded(1, 0.01), reply_timeout_s=SOON_S)
        assert isinstance(await call(deployment), TimedOut)
        await asyncio.wait_for(resisting.wait(), WAIT_S)
        assert deployment.admission.in_use == 1
        release.set()
        await until(lambda: deployment.admission.in_use == 0)
        assert not deployment.admission.running

    asyncio.run(main())


@pytest.mark.parametrize(("effect", "stopped"), [("read", True), ("write", False), ("destroy", False)])
@pytest.mark.parametrize("leave", ["deadline", "cancel"])
def test_a_read_is_stopped_and_a_write_runs_on_when_nobody_waits(effect: Any, stopped: bool, leave: str) -> None:
    async def main() -> None:
        inside, release = asyncio.Event(), asyncio.Event()
        ends: list[str] = []

        async def work(request: Nothing) -> str:
            inside.set()
            try:
                await release.wait()
            except asyncio.CancelledError:
                ends.append("stopped")
                raise
            ends.append("finished")
            return "ok"

        timeout_s = SOON_S if leave == "deadline" else WAIT_S
        deployment = deploy(tool(work, effect=effect), admission=bounded(1, 0.01), reply_timeout_s=timeout_s)
        waiting = asyncio.create_task(call(deployment))
        await asyncio.wait_for(inside.wait(), WAIT_S)
        if leave == "cancel":
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            outcome = await waiting
            assert isinstance(outcome, TimedOut)
            assert ("was stopped" in outcome.text) is stopped
            assert ("Do not repeat" in outcome.text) is not stopped
        if not stopped:
            assert deployment.admission.in_use == 1
            gc.collect()  # a task that nobody refers to would vanish here
        release.set()
        await until(lambda: deployment.admission.in_use == 0)
        assert ends == ["stopped" if stopped else "finished"]

    asyncio.run(main())


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_loop_that_ends_before_the_handlers_first_step_gives_its_place_back(effect: Any) -> None:
    """A task that is cancelled before it has begun never enters its body, so nothing in there can let go of the place."""

    async def wait(request: Nothing) -> str:
        await asyncio.sleep(WAIT_S)
        return "late"

    deployment = deploy(tool(wait, effect=effect), admission=bounded(1))

    tasks: list[asyncio.Task[None]] = []

    async def ask() -> None:
        await asyncio.sleep(0)  # so that the handler's task is made in the very turn in which the loop is told to stop
        await call(deployment)

    async def main() -> None:
        tasks.append(asyncio.create_task(ask()))
        await asyncio.sleep(0)

    asyncio.run(main())
    assert deployment.admission.in_use == 0


def test_a_caller_that_leaves_while_it_waits_for_a_place_gives_up_its_turn() -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def work(request: Nothing) -> str:
            await release.wait()
            return "ok"

        deployment = deploy(tool(work), admission=bounded(1))
        first = asyncio.create_task(call(deployment))
        await until(lambda: deployment.admission.in_use == 1)
        second = asyncio.create_task(call(deployment))
        third = asyncio.create_task(call(deployment))
        await asyncio.sleep(0)
        second.cancel()
        release.set()
        assert [(await first).code, (await third).code] == ["answered", "answered"]
        assert deployment.admission.in_use == 0

    asyncio.run(main())


def test_a_place_that_is_handed_to_a_caller_in_the_moment_it_leaves_is_not_lost() -> None:
    async def main() -> None:
        gate = bounded(1).gate
        assert gate.try_enter()
        waiting = asyncio.create_task(gate.enter(WAIT_S))
        await asyncio.sleep(0)
        gate.leave()  # the place is the waiter's now, but it has not run yet
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert gate.free == 1

    asyncio.run(main())


def test_a_handlers_own_timeout_is_a_failure_and_not_a_timeout() -> None:
    async def give_up(request: Nothing) -> str:
        async with asyncio.timeout(0):
            await asyncio.sleep(WAIT_S)
        return "ok"

    outcome = asyncio.run(call(deploy(tool(give_up))))
    assert (outcome.code, "TimeoutError" in outcome.text) == ("failed", True)


# -- several loops, several threads --------------------------------------------------------------------------------


def test_several_event_loops_share_one_bound() -> None:
    count = Count()
    admission = bounded(2, window_s=4)
    both = threading.Barrier(2)

    async def enter(request: Nothing) -> str:
        with count:
            await asyncio.to_thread(both.wait, WAIT_S)  # nobody leaves before two have entered
        return "ok"

    def one_loop(_: int) -> list[str]:
        async def main() -> list[str]:
            deployment = deploy(tool(enter), admission=admission)
            return [outcome.code for outcome in await asyncio.gather(*(call(deployment) for _ in range(4)))]

        return asyncio.run(main())

    with ThreadPoolExecutor(4) as threads:
        codes = [code for found in threads.map(one_loop, range(4)) for code in found]

    assert codes == ["answered"] * 16
    assert (count.most, admission.in_use) == (2, 0)


def test_a_loop_that_closed_while_it_waited_does_not_keep_the_place() -> None:
    admission = bounded(1)
    assert admission.gate.try_enter()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(admission.gate.enter(WAIT_S))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    admission.gate.leave()

    assert admission.gate.free == 1
    # The task of a closed loop can only be dropped; that is this test's doing and says so when it is collected.
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


# -- under load ----------------------------------------------------------------------------------------------------


def mixed_registry(count: Count) -> dict[str, Callable[[Nothing], Any]]:
    async def quick(request: Nothing) -> str:
        with count:
            return "ok"

    async def slow(request: Nothing) -> str:
        with count:
            await asyncio.sleep(0.001)
        return "ok"

    def threaded(request: Nothing) -> str:
        with count:
            return "ok"

    async def failing(request: Nothing) -> str:
        with count:
            raise ValueError("no")

    def failing_thread(request: Nothing) -> str:
        with count:
            raise ValueError("no")

    async def stuck(request: Nothing) -> str:
        with count:
            await asyncio.sleep(WAIT_S)
        return "late"

    return {
        "quick": quick,
        "slow": slow,
        "threaded": threaded,
        "failing": failing,
        "failing_thread": failing_thread,
        "stuck": stuck,
    }


def test_ten_thousand_calls_add_up_and_leave_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    count = Count()
    tools = [tool(handler, "web", name=name, effect="read") for name, handler in mixed_registry(count).items()]
    threads_before = threading.active_count()

    async def main() -> dict[str, int]:
        records: list[str] = []
        deployment = deploy(
            *tools,
            admission=bounded(50, window_s=20),
            reply_timeout_s=30,
            audit=lambda record: records.append(record.code),
        )
        hasty = deploy(*tools, admission=bounded(5, 0), reply_timeout_s=SOON_S)
        names = ["quick", "slow", "threaded", "failing", "failing_thread", "unknown"]
        outcomes = await asyncio.gather(
            *(call(deployment, names[number % len(names)]) for number in range(9_900)),
            *(call(hasty, "stuck") for _ in range(100)),
        )
        await until(lambda: deployment.admission.in_use == 0 and hasty.admission.in_use == 0)
        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert not deployment.admission.running
        assert not hasty.admission.running
        assert len(records) == 9_900
        found: dict[str, int] = {}
        for outcome in outcomes:
            found[outcome.code] = found.get(outcome.code, 0) + 1
        return found

    found = asyncio.run(main())
    assert found == {"answered": 4_950, "failed": 3_300, "unknown_tool": 1_650, "timed_out": 5, "shed": 95}
    assert count.inside == 0
    assert count.most <= 55
    gc.collect()  # the pool's idle threads end with the admission that owns them
    asyncio.run(until(lambda: threading.active_count() <= threads_before))


def test_synchronous_callers_in_many_threads_share_the_bound() -> None:
    count = Count()
    both = threading.Barrier(2)

    def enter(request: Nothing) -> str:
        with count:
            both.wait(WAIT_S)
        return "ok"

    deployment = deploy(tool(enter), admission=bounded(2, window_s=4))
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda _: run_registry_tool_sync(deployment, "tool", {}).code, range(8)))

    assert outcomes == ["answered"] * 8
    assert (count.most, deployment.admission.in_use) == (2, 0)
