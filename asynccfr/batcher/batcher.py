"""The micro-batcher: many callers await one item each, one function computes them together.

`Core` knows what waits and what may start, `execution` how a batch is computed, and a `Call` is
what a caller awaits. `Batcher` ties them to an event loop: gives turns, keeps time, opens, closes.
"""

import asyncio
import concurrent.futures
import os
import time
from collections import Counter
from collections.abc import Callable, Hashable
from contextvars import Context, copy_context
from functools import partial
from numbers import Real
from operator import index
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from asynccfr.batcher.adaptive import Forecasts
from asynccfr.batcher.alarm import Alarm, alarm
from asynccfr.batcher.batch import Batch
from asynccfr.batcher.call import wake
from asynccfr.batcher.core import Core
from asynccfr.batcher.execution import (
    AsTask,
    BatchFunction,
    Execution,
    InExecutor,
    Inline,
    InThread,
)
from asynccfr.batcher.failures import Outcomes, one_each
from asynccfr.batcher.functions import declare_coroutine_function, is_async, yields
from asynccfr.batcher.isolation import Isolation
from asynccfr.batcher.participation import Participant
from asynccfr.batcher.rows import RowPool, Rows
from asynccfr.batcher.running import executing
from asynccfr.batcher.statistics import REASONS, BatchRecord, Sizes, Statistics
from asynccfr.batcher.threads import result_in_thread, submit_in_thread
from asynccfr.errors import BatcherClosed, BatcherError, ConfigError

Item = TypeVar("Item")
Result = TypeVar("Result")
BATCH_FUNCTION_CALLED_ITSELF = (
    "{}: the batch function called its own batcher, itself or by what it started or awaited, and "
    "would wait for itself; call the function directly or use another batcher. What no batch waits "
    "for may be started with create_task(..., context=contextvars.Context())"
)


