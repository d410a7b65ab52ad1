"""The micro-batcher: many callers await one item each, one function computes them together."""

import asyncio
import concurrent.futures
import os
from collections.abc import Callable, Hashable
from contextvars import copy_context
from functools import partial
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from asynccfr.batcher.alarm import Alarm, alarm
from asynccfr.batcher.call import Call, wake
from asynccfr.batcher.core import Batch, Core, Participant
from asynccfr.batcher.execution import AsTask, Execution, Inline, InThread
from asynccfr.errors import BatcherClosed, BatcherError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Core[Item, Result]):
    """Collects awaited items and computes them together.

        async with Batcher(predict, max_batch=64, batch_window_us=200) as batcher:
            answer = await batcher(question)

    Args:
        function: takes a list of items and returns one result for each, in order: a list, a tuple,
            or an array indexed by its first axis. A result that is an exception is raised for its
            caller. An `async def` runs as a task, a plain function in a thread of the batcher.
        max_batch: the largest batch.
        batch_window_us: microseconds that the oldest item waits for company; with 0 a batch starts
            at the end of the turn of the event loop in which its first item came.
        key: the group of an item; a batch never mixes groups.
        inline: run a plain function in the event loop instead of a thread.
        max_concurrent_batches: batches that execute at once; while so many do, what arrives joins
            the pending batch.
        max_queue: how much may be queued, None for any amount. Beyond it callers wait in line, or
            with `when_full="raise"` get QueueFull.
        size_of: how much of `max_batch` and `max_queue` an item takes, 1 if not given.
        timeout: seconds after which a call raises TimeoutError, None for never.
        isolate_errors: compute a failing batch again in halves until only the items that fail on
            their own have failed.
        fair: keys take turns; otherwise whoever has waited longest goes first.
        executor: where a plain function runs, in place of the batcher's own threads.
        name: what errors and metrics call it; the function's name if not given.

    A batcher belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        function: Callable[[list[Item]], Any],
        *,
        max_batch: int,
        batch_window_us: float = 0,
        key: Callable[[Item], Hashable] | None = None,
        inline: bool = False,
        max_concurrent_batches: int = 1,
        max_queue: int | None = None,
        when_full: Literal["wait", "raise"] = "wait",
        size_of: Callable[[Item], int] | None = None,
        timeout: float | None = None,
        isolate_errors: bool = False,
        fair: bool = False,
        executor: concurrent.futures.Executor | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            max_batch=max_batch,
            window=batch_window_us * 1e-6,
            key_of=key,
            size_of=size_of,
            capacity=max_queue,
            refuse_when_full=when_full == "raise",
            timeout=timeout,
            max_concurrent_batches=1 if inline else max_concurrent_batches,
            fair=fair,
        )
        self.name = name or getattr(function, "__qualname__", type(function).__qualname__)
        self._function = function
        self._is_async = iscoroutinefunction(function) or iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )
        self._inline = inline
        self._isolate = isolate_errors
        self._executor = executor
        self._execution: Execution | None = None
        self._alarm: Alarm | None = None
        self._pid = 0
        self._drained: asyncio.Event | None = None
        self._batches: set[Batch[Item, Result]] = set()

    # Life.

    async def __aenter__(self) -> Self:
        if asyncio.get_running_loop() is not self.loop:
            self._bind()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._begin_closing()
            self._drop(self._waiting_calls(), f"{self.name}: the batcher's block raised {error!r}")
        await self.aclose()

    async def aclose(self, *, cancel: bool = False) -> None:
        """Accept nothing more, and return when nothing is left running.

        What waits is computed first; with `cancel`, every caller without a result gets
        BatcherClosed at once, and an `async def` that is executing is cancelled.
        """
        if asyncio.get_running_loop() is not self.loop:
            self._bind()
        if self.runners and asyncio.current_task() in self.runners:
            raise BatcherError(
                f"{self.name}: aclose() called by the batch function would wait for itself; "
                "close the batcher from outside"
            )
        self._begin_closing()
        if cancel:
            running = [call for batch in self._batches for call in batch.calls]
            self._drop(running + self._waiting_calls(), f"{self.name}: closed with cancel=True")
            assert self._execution is not None
            self._execution.cancel()
        assert self._drained is not None
        await self._drained.wait()
        assert self._execution is not None
        self._execution.close()

    def participant(self) -> Participant:
        """A context manager for someone who promises to await one call at a time.

        As soon as every participant waits, nobody else can add to a batch, and what is queued
        starts without waiting out the window. Tasks started inside take part on its behalf.
        """
        return Participant(self)

    # Other threads.

    def call_from_thread(self, item: Item, **options: Any) -> Result:
        """The result for an item, from a thread other than the event loop's; blocks."""
        raise NotImplementedError

    # The core's needs.

    def _bind(self) -> None:
        loop = asyncio._get_running_loop()
        if self._pid and self._pid != os.getpid():
            raise BatcherError(
                f"{self.name}: the process was forked after the batcher's first use, and its loop "
                "and threads stayed in the parent; create a batcher in each process"
            )
        if loop is None:
            raise BatcherError(
                f"{self.name}: called outside the event loop; from another thread use "
                "call_from_thread"
            )
        if self._pid:
            state = "is closed" if self.loop.is_closed() else "is another one"
            raise BatcherError(
                f"{self.name}: the batcher belongs to the event loop that first used it, which "
                f"{state}; create a batcher for each loop"
            )
        self._pid = os.getpid()
        self.loop = loop
        self.context = copy_context()
        self._drained = asyncio.Event()
        if self._is_async:
            self.runners = set()
            self._execution = AsTask(self._function, self._isolate, self.runners)
        elif self._inline:
            self._execution = Inline(self._function, self._isolate)
        else:
            self._execution = InThread(
                self._function, self._isolate, self.max_concurrent_batches, self._executor
            )

    def _refuse(self) -> None:
        if not self.is_open:
            raise BatcherClosed(f"{self.name}: the batcher is closed; create a new one")
        raise BatcherError(
            f"{self.name}: the batch function called its own batcher, which would wait for itself; "
            "call the function directly or use another batcher"
        )

    def _set_alarm(self, when: float) -> None:
        if self._alarm is None:
            self._alarm = alarm(self.loop, self._ring)
        self._alarm.set(when)

    def _turn(self) -> None:
        assert self._execution is not None
        batch = self._take()
        while batch is not None:
            self._batches.add(batch)
            self._execution.start(batch.items, partial(self._done, batch))
            batch = None if self._execution.at_once else self._take()

    def _done(self, batch: Batch[Item, Result], outcomes: list[Any]) -> None:
        self._batches.discard(batch)
        self._finish(batch, outcomes)
        wake(batch.calls)

    # Closing.

    def _begin_closing(self) -> None:
        if not self.is_closing:
            self._close()

    def _emptied(self) -> None:
        assert self._drained is not None
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None
        self._drained.set()


__all__ = ["Batcher", "Call"]
