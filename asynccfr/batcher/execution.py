"""How a batch is computed: in the event loop, in a thread, or by a coroutine."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from inspect import isawaitable
from typing import Any, Protocol

from asynccfr.batcher.failures import outcomes_of
from asynccfr.errors import BatcherError

BatchFunction = Callable[[Any], Any]
Done = Callable[[list[Any]], None]

executing_for: ContextVar[object] = ContextVar("asynccfr.batcher.executing_for", default=None)


async def evaluate(function: BatchFunction, items: Sequence[Any], isolate: bool) -> list[Any]:
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
            first = await evaluate(function, items[:half], isolate)
            return first + await evaluate(function, items[half:], isolate)
        return [error] * len(items)
    except BaseException as error:
        return [error] * len(items)


def evaluate_now(function: BatchFunction, items: Sequence[Any], isolate: bool) -> list[Any]:
    """`evaluate` for a plain function."""
    coroutine = evaluate(function, items, isolate)
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

    at_once: bool  # whether `start` returns only when the batch is done

    def start(self, items: Sequence[Any], done: Done) -> None:
        """Compute, then call `done(outcomes)` in the event loop, outside any task."""

    def cancel(self) -> None:
        """Interrupt what is executing, where that is possible."""

    def close(self) -> None:
        """Release threads; called when nothing is executing."""


class Inline:
    """In the event loop itself: for functions that take well under a millisecond, or on few cores."""

    at_once = True

    def __init__(self, function: BatchFunction, isolate: bool) -> None:
        self._function = function
        self._isolate = isolate

    def start(self, items: Sequence[Any], done: Done) -> None:
        done(evaluate_now(self._function, items, self._isolate))

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


class InThread:
    """In threads of its own, or of a given executor, while the event loop goes on."""

    at_once = False

    def __init__(
        self, function: BatchFunction, isolate: bool, threads: int, executor: Executor | None
    ) -> None:
        self._function = function
        self._isolate = isolate
        self._owned = ThreadPoolExecutor(threads, "asynccfr-batch") if executor is None else None
        self._executor = executor or self._owned
        self._loop = asyncio.get_running_loop()

    def start(self, items: Sequence[Any], done: Done) -> None:
        assert self._executor is not None
        context = copy_context()
        try:
            future = self._executor.submit(
                context.run, evaluate_now, self._function, items, self._isolate
            )
        except RuntimeError as error:  # a given executor that has been shut down
            self._loop.call_soon(done, [error] * len(items))
            return

        def report(future: Future[list[Any]]) -> None:
            error = future.exception()
            outcomes = future.result() if error is None else [error] * len(items)
            with suppress(RuntimeError):  # the loop was closed without aclose
                self._loop.call_soon_threadsafe(done, outcomes)

        future.add_done_callback(report)

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        if self._owned is not None:
            self._owned.shutdown()


class AsTask:
    """A coroutine function, each batch in a task."""

    at_once = False

    def __init__(
        self, function: BatchFunction, isolate: bool, tasks: set[asyncio.Task[Any]]
    ) -> None:
        self._function = function
        self._isolate = isolate
        self._tasks = tasks

    def start(self, items: Sequence[Any], done: Done) -> None:
        task = asyncio.get_running_loop().create_task(self._run(items))
        self._tasks.add(task)

        def report(task: asyncio.Task[list[Any]]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                done([asyncio.CancelledError()] * len(items))
            else:
                done(task.result())

        task.add_done_callback(report)

    def _run(self, items: Sequence[Any]) -> Coroutine[Any, Any, list[Any]]:
        return evaluate(self._function, items, self._isolate)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        pass
