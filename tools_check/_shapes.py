"""Functions elsewhere that call what they are given: which argument is called, with what, and what comes
back."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Shape(NamedTuple):
    """`callee` is the place of the callable, `first` the place of its first argument (-1: it gets none)."""

    callee: int
    first: int
    gives: Literal["value", "future", "map", "filter", "first"]


SHAPES: Final[dict[str, Shape]] = {
    "asyncio.to_thread": Shape(0, 1, "value"),
    "asyncio.threads.to_thread": Shape(0, 1, "value"),
    "anyio.to_thread.run_sync": Shape(0, 1, "value"),
    "anyio.from_thread.run": Shape(0, 1, "value"),
    "anyio.from_thread.run_sync": Shape(0, 1, "value"),
    "anyio.run": Shape(0, 1, "value"),
    "trio.to_thread.run_sync": Shape(0, 1, "value"),
    "trio.run": Shape(0, 1, "value"),
    "starlette.concurrency.run_in_threadpool": Shape(0, 1, "value"),
    "fastapi.concurrency.run_in_threadpool": Shape(0, 1, "value"),
    "asgiref.sync.sync_to_async": Shape(0, -1, "first"),
    "asyncer.asyncify": Shape(0, -1, "first"),
    "asyncer.syncify": Shape(0, -1, "first"),
    "asgiref.sync.async_to_sync": Shape(0, -1, "first"),
    "asyncio.AbstractEventLoop.run_in_executor": Shape(1, 2, "future"),
    "asyncio.AbstractEventLoop.call_soon": Shape(0, 1, "future"),
    "asyncio.AbstractEventLoop.call_soon_threadsafe": Shape(0, 1, "future"),
    "asyncio.AbstractEventLoop.call_later": Shape(1, 2, "future"),
    "concurrent.futures.Executor.submit": Shape(0, 1, "future"),
    "concurrent.futures.Executor.map": Shape(0, 1, "map"),
    "multiprocessing.pool.Pool.map": Shape(0, 1, "map"),
    "multiprocessing.pool.Pool.imap": Shape(0, 1, "map"),
    "multiprocessing.pool.Pool.imap_unordered": Shape(0, 1, "map"),
    "multiprocessing.pool.Pool.starmap": Shape(0, 1, "map"),
    "multiprocessing.pool.Pool.apply": Shape(0, 1, "value"),
    "multiprocessing.pool.Pool.apply_async": Shape(0, 1, "future"),
    "contextvars.Context.run": Shape(0, 1, "value"),
    "threading.Thread": Shape(-1, -1, "value"),
    "multiprocessing.Process": Shape(-1, -1, "value"),
    "multiprocessing.context.Process": Shape(-1, -1, "value"),
    "builtins.map": Shape(0, 1, "map"),
    "builtins.filter": Shape(0, 1, "filter"),
    "itertools.starmap": Shape(0, 1, "map"),
    "anyio.abc.TaskGroup.start_soon": Shape(0, 1, "future"),
    "anyio.abc.TaskGroup.start": Shape(0, 1, "value"),
    "trio.Nursery.start_soon": Shape(0, 1, "future"),
    "trio.Nursery.start": Shape(0, 1, "value"),
    "backoff.retry": Shape(0, 1, "value"),
    "tenacity.Retrying.__call__": Shape(0, 1, "value"),
    "tenacity.AsyncRetrying.__call__": Shape(0, 1, "value"),
    "tenacity.Retrying.call": Shape(0, 1, "value"),
}

# Wrap or wait for what they are given.
TRANSPARENT_CALLS: Final = frozenset(
    {"asyncio.wait_for", "asyncio.shield", "asyncio.wrap_future", "asyncio.run",
     "asyncio.AbstractEventLoop.run_until_complete",
     "asyncio.timeout", "asyncio.run_coroutine_threadsafe", "asyncio.ensure_future", "asyncio.create_task",
     "asyncio.AbstractEventLoop.create_task", "asyncio.TaskGroup.create_task", "asyncio.Runner.run",
     "typing.cast",
     "copy.copy", "copy.deepcopy", "builtins.iter", "builtins.aiter", "inspect.unwrap",
     "typing_extensions.cast",
     "contextlib.nullcontext", "contextlib.closing", "contextlib.aclosing", "typing.assert_type",
     "nest_asyncio.apply", "weakref.proxy"}
)  # fmt: skip

TASKS: Final = frozenset(
    {"asyncio.run_coroutine_threadsafe", "asyncio.ensure_future", "asyncio.create_task",
     "asyncio.AbstractEventLoop.create_task", "asyncio.TaskGroup.create_task"}
)  # fmt: skip

GATHERS: Final = frozenset({"asyncio.gather", "asyncio.as_completed", "concurrent.futures.as_completed", "asyncio.wait",
                            "concurrent.futures.wait"})  # fmt: skip

# These look at the functions that they are given, and call none.
LOOKS_AT: Final = ("inspect.", "typing.", "typing_extensions.", "asyncio.iscoroutinefunction", "weakref.")

DECORATORS: Final = frozenset(
    {
        "functools.wraps",
        "functools.lru_cache",
        "functools.cache",
        "functools.singledispatch",
        "functools.update_wrapper",
    }
)