class Batcher(Core[Item, Result]):
    """Collects awaited items and computes them together.

        async with Batcher(predict, max_batch=64, batch_window_us=200) as batcher:
            answer = await batcher(question)

    `batcher(item, key=..., timeout=...)` and `batcher.submit` are the same: they queue the item at
    once and return an awaitable `Call`. They raise BatcherClosed after closing, QueueFull where
    `when_full="raise"`, and BatcherError in another event loop, a forked process, or the batch
    function itself. Awaiting raises the function's error, as the caller's own object with the
    original as its cause; TimeoutError past the deadline; BatcherError where the function did not
    return one result for each item, or raised what would stop a task or the loop (CancelledError,
    KeyboardInterrupt, SystemExit), which is also reported to the loop's exception handler.

    A batcher belongs to the event loop that first uses it. The function sees the context variables
    of where the batcher was entered or, if it is not, made; never those of a caller.

    Args:
        function: takes a list of items and returns one result for each, in order: a list, a tuple,
            or an array indexed by its first axis. A result that is an exception is raised for its
            caller. An `async def` runs as a task, a plain function in a thread of the batcher.
        max_batch: the most items in a batch.
        batch_window_us: microseconds that the oldest item waits for company; with 0 a batch starts
            at the end of the turn of the event loop in which its first item came.
        adaptive: wait only while arrivals promise a fuller batch, at most the window.
        key: the group of an item; a batch never mixes groups.
        fair: groups take turns; otherwise the one that has waited longest goes first.
        inline: run a plain function in the event loop.
        executor: run a plain function there, not in threads of the batcher's own.
        max_concurrent_batches: batches that execute at once; meanwhile the pending batch grows.
        max_queue: how much may be queued; None for any amount.
        when_full: "wait": callers stand in line for room in the queue; "raise": they get QueueFull.
        size_of: how much of `max_batch` and `max_queue` an item takes; 1 if not given.
        timeout: seconds after which a call raises TimeoutError; None for never.
        isolate_errors: compute a batch that failed again in halves, so that only those items fail
            that do on their own.
        rows: pass the function an array that items are written straight into, see `Rows`.
        on_batch: called with a `BatchRecord` after every batch.
        name: what errors and metrics call it; the function's name if not given.
    """

    def __init__(
        self,
        function: BatchFunction[Item, Result],
        *,
        max_batch: int,
        batch_window_us: float = 0,
        adaptive: bool = False,
        key: Callable[[Item], Hashable] | None = None,
        fair: bool = False,
        inline: bool = False,
        executor: concurrent.futures.Executor | None = None,
        max_concurrent_batches: int = 1,
        max_queue: int | None = None,
        when_full: Literal["wait", "raise"] = "wait",
        size_of: Callable[[Item], int] | None = None,
        timeout: float | None = None,
        isolate_errors: bool = False,
        rows: Rows | None = None,
        on_batch: Callable[[BatchRecord], object] | None = None,
        name: str | None = None,
    ) -> None:
        self._is_async = is_async(function)
        require(
            callable(function) and not yields(function),
            function=function,
            expected="a function that takes a list of items and returns, not yields, the results",
        )
        max_batch = count(max_batch=max_batch, expected="an integer of at least 1")
        max_concurrent_batches = count(
            max_concurrent_batches=max_concurrent_batches, expected="an integer of at least 1"
        )
        require(
            is_number(batch_window_us) and 0 <= batch_window_us < float("inf"),
            batch_window_us=batch_window_us,
            expected="microseconds, at least 0",
        )
        if max_queue is not None:
            fits = f"None or at least max_batch={max_batch}: a batch must fit into the queue"
            max_queue = count(max_queue=max_queue, at_least=max_batch, expected=fits)
        require(when_full in ("wait", "raise"), when_full=when_full, expected="'wait' or 'raise'")
        require(
            timeout is None or (is_number(timeout) and timeout > 0),
            timeout=timeout,
            expected="None or seconds above 0",
        )
        require(
            not adaptive or batch_window_us > 0,
            adaptive=adaptive,
            expected="a batch_window_us above 0, the longest to wait",
        )
        require(
            not (inline and (self._is_async or executor or max_concurrent_batches > 1)),
            inline=inline,
            expected="a plain function, no executor, and one batch at a time",
        )
        require(
            executor is None or (hasattr(executor, "submit") and not self._is_async),
            executor=executor,
            expected="None or a concurrent.futures.Executor, and a plain function for it",
        )
        for name_of_hook, hook in (("key", key), ("size_of", size_of), ("on_batch", on_batch)):
            require(
                hook is None or (callable(hook) and not is_async(hook)),
                expected="None or a plain function",
                **{name_of_hook: hook},
            )
        require(rows is None or isinstance(rows, Rows), rows=rows, expected="None or Rows(shape)")
        require(rows is None or size_of is None, rows=rows, expected="no size_of: an item is a row")
        super().__init__(
            max_batch=max_batch,
            window=batch_window_us * 1e-6,
            key_of=key,
            size_of=size_of,
            capacity=max_queue,
            refuse_when_full=when_full == "raise",
            timeout=timeout,
            max_concurrent_batches=max_concurrent_batches,
            fair=fair,
            rows=None if rows is None else RowPool(rows, max_batch, max_concurrent_batches + 2),
            forecasts=Forecasts() if adaptive else None,
        )
        self.name: str = name or getattr(function, "__qualname__", "") or type(function).__name__
        self._function = function
        self._inline = inline
        self._isolate = isolate_errors
        self._executor = executor
        self._on_batch = on_batch
        self._sizes: Counter[int] = Counter()
        self._reasons = dict.fromkeys(REASONS, 0)
        self._batches: set[Batch[Item, Result]] = set()
        self._alarm: Alarm | None = None
        self._execution: Execution
        self._drained: asyncio.Event
        self._process_id = 0
        self.context: Context = copy_context()
        declare_coroutine_function(self)

    async def __aenter__(self) -> Self:
        if not self.is_open:
            self._refuse()
        if not self._process_id:
            self.context = copy_context()
        self._adopt_loop()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drain; after an exception, what has not started yet fails with BatcherClosed instead."""
        if error is not None:
            self._adopt_loop()
            self._begin_closing()
            self._drop(self._waiting_calls(), f"{self.name}: the batcher's block raised {error!r}")
        await self.aclose()

    async def aclose(self, *, cancel: bool = False) -> None:
        """Accept nothing more; return when nothing is left running.

        What waits is computed first. With `cancel` every caller who has no result yet gets
        BatcherClosed at once and an executing `async def` is cancelled; an executing thread cannot
        be, and is waited for. Closing goes on if this is cancelled, and may be awaited repeatedly.
        """
        if self.has_lost_its_loop():
            self.is_open = False
            self._emptied()
            return
        self._adopt_loop()
        if self._is_within_itself():
            raise BatcherError(BATCH_FUNCTION_CALLED_ITSELF.format(self.name))
        self._begin_closing()
        if cancel:
            executing = [call for batch in self._batches for call in batch.calls]
            self._drop(executing + self._waiting_calls(), f"{self.name}: closed with cancel=True")
            self._execution.cancel()
        await self._drained.wait()
        self._execution.close(wait=True)

    def participant(self) -> Participant:
        """A context manager for someone who awaits one call at a time, and nothing else for long.

        As soon as every participant waits, nobody can add to a batch any more, and what is queued
        starts without waiting out the window. Tasks that are started inside count for it.
        """
        return Participant(self)

    def call_from_thread(self, item: Item, **options: Any) -> Result:
        """The result for an item, in a thread other than the event loop's; blocks.

        Takes the options of `submit` and raises what awaiting would.
        """
        if self._is_within_itself():
            raise BatcherError(BATCH_FUNCTION_CALLED_ITSELF.format(self.name))
        return result_in_thread(self.submit_from_thread(item, **options))

    def submit_from_thread(self, item: Item, **options: Any) -> concurrent.futures.Future[Result]:
        """A future for the result, in a thread other than the loop's; cancel it to give up."""
        self._check_process()
        return submit_in_thread(self, item, options)

    def statistics(self) -> Statistics:
        """What has happened so far, and what is waiting and executing now."""
        return Statistics(
            items=self.submitted,
            succeeded=self.succeeded,
            failed=self.failed,
            cancelled=self.cancelled,
            abandoned=self.abandoned,
            timed_out=self.timed_out,
            closed=self.closed,
            refused=self.refused,
            waiting=self.waiting,
            queued=self.queued,
            in_flight=self.executing,
            batches=self._sizes.total(),
            reasons=dict(self._reasons),
            batch_size=Sizes(dict(self._sizes)),
            queue_wait_us=self.queue_wait.copy(),
            execution_us=self.execution.copy(),
        )

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed" if self.is_empty() else "closing"
        return f"<Batcher {self.name} {state}, {self.queued} queued, {self.executing} in flight>"

    # What the core asks for.

    def _bind(self) -> None:
        self._check_process()
        loop = asyncio._get_running_loop()
        if loop is None:
            raise BatcherError(
                f"{self.name}: called outside its event loop; call it in a coroutine, or from "
                "another thread with call_from_thread"
            )
        if loop is self.loop:  # which has moved to another thread
            self._settle(loop)
            return
        if self._process_id:
            which = "is closed" if self.loop.is_closed() else "is not this one"
            raise BatcherError(
                f"{self.name}: the batcher belongs to the event loop that first used it, which "
                f"{which}. Create a batcher for each loop"
            )
        self._process_id = os.getpid()
        self._settle(loop)
        self.context.run(executing.set, None)
        self._drained = asyncio.Event()
        if self._is_async:
            self._execution = AsTask(self, self._function)
        elif self._inline:
            self._execution = Inline(self._function)
        elif self._executor is None:
            self._execution = InThread(self, self._function)
        else:
            self._execution = InExecutor(self, self._function, self._executor)

    def _refuse(self) -> None:
        if not self.is_open:
            raise BatcherClosed(f"{self.name}: the batcher is closed. Create a new one")
        raise BatcherError(BATCH_FUNCTION_CALLED_ITSELF.format(self.name))

    def _set_alarm(self, when: float) -> None:
        if self._alarm is None:
            # In the batcher's own context: a loop's reader would keep the first caller's for ever.
            self._alarm = self.context.copy().run(alarm, self.loop, self)
        self._alarm.held = self
        self._alarm.set(when)

    def _turn(self) -> None:
        batch = self._take()
        while batch is not None:
            self._batches.add(batch)
            done = partial(self._done, batch)
            if self._isolate:
                Isolation(self._execution, batch, done).go_on()
            else:
                self._execution.start(batch, batch.items, done)
            # With a function in the loop, let its callers and the loop have a turn between batches.
            batch = None if self._inline else self._take()
        if self._alarm is not None and not self.queued:
            self._alarm.held = None

    def _done(self, batch: Batch[Item, Result], result: Outcomes) -> None:
        outcomes = one_each(result, len(batch.calls))
        self._batches.discard(batch)
        self._sizes[batch.size] += 1
        self._reasons[batch.reason] += 1
        errors = self._finish(batch, outcomes)
        interruptions = (e for e in errors if isinstance(e, KeyboardInterrupt | SystemExit))
        if interruption := next(interruptions, None):
            self._report("the batch function was interrupted", interruption)
        try:
            if self._on_batch is not None:
                self._tell(self._on_batch, batch, outcomes)
        finally:
            wake(batch.let_go())

    def _emptied(self) -> None:
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None
        self._execution.close(wait=False)
        self._drained.set()

    # Helpers.

    def has_lost_its_loop(self) -> bool:
        """Whether the event loop that this batcher belongs to has been closed."""
        return self._process_id != 0 and self.loop.is_closed()

    def was_forked(self) -> bool:
        """Whether this is a copy, in a forked process, of a batcher in use."""
        return self._process_id not in (0, os.getpid())

    def _check_process(self) -> None:
        if self.was_forked():
            raise BatcherError(
                f"{self.name}: the process was forked after the batcher's first use; its event "
                "loop and threads stayed in the parent. Create a batcher in each process"
            )

    def _adopt_loop(self) -> None:
        if asyncio.get_running_loop() is not self.loop:
            self._bind()

    def _begin_closing(self) -> None:
        if not self.is_closing:
            self._close()

    def _report(self, message: str, error: BaseException) -> None:
        self.loop.call_exception_handler({"message": f"{self.name}: {message}", "exception": error})

    def _tell(
        self,
        hook: Callable[[BatchRecord], object],
        batch: Batch[Item, Result],
        outcomes: list[Any],
    ) -> None:
        record = BatchRecord(
            batcher=self.name,
            key=batch.key,
            reason=batch.reason,
            items=len(batch.calls),
            size=batch.size,
            failed=sum(isinstance(outcome, BaseException) for outcome in outcomes),
            queue_wait_us=(batch.started - batch.calls[0].arrived) * 1e6,
            execution_us=batch.seconds * 1e6,
            ended_unix_ns=time.time_ns(),
        )
        try:
            hook(record)
        except Exception as error:
            self._report("the on_batch hook failed", error)


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def count(*, at_least: int = 1, expected: str, **argument: Any) -> int:
    """The argument as an int, whatever kind of integer it is."""
    [(name, value)] = argument.items()
    number = 0 if isinstance(value, bool) or not hasattr(value, "__index__") else index(value)
    require(number >= at_least, expected=expected, **{name: value})
    return number


def require(condition: bool, *, expected: str, **argument: object) -> None:
    if not condition:
        [(name, value)] = argument.items()
        raise ConfigError(f"{name}={value!r}: expected {expected}")
