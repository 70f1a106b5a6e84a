"""How many handlers run at once, in the whole process: on any number of event loops and in any number of threads.

The invariant: at most `max_concurrent` places are taken, and a place is given back when the work that took it has really
ended, never when somebody stops waiting for it. `tests/registry/test_admission.py` breaks it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

from registry._foreign import shown
from registry.errors import DeclarationError

__all__ = ["Admission", "Gate", "Slot"]


@final
class Admission:
    """One bound for every surface of a process. Make one, and give it to every `Deployment`.

    Args:
        max_concurrent: how many calls run at once.
        window_s: how long a call waits for a place, in seconds, before it is shed.

    Raises:
        DeclarationError: a number is not positive.
    """

    def __init__(self, *, max_concurrent: int, window_s: float) -> None:
        if not is_whole(max_concurrent) or max_concurrent < 1:
            raise DeclarationError(
                f"Admission: max_concurrent is {shown(max_concurrent)}. Write how many calls may run at once, 1 or more."
            )
        if not is_number(window_s) or not 0 <= window_s < float("inf"):
            raise DeclarationError(
                f"Admission: window_s is {shown(window_s)}. Write for how many seconds a call waits for a place, 0 or more."
            )
        self.max_concurrent = max_concurrent
        self.window_s = float(window_s)
        self.gate = Gate(max_concurrent)
        # The event loop keeps only weak references to its tasks, and abandoned work has no other owner than this set.
        self.running: set[asyncio.Task[Any]] = set()
        # Places bound the work, not the pool: a thread that waits in `call_tool_sync` keeps its thread while the nested
        # handler needs another. So the pool itself has, in effect, no bound; it makes a thread only when none is idle.
        self.threads = ThreadPoolExecutor(max_workers=100_000, thread_name_prefix="hedgerow")

    @property
    def in_use(self) -> int:
        """How many places are taken at this moment."""
        return self.max_concurrent - self.gate.free

    def __repr__(self) -> str:
        return f"Admission(max_concurrent={self.max_concurrent}, window_s={self.window_s})"


@final
@dataclass(slots=True, eq=False)
class Waiter:
    """One call that waits at a gate."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    admitted: bool = False

    def wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


@final
class Gate:
    """A first-come-first-served counter of places that any event loop and any thread may use.

    `asyncio.Semaphore` belongs to one loop and `threading.Semaphore` blocks one, so neither can bound both.
    """

    __slots__ = ("_lock", "_waiting", "free")

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._waiting: OrderedDict[int, Waiter] = OrderedDict()
        self.free = places

    def try_enter(self) -> bool:
        """Take a place if one is free, without waiting."""
        with self._lock:
            if self.free == 0:
                return False
            self.free -= 1
            return True

    async def enter(self, wait_s: float) -> bool:
        """Take a place, waiting at most so many seconds; say whether it was had."""
        if self.try_enter():
            return True
        if wait_s <= 0:
            return False
        loop = asyncio.get_running_loop()
        waiter = Waiter(loop, loop.create_future())
        with self._lock:
            if self.free:
                self.free -= 1
                return True
            self._waiting[id(waiter)] = waiter
        timer = loop.call_later(wait_s, waiter.wake)
        try:
            await waiter.future
        except BaseException:
            # Cancelled. The place may have been handed over in the same moment; then it goes to the next in line.
            if not self._withdraw(waiter):
                self.leave()
            raise
        finally:
            timer.cancel()
        return not self._withdraw(waiter)

    def leave(self) -> None:
        """Give a place back: to the first who waits, else to the counter."""
        with self._lock:
            while self._waiting:
                _, waiter = self._waiting.popitem(last=False)
                try:
                    waiter.loop.call_soon_threadsafe(waiter.wake)
                except RuntimeError:
                    continue  # that loop is closed, and nobody waits there any more
                waiter.admitted = True
                return
            self.free += 1

    def _withdraw(self, waiter: Waiter) -> bool:
        """Stop waiting; say whether the place had not been handed over."""
        with self._lock:
            if waiter.admitted:
                return False
            self._waiting.pop(id(waiter), None)
            return True


@final
class Slot:
    """A place that was taken, given back when its last holder lets go.

    The holders are the handler, the thread that it runs in, and the nested calls that borrow the place. Nested calls that
    find no free place borrow their parent's, one at a time: their parent waits for them, so the bound holds, and each of
    them has a turn of its own to lend, so nesting cannot deadlock.
    """

    __slots__ = ("_give_back", "_holders", "_lock", "_turn")

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._holders = 1
        self._lock = threading.Lock()
        self._turn: Gate | None = None  # made when it is first lent, which most places never are

    def hold(self) -> None:
        with self._lock:
            self._holders += 1

    def let_go(self) -> None:
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last:
            self._give_back()

    async def lend(self, wait_s: float) -> Slot | None:
        """Lend this place to a nested call when it is its turn, or None when the time ran out."""
        with self._lock:
            turn = self._turn = self._turn or Gate(1)
        if not await turn.enter(wait_s):
            return None
        self.hold()

        def take_back() -> None:
            turn.leave()
            self.let_go()

        return Slot(take_back)


async def admit(admission: Admission, parent: Slot | None, wait_s: float) -> Slot | None:
    """Take a place: waiting for a call of its own, at once or on its parent's for a nested one. None is: shed."""
    if admission.gate.try_enter():
        return Slot(admission.gate.leave)
    if parent is not None:
        return await parent.lend(wait_s)
    entered = await admission.gate.enter(min(wait_s, admission.window_s))
    return Slot(admission.gate.leave) if entered else None


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return is_whole(value) or isinstance(value, float)
