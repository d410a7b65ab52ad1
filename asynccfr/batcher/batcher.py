"""The micro-batcher: many callers await one item each, one function computes them together.

`Core` knows what waits and what may start, `execution` how a batch is computed, and a `Call` is
what a caller awaits. `Batcher` ties them to an event loop: gives turns, keeps time, opens, closes.
"""

import asyncio
import concurrent.futures
import logging
import os
import time
from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import replace
from functools import partial
from math import isinf
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from asynccfr.batcher.adaptive import Forecasts
from asynccfr.batcher.alarm import Alarm, alarm
from asynccfr.batcher.batch import Batch
from asynccfr.batcher.call import Call, wake
from asynccfr.batcher.core import Core
from asynccfr.batcher.equals import Equals
from asynccfr.batcher.execution import (
    AnyFunction,
    AsTask,
    BatchFunction,
    Execution,
    Inline,
    InThread,
    KeyedFunction,
    Work,
)
from asynccfr.batcher.failures import Outcomes, one_each
from asynccfr.batcher.functions import declare_coroutine_function, is_async, takes_key, yields
from asynccfr.batcher.isolation import Isolation
from asynccfr.batcher.options import BatcherOptions, CallOptions, Options
from asynccfr.batcher.participation import Participant
from asynccfr.batcher.running import executing
from asynccfr.batcher.statistics import (
    REASONS,
    BatchRecord,
    Health,
    Sizes,
    Statistics,
    rounded,
)
from asynccfr.batcher.threads import result_in_thread, submit_in_thread
from asynccfr.errors import BatcherClosed, BatcherError, ConfigError

log = logging.getLogger("asynccfr.batcher")

Item = TypeVar("Item")
Result = TypeVar("Result")

UNCHANGED: Any = object()

BATCH_FUNCTION_CALLED_ITSELF = (
    "{}: the batch function called its own batcher, itself or by what it started or awaited, and "
    "would wait for itself; call the function directly or use another batcher. What no batch waits "
    "for may be started with create_task(..., context=contextvars.Context())"
)


