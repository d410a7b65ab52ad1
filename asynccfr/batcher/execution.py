"""How a batch is computed: in the event loop, in a thread, or by a coroutine."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from asynccfr.batcher.core import Core
from asynccfr.batcher.failures import outcomes_of
from asynccfr.errors import BatcherError

if TYPE_CHECKING:
    from asynccfr.batcher.rows import Array

Item = TypeVar("Item")
Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


class Results(Protocol[Result_co]):
    """What a batch function returns: one result for each item, in order."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Result_co: ...


AnyResults = Awaitable[Results[Result]] | Results[Result]
# Of a list of items, or with a row buffer of an array.
BatchFunction = Callable[[list[Item]], AnyResults[Result]] | Callable[["Array"], AnyResults[Result]]
AnyFunction = Callable[[Any], Any]
Done = Callable[[list[Any]], None]

executing_for: ContextVar[object] = ContextVar("asynccfr.batcher.executing_for", default=None)


async def evaluate(function: AnyFunction, isolate: bool, items: Sequence[Any]) -> list[Any]:
    """One outcome for each item: its result, or the exception that it failed with.

    With `isolate`, a batch that fails is computed again in halves, so that only items which fail on
    their own do. Never raises; a plain `function` makes a coroutine that never suspends.
    """
    try:
        results = function(items)
        if isawaitable(results):
            results = await results
        return outcomes_of(results, len(items))
    except Exception as error:
        if isolate and len(items) > 1:
            half = len(items) // 2
            first = await evaluate(function, isolate, items[:half])
            return first + await evaluate(function, isolate, items[half:])
        return [error] * len(items)
    except BaseException as error:
        return [error] * len(items)


def evaluate_now(function: AnyFunction, isolate: bool, items: Sequence[Any]) -> list[Any]:
    """`evaluate` for a plain function."""
    coroutine = evaluate(function, isolate, items)
    try:
        coroutine.send(None)
    except StopIteration as finished:
        outcomes: list[Any] = finished.value
        return outcomes
    coroutine.close()
    error = BatcherError(
        "the batch function returned an awaitable but is not an `async def`; "
        "wrap it in one, or pass the coroutine function itself"
    )
    return [error] * len(items)


class Execution(Protocol):
    """Runs batches for one batcher."""

    def start(self, items: Sequence[Any], done: Done) -> None:
        """Compute, then call `done(outcomes)` in the event loop, outside any task."""

    def cancel(self) -> None:
        """Interrupt what is executing, where that is possible."""

    def close(self, wait: bool) -> None:
        """Release threads; called when nothing is executing."""


class Inline:
    """In the event loop itself: for functions that are quick, or where there are few cores."""

    def __init__(self, function: AnyFunction, isolate: bool) -> None:
        self._function = function
        self._isolate = isolate

    def start(self, items: Sequence[Any], done: Done) -> None:
        done(evaluate_now(self._function, self._isolate, items))

    def cancel(self) -> None:
        pass

    def close(self, wait: bool) -> None:
        pass


class InThread:
    """In the batcher's own threads, or a given executor, while the event loop goes on."""

    def __init__(
        self,
        batcher: Core[Any, Any],
        function: AnyFunction,
        isolate: bool,
        executor: Executor | None,
    ) -> None:
        self._evaluate = partial(evaluate_now, function, isolate)
        self._loop = asyncio.get_running_loop()
        self._owned = None
        if executor is None:
            threads = batcher.max_concurrent_batches
            executor = self._owned = ThreadPoolExecutor(threads, "asynccfr-batch")
        self._executor = executor
        self._context: Context | None = None
        if isinstance(executor, ThreadPoolExecutor):
            self._context = copy_context()
            self._context.run(executing_for.set, batcher)

    def start(self, items: Sequence[Any], done: Done) -> None:
        count = len(items)

        def report(future: Future[list[Any]]) -> None:
            outcomes: list[Any]
            try:
                outcomes = future.result()
            except CancelledError:
                outcomes = [BatcherError("the executor was shut down before the batch ran")] * count
            except BaseException as error:  # such as a pool of processes that broke
                outcomes = [error] * count
            with suppress(RuntimeError):  # the loop was closed without aclose
                self._loop.call_soon_threadsafe(done, outcomes)

        try:
            if self._context is None:
                future = self._executor.submit(self._evaluate, items)
            else:
                future = self._executor.submit(self._context.copy().run, self._evaluate, items)
        except Exception as error:  # such as a given executor that has been shut down
            self._loop.call_soon(done, [error] * count)
        else:
            future.add_done_callback(report)

    def cancel(self) -> None:
        pass

    def close(self, wait: bool) -> None:
        if self._owned is not None:
            self._owned.shutdown(wait)


class AsTask:
    """A coroutine function, each batch in a task."""

    def __init__(self, function: AnyFunction, isolate: bool, tasks: set[asyncio.Task[Any]]) -> None:
        self._function = function
        self._isolate = isolate
        self._tasks = tasks

    def start(self, items: Sequence[Any], done: Done) -> None:
        count = len(items)

        def report(task: asyncio.Task[list[Any]]) -> None:
            self._tasks.discard(task)
            # A task that was cancelled before its first step has not run `evaluate` at all.
            cancelled = [asyncio.CancelledError()] * count
            done(cancelled if task.cancelled() else task.result())

        task = asyncio.get_running_loop().create_task(
            evaluate(self._function, self._isolate, items)
        )
        self._tasks.add(task)
        task.add_done_callback(report)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def close(self, wait: bool) -> None:
        pass
