import asyncio
from collections.abc import Callable, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from asynccfr.batcher.adaptive import Forecasts
from asynccfr.batcher.batch import Batch
from asynccfr.batcher.call import Call
from asynccfr.batcher.histogram import Histogram
from asynccfr.batcher.participation import Participants

Item = TypeVar("Item")
Result = TypeVar("Result")

UNSET: Any

class Core(Generic[Item, Result]):
    @property
    def max_batch(self) -> int: ...
    @property
    def max_concurrent_batches(self) -> int: ...
    @property
    def window(self) -> float: ...
    forecasts: Forecasts | None
    is_open: bool
    is_closing: bool
    @property
    def loop(self) -> Any: ...
    context: Context
    queued: int
    queued_size: int
    waiting: int
    executing: int
    executing_batches: int
    submitted: int
    succeeded: int
    failed: int
    cancelled: int
    abandoned: int
    timed_out: int
    refused: int
    closed: int
    participants: Participants
    queue_wait: Histogram
    execution: Histogram
    def __init__(
        self,
        *,
        max_batch: int,
        window: float = 0.0,
        key_of: Callable[[Item], Hashable] | None = None,
        size_of: Callable[[Item], int] | None = None,
        capacity: int | None = None,
        refuse_when_full: bool = False,
        timeout: float | None = None,
        max_concurrent_batches: int = 1,
        mark: Callable[[], object] | None = None,
        forecasts: Forecasts | None = None,
        equals: Any = None,
        clock: Callable[[], float] | None = None,
    ) -> None: ...
    def __call__(
        self,
        item: Item,
        *,
        key: Hashable = ...,
        timeout: float | None = ...,
        priority: float = 0,
    ) -> Call[Result]:
        """Queue an item at once; await the call for its result.

        `priority` orders the items of one key, the higher the sooner, but the oldest has a place in
        the next batch always.
        """

    def submit(
        self,
        item: Item,
        key: Hashable = ...,
        timeout: float | None = ...,
        priority: float = 0,
    ) -> Call[Result]:
        """The same, with positional arguments."""

    def _submit_alone(self, item: Item, key: Any, timeout: Any, priority: float) -> Call[Any]:
        """Submit an item, whatever equal ones there are."""
    def _new_call(self, item: Item) -> Call[Any]:
        """A call that is not accepted yet."""
    def _seconds(self, timeout: Any) -> float | None:
        """The seconds that a caller is ready to wait; None for any number."""
    def _set_limits(self, max_batch: int, window: float, max_concurrent: int) -> None:
        """Other limits from now on, also for what waits."""
    def _forget_times(self) -> None:
        """Nothing waits, and nobody will ring or give turns as was asked."""
    def _oldest_arrival(self) -> float:
        """When the call arrived that has waited longest; `NEVER` if none waits."""
    def _unwanted(self, batch: Batch[Item, Result]) -> None:
        """Every caller of an executing batch has given up."""
    def is_empty(self) -> bool: ...
    def is_at_home(self) -> bool:
        """Whether this is called in the batcher's event loop.

        In Python 3.11 asyncio's own get_running_loop costs a system call.
        """
    def _is_within_itself(self) -> bool:
        """Whether this is called by the batch function, or by what it started or called."""
    def _settle(self, loop: asyncio.AbstractEventLoop) -> None:
        """Belong to the event loop, which is running in this thread."""
    def _turn(self) -> None:
        """Start what may start; called back from the loop."""
    def _set_alarm(self, when: float) -> None:
        """Have the owner call `_ring` at `when`, in place of any earlier request."""
    def _bind(self) -> None:
        """`submit` was called outside `self.loop`: adopt the running loop, or raise."""
    def _refuse(self) -> None:
        """`submit` was called when closed or by the function itself: raise."""
    def _emptied(self) -> None:
        """Nothing is left, while closing."""
    def _ring(self) -> None:
        """The alarm has gone off: fail the calls that are past their deadline, start what is due."""
    def _take(self) -> Batch[Item, Result] | None:
        """The batch to start now; None if nothing is due or enough is executing already."""
    def _finish(self, batch: Batch[Item, Result], outcomes: list[Any]) -> list[BaseException]:
        """Settle an executed batch, one outcome to a call; an exception fails its call.

        Returns the exceptions that no caller was there to receive. The callbacks of the calls are left
        to the owner, see `wake`.
        """
    def _close(self) -> None:
        """Accept nothing more; what waits is started without delay."""
    def _drop(self, calls: list[Call[Result]], message: str) -> None:
        """Fail calls that are not done yet with BatcherClosed."""
    def _waiting_calls(self) -> list[Call[Result]]:
        """Every call that has not started, in order of arrival within its key."""
    def _withdraw(self, call: Call[Result]) -> None:
        """Forget a call whose caller has given up; its place in the queue becomes free."""
