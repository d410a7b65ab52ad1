"""How a batch is computed: in the event loop, in a thread, or by a coroutine."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol, TypeVar

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.core import Core
from asynccfr.batcher.failures import Outcomes, outcomes_of
from asynccfr.batcher.running import Running, executing
from asynccfr.batcher.workers import Workers
from asynccfr.errors import BatcherError

Item = TypeVar("Item")
Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


class Results(Protocol[Result_co]):
    """What a batch function returns: one result for each item, in order."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Result_co: ...


# A result that is an exception is raised for its caller.
AnyResults = Awaitable[Results[Result | Exception]] | Results[Result | Exception]
BatchFunction = Callable[[list[Item]], AnyResults[Result]]


class KeyedFunction(Protocol[Item, Result_co]):
    """A batch function that is told what its items have in common."""

    def __call__(
        self, items: list[Item], /, *, key: Any
    ) -> Awaitable[Results[Result_co | Exception]] | Results[Result_co | Exception]: ...


AnyFunction = Callable[..., Any]
Done = Callable[[Outcomes], None]


@dataclass(frozen=True)
class Work:
    """The batch function, and how it is to be called."""

    function: AnyFunction
    takes_key: bool = False
    allowed_sizes: tuple[int, ...] = ()

    def call(self, items: Sequence[Any], key: Hashable) -> Any:
        return self.function(items, key=key) if self.takes_key else self.function(items)

    def padded(self, items: Sequence[Any]) -> Sequence[Any]:
        """The items, the last one repeated up to the next allowed size."""
        size = next((size for size in self.allowed_sizes if size >= len(items)), len(items))
        return items if size == len(items) else [*items, *[items[-1]] * (size - len(items))]


async def evaluate(work: Work, items: Sequence[Any], key: Hashable) -> Outcomes:
    """A list of what a coroutine function returned, one for each item, or what it raised."""
    count = len(items)  # the function may change its list
    try:
        given = work.padded(items)
        size = len(given)
        return outcomes_of(await work.call(given, key), size)[:count]
    except BaseException as error:
        return error


def evaluate_now(work: Work, items: Sequence[Any], key: Hashable) -> Outcomes:
    """`evaluate` for a plain function."""
    count = len(items)
    try:
        given = work.padded(items)
        size = len(given)
        results = work.call(given, key)
        if not isinstance(results, list) and isawaitable(results):
            if isinstance(results, Coroutine):
                results.close()
            raise BatcherError(
                "the batch function returned an awaitable but is not an `async def`; "
                "wrap it in one, or pass the coroutine function itself"
            )
        return outcomes_of(results, size)[:count]
    except BaseException as error:
        return error


class Execution(Protocol):
    """Runs the function for one batcher."""

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        """Compute items of a batch, then call `done` in the event loop, outside any task.

        Raises nothing: what keeps it from starting is an outcome, too.
        """

    def cancel(self, batch: Batch[Any, Any] | None = None) -> None:
        """Interrupt a batch, or all that is executing, where that is possible."""

    def limit(self, batches: int) -> None:
        """Let so many batches execute at once."""

    def close(self, wait: bool) -> None:
        """Release threads, and `wait` until they have ended; called when nothing is executing."""

    def give_up(self) -> None:
        """What hangs is nobody's business any more: do not wait for it, even at exit."""


class Inline:
    """In the event loop itself: for functions that are quick, or where there are few cores."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        done(evaluate_now(self._work, items, batch.key))

    def cancel(self, batch: Batch[Any, Any] | None = None) -> None:
        pass

    def limit(self, batches: int) -> None:
        pass

    def close(self, wait: bool) -> None:
        pass

    def give_up(self) -> None:
        pass


class Within:
    """A context for the function in which its batch is known."""

    def __init__(self, batcher: Core[Any, Any], batch: Batch[Any, Any]) -> None:
        self.context = batcher.context.copy()
        self._running = Running(batcher, batch)
        self._key = batch.key
        self.context.run(executing.set, self._running)

    async def evaluate(self, work: Work, items: Sequence[Any]) -> Outcomes:
        try:
            return await evaluate(work, items, self._key)
        finally:
            self._running.end()

    def evaluate_now(self, work: Work, items: Sequence[Any]) -> Outcomes:
        try:
            return self.context.run(evaluate_now, work, items, self._key)
        finally:
            self._running.end()


class InThread:
    """In threads of the batcher's own, while the event loop goes on."""

    def __init__(self, batcher: Core[Any, Any], work: Work) -> None:
        self._batcher = batcher
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._workers = Workers(batcher.max_concurrent_batches)

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        compute = partial(Within(self._batcher, batch).evaluate_now, self._work, items)
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

    def cancel(self, batch: Batch[Any, Any] | None = None) -> None:
        pass

    def limit(self, batches: int) -> None:
        self._workers.limit = batches

    def close(self, wait: bool) -> None:
        self._workers.close(wait)

    def give_up(self) -> None:
        self._workers.give_up()


class AsTask:
    """A coroutine function, each batch in a task."""

    def __init__(self, batcher: Core[Any, Any], work: Work) -> None:
        self._batcher = batcher
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[Batch[Any, Any], asyncio.Task[Outcomes]] = {}

    def start(self, batch: Batch[Any, Any], items: Sequence[Any], done: Done) -> None:
        def report(task: asyncio.Task[Outcomes]) -> None:
            self._tasks.pop(batch, None)
            # A task that was cancelled before its first step has not run `evaluate` at all.
            done(
                asyncio.CancelledError() if task.cancelled() else task.exception() or task.result()
            )

        within = Within(self._batcher, batch)
        coroutine = within.evaluate(self._work, items)
        try:
            task = within.context.run(self._loop.create_task, coroutine)
            task.add_done_callback(report)
        except BaseException as error:  # from a task factory
            coroutine.close()
            self._loop.call_soon(done, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._tasks[batch] = task

    def cancel(self, batch: Batch[Any, Any] | None = None) -> None:
        for running, task in list(self._tasks.items()):
            if batch in (None, running):
                task.cancel()

    def limit(self, batches: int) -> None:
        pass

    def close(self, wait: bool) -> None:
        pass

    def give_up(self) -> None:
        pass