class Batcher(Core[Item, Result]):
    """Collects awaited items and computes them together.

        async with Batcher(predict, max_batch=64, batch_window_us=200) as batcher:
            answer = await batcher(question)
            answers = await batcher.many(questions)

    `batcher(item, key=..., priority=..., timeout=...)` queues the item at once and returns an
    awaitable `Call`. Awaiting it raises the function's error, as the caller's own object with the
    original as its cause; TimeoutError past the deadline; QueueFull where `when_full="raise"`;
    BatcherClosed after closing; BatcherError within the batch function itself, and where the
    function did not return one result for each item, or raised what would stop a task or the loop
    (CancelledError, KeyboardInterrupt, SystemExit). In another event loop or a forked process the
    call itself raises BatcherError.

    A batcher belongs to the event loop that uses it; once that is closed and nothing waits, to the
    next. The function sees the context variables of where the batcher was entered or, if it is not,
    made; never those of a caller.

    Args:
        function: takes a list of items and returns one result for each, in order: a list, or an
            array indexed by its first axis. A result that is an exception is raised for its caller.
            An `async def` runs as a task, and is cancelled when all its callers have given up; a
            plain function runs in a thread of the batcher. With a keyword-only parameter `key` it
            is told what its items have in common.
        max_batch: the most items in a batch.
        batch_window_us: microseconds that the oldest item waits for company; with 0 a batch starts
            at the end of the turn of the event loop in which its first item came.
        adaptive: wait only while arrivals promise a fuller batch, at most the window.
        key: the group of an item; a batch never mixes groups.
        same: what equal items have in common: while one of them waits or executes, others get the
            same answer, each caller with its own cancellation and deadline.
        inline: run a plain function in the event loop.
        max_concurrent_batches: batches that execute at once; meanwhile the pending batch grows.
        allowed_sizes: sizes of the lists that the function gets, the last one `max_batch`; the last
            item is repeated up to the next of them, and what is returned for that dropped.
        max_queue: how much may be queued; None for any amount.
        when_full: "wait": callers stand in line for room in the queue; "raise": they get QueueFull.
        size_of: how much of `max_batch` and `max_queue` an item takes; 1 if not given.
        timeout: seconds after which a call raises TimeoutError; None for never.
        isolate_errors: compute a batch that failed again in halves, so that only those items fail
            that do on their own: always, for some types of errors, or where a function of the error
            says so. Halves that fail alike are not halved again.
        mark: called for every item in its caller's context, for `BatchRecord.marks`.
        on_batch: called with a `BatchRecord` after every batch.
        slow_batch: seconds from which on a batch is worth a warning to the log asynccfr.batcher.
        name: what errors and metrics call it; the function's name if not given.
    """

    @overload
    def __init__(
        self,
        function: BatchFunction[Item, Result],
        *,
        max_batch: int,
        **options: Unpack[BatcherOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        function: KeyedFunction[Item, Result],
        *,
        max_batch: int,
        **options: Unpack[BatcherOptions],
    ) -> None: ...
    def __init__(
        self, function: AnyFunction, *, max_batch: int, **options: Unpack[BatcherOptions]
    ) -> None:
        if not callable(function) or yields(function):
            raise ConfigError(
                f"function={function!r}: expected a function that takes a list of items and "
                "returns, not yields, the results"
            )
        self.options = Options(max_batch=max_batch, **options)
        self._is_async = is_async(function)
        if self.options.inline and self._is_async:
            raise ConfigError("inline=True: expected a plain function, and one batch at a time")
        same = self.options.same
        self._equals = None if same is None else Equals(self, same)
        super().__init__(
            max_batch=self.options.max_batch,
            window=self.options.batch_window_us * 1e-6,
            key_of=self.options.key,
            size_of=self.options.size_of,
            capacity=self.options.max_queue,
            refuse_when_full=self.options.when_full == "raise",
            timeout=self.options.timeout,
            mark=self.options.mark,
            max_concurrent_batches=self.options.max_concurrent_batches,
            forecasts=Forecasts() if self.options.adaptive else None,
            equals=self._equals,
        )
        self.name: str = (
            self.options.name or getattr(function, "__qualname__", "") or type(function).__name__
        )
        self._work = Work(function, takes_key(function), self.options.allowed_sizes)
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
        """Drain; after an exception, what has not started yet fails with BatcherClosed instead.

        If that is cancelled, so is an executing `async def`, which is waited for.
        """
        if error is not None:
            self._adopt_loop()
            self._begin_closing()
            self._drop(self._waiting_calls(), f"{self.name}: the batcher's block raised {error!r}")
        try:
            await self.aclose()
        except asyncio.CancelledError:
            self._give_up(f"{self.name}: the batcher's block was cancelled")
            while self._is_async and self.executing_batches:
                with suppress(asyncio.CancelledError):
                    await self._drained.wait()
            raise

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
            self._give_up(f"{self.name}: closed with cancel=True")
        await self._drained.wait()
        self._execution.close(wait=True)

    def _give_up(self, message: str) -> None:
        """Fail every caller, cancel what can be, and wait for nothing else at exit."""
        executing = [call for batch in self._batches for call in batch.calls]
        self._drop(executing + self._waiting_calls(), message)
        self._execution.cancel()
        self._execution.give_up()

    async def many(
        self,
        items: Iterable[Item],
        *,
        key: Hashable = UNCHANGED,
        priority: float = 0,
        timeout: float | None = UNCHANGED,  # noqa: ASYNC109 (of every item)
        return_exceptions: bool = False,
    ) -> list[Result]:
        """The results of many items, in order; they may be computed in several batches.

        Raises the error of the first item that failed, and then, as when it is cancelled, gives
        the others up. With `return_exceptions` errors are results.
        """
        given = {"key": key, "timeout": timeout}
        options: dict[str, Any] = {k: v for k, v in given.items() if v is not UNCHANGED}
        calls: list[Call[Result]] = []
        try:
            for item in items:  # which may raise
                calls.append(self(item, priority=priority, **options))
            if return_exceptions:
                return [await settled(call) for call in calls]
            return [await call for call in calls]
        finally:
            for call in calls:
                if not call.cancel() and not call.cancelled():
                    call.exception()  # which is known to somebody now

    def configure(
        self,
        *,
        max_batch: int = UNCHANGED,
        batch_window_us: float = UNCHANGED,
        max_concurrent_batches: int = UNCHANGED,
    ) -> None:
        """Change limits while it runs; they hold for what waits, too. Raises ConfigError."""
        given = {
            "max_batch": max_batch,
            "batch_window_us": batch_window_us,
            "max_concurrent_batches": max_concurrent_batches,
        }
        changes: dict[str, Any] = {k: v for k, v in given.items() if v is not UNCHANGED}
        self.options = replace(self.options, **changes)
        self._set_limits(
            self.options.max_batch,
            self.options.batch_window_us * 1e-6,
            self.options.max_concurrent_batches,
        )
        if self._process_id:
            self._execution.limit(self.options.max_concurrent_batches)

    def health(self) -> Health:
        """How old the oldest work is, queued and executing."""
        now = time.monotonic()
        arrived = self._oldest_arrival()
        started = min((batch.started for batch in tuple(self._batches)), default=now)
        return Health(queued=0.0 if isinf(arrived) else now - arrived, executing=now - started)

    def is_healthy(self, within: float) -> bool:
        """Whether it is open and nothing has waited or executed for more than `within` seconds.

        For a readiness probe: false once a batch has wedged.
        """
        health = self.health()
        return self.is_open and max(health.queued, health.executing) <= within

    def participant(self) -> Participant:
        """A context manager for someone who awaits one call at a time, and nothing else for long.

        As soon as every participant waits, nobody can add to a batch any more, and what is queued
        starts without waiting out the window. Tasks that are started inside count for it.
        """
        return Participant(self)

    def call_from_thread(self, item: Item, **options: Unpack[CallOptions]) -> Result:
        """The result for an item, in a thread other than the event loop's; blocks.

        Takes the options of `submit` and raises what awaiting would.
        """
        if self._is_within_itself():
            raise BatcherError(BATCH_FUNCTION_CALLED_ITSELF.format(self.name))
        return result_in_thread(self.submit_from_thread(item, **options))

    def submit_from_thread(
        self, item: Item, **options: Unpack[CallOptions]
    ) -> concurrent.futures.Future[Result]:
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
            shared=0 if self._equals is None else self._equals.shared,
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
        if self._process_id and not (self.loop.is_closed() and self.is_empty()):
            which = (
                "is closed, with calls that wait" if self.loop.is_closed() else "is not this one"
            )
            raise BatcherError(
                f"{self.name}: the batcher belongs to the event loop that first used it, which "
                f"{which}. Create a batcher for each loop"
            )
        if self._process_id:
            self._leave_closed_loop()
        self._process_id = os.getpid()
        self._settle(loop)
        self.context.run(executing.set, None)
        self._drained = asyncio.Event()
        if self._is_async:
            self._execution = AsTask(self, self._work)
        elif self.options.inline:
            self._execution = Inline(self._work)
        else:
            self._execution = InThread(self, self._work)

    def _leave_closed_loop(self) -> None:
        """Forget what belonged to a loop that is closed."""
        self._execution.close(wait=False)
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None
        self._forget_times()

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
            if self.options.isolate_errors is False:
                self._execution.start(batch, batch.items, done)
            else:
                Isolation(self._execution, batch, self.options.isolate_errors, done).begin()
            # With a function in the loop, let its callers and the loop have a turn between batches.
            batch = None if self.options.inline else self._take()
        if self._alarm is not None and not self.queued:
            self._alarm.held = None

    def _done(self, batch: Batch[Item, Result], result: Outcomes) -> None:
        outcomes = one_each(result, len(batch.calls))
        self._batches.discard(batch)
        self._sizes[rounded(batch.size)] += 1
        self._reasons[batch.reason] += 1
        unheard = self._finish(batch, outcomes)
        for error in unheard:
            if not isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
                self._report("the batch function failed after all its callers had left", error)
        try:
            self._tell(batch)
        finally:
            wake(batch.let_go())
        if isinstance(result, KeyboardInterrupt | SystemExit):
            self._interrupted(result)

    def _interrupted(self, interruption: BaseException) -> None:
        """Let Ctrl-C stop the loop, as it would without a batcher in between.

        What was raised in a thread is no business of the loop's.
        """
        if isinstance(self._execution, InThread):
            self._report("the batch function was interrupted", interruption)
        else:
            raise interruption

    def _unwanted(self, batch: Batch[Item, Result]) -> None:
        self._execution.cancel(batch)

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

    def _tell(self, batch: Batch[Item, Result]) -> None:
        """Log the batch if it was slow, and show its record to whoever wants it."""
        slow, hook = self.options.slow_batch, self.options.on_batch
        if slow is not None and batch.seconds >= slow:
            log.warning(
                "%s: a batch of %d took %.3g s (key %r, %d failed)",
                self.name,
                len(batch.calls),
                batch.seconds,
                batch.key,
                batch.failed,
            )
        if hook is None:
            return
        record = BatchRecord(
            batcher=self.name,
            key=batch.key,
            reason=batch.reason,
            items=len(batch.calls),
            size=batch.size,
            failed=batch.failed,
            error=batch.error,
            queue_wait_us=(batch.started - batch.oldest) * 1e6,
            execution_us=batch.seconds * 1e6,
            ended_unix_ns=time.time_ns(),
            marks=[call.mark for call in batch.calls],
        )
        try:
            hook(record)
        except Exception as error:
            self._report("the on_batch hook failed", error)


async def settled(call: Call[Result]) -> Any:
    """The result, or the error in its place."""
    try:
        return await call
    except Exception as error:
        return error
