"""How a batch is computed: in the event loop, in a thread, or by a coroutine."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.core import Core
from asynccfr.batcher.failures import Outcomes, outcomes_of
from asynccfr.batcher.running import Running, executing
from asynccfr.batcher.workers import Workers
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
Done = Callable[[Outcomes], None]


async def evaluate(function: AnyFunction, items: Sequence[Any]) -> Outcomes:
    """A list of what a coroutine function returned, one for each item, or what it raised."""
    count = len(items)  # the function may change its list
    try:
        return outcomes_of(await function(items), count)
    except BaseException as error:
        return error


def evaluate_now(function: AnyFunction, items: Sequence[Any]) -> Outcomes:
    """`evaluate` for a plain function."""
    count = len(items)
    try:
        results = function(items)
        if not isinstance(results, list | tuple) and isawaitable(results):
            if isinstance(results, Coroutine):
                results.close()
            raise BatcherError(
                "the batch function returned an awaitable but is not an `async def`; "
                "wrap it in one, or pass the coroutine function itself"
            )
        return outcomes_of(results, count)
    except BaseException as error:
        return error


class Execution(Protocol):
    """Runs the function for one batcher."""

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        """Compute items of a batch, then call `done` in the event loop, outside any task."""

    def cancel(self) -> None:
        """Interrupt what is executing, where that is possible."""

    def close(self, wait: bool) -> None:
        """Release threads; called when nothing is executing."""


class Inline:
    """In the event loop itself: for functions that are quick, or where there are few cores."""

    def __init__(self, function: AnyFunction) -> None:
        self._function = function

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        done(evaluate_now(self._function, items))

    def cancel(self) -> None:
        pass

    def close(self, wait: bool) -> None:
        pass


class Within:
    """A context for the function in which its batch is known."""

    def __init__(self, batcher: Core[Any, Any], batch: Batch[Any, Any]) -> None:
        self.context = batcher.context.copy()
        self._running = Running(batcher, batch)
        self.context.run(executing.set, self._running)

    async def evaluate(self, function: AnyFunction, items: Sequence[Any]) -> Outcomes:
        try:
            return await evaluate(function, items)
        finally:
            self._running.end()

    def evaluate_now(self, function: AnyFunction, items: Sequence[Any]) -> Outcomes:
        try:
            return self.context.run(evaluate_now, function, items)
        finally:
            self._running.end()


class InThread:
    """In threads of the batcher's own, while the event loop goes on."""

    def __init__(self, batcher: Core[Any, Any], function: AnyFunction) -> None:
        self._batcher = batcher
        self._function = function
        self._loop = asyncio.get_running_loop()
        self._workers = Workers(batcher.max_concurrent_batches)

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        compute = partial(Within(self._batcher, batch).evaluate_now, self._function, items)
        try:
            self._workers.start(compute, partial(self._report, done))
        except Exception as error:  # there are no more threads to be had
            self._loop.call_soon(done, error)

    def _report(self, done: Done, outcomes: Outcomes) -> None:
        with suppress(RuntimeError):  # the loop was closed without aclose
            self._loop.call_soon_threadsafe(
                self._finished, done, outcomes, context=self._batcher.context
            )

    def _finished(self, done: Done, outcomes: Outcomes) -> None:
        self._workers.finished()
        done(outcomes)

    def cancel(self) -> None:
        pass

    def close(self, wait: bool) -> None:
        self._workers.close(wait)


class InExecutor:
    """In an executor that the batcher was given."""

    def __init__(self, batcher: Core[Any, Any], function: AnyFunction, executor: Executor) -> None:
        self._batcher = batcher
        self._function = function
        self._loop = asyncio.get_running_loop()
        self._executor = executor

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        evaluate = evaluate_now
        if isinstance(self._executor, ThreadPoolExecutor):
            evaluate = Within(self._batcher, batch).evaluate_now

        def report(future: Future[Outcomes]) -> None:
            outcomes: Outcomes
            try:
                outcomes = future.result()
            except CancelledError:
                outcomes = BatcherError("the executor was shut down before the batch ran")
            except BaseException as error:  # such as a pool of processes that broke
                outcomes = error
            with suppress(RuntimeError):  # the loop was closed without aclose
                self._loop.call_soon_threadsafe(done, outcomes, context=self._batcher.context)

        try:
            future = self._executor.submit(evaluate, self._function, items)
        except Exception as error:  # such as an executor that has been shut down
            self._loop.call_soon(done, error)
        else:
            future.add_done_callback(report)

    def cancel(self) -> None:
        pass

    def close(self, wait: bool) -> None:
        pass


class AsTask:
    """A coroutine function, each batch in a task."""

    def __init__(self, batcher: Core[Any, Any], function: AnyFunction) -> None:
        self._batcher = batcher
        self._function = function
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Outcomes]] = set()

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        def report(task: asyncio.Task[Outcomes]) -> None:
            self._tasks.discard(task)
            # A task that was cancelled before its first step has not run `evaluate` at all.
            done(asyncio.CancelledError() if task.cancelled() else task.result())

        within = Within(self._batcher, batch)
        task = within.context.run(self._loop.create_task, within.evaluate(self._function, items))
        self._tasks.add(task)
        task.add_done_callback(report)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def close(self, wait: bool) -> None:
        pass
