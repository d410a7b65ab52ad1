import asyncio
from collections.abc import Callable, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from asynccfr.batcher.adaptive import Forecasts
from asynccfr.batcher.batch import Batch
from asynccfr.batcher.call import Call
from asynccfr.batcher.histogram import Histogram
from asynccfr.batcher.participation import Participants
from asynccfr.batcher.rows import RowPool

Item = TypeVar("Item")
Result = TypeVar("Result")

class Core(Generic[Item, Result]):
    max_batch: int
    max_concurrent_batches: int
    window: float
    rows: RowPool | None
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
        fair: bool = False,
        rows: RowPool | None = None,
        forecasts: Forecasts | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None: ...
    def __call__(
        self, item: Item, key: Hashable = ..., timeout: float | None = ...
    ) -> Call[Result]: ...
    def submit(
        self, item: Item, key: Hashable = ..., timeout: float | None = ...
    ) -> Call[Result]: ...
    def is_empty(self) -> bool: ...
    def is_at_home(self) -> bool: ...
    def _is_within_itself(self) -> bool: ...
    def _settle(self, loop: asyncio.AbstractEventLoop) -> None: ...
    def _turn(self) -> None: ...
    def _set_alarm(self, when: float) -> None: ...
    def _bind(self) -> None: ...
    def _refuse(self) -> None: ...
    def _emptied(self) -> None: ...
    def _ring(self) -> None: ...
    def _take(self) -> Batch[Item, Result] | None: ...
    def _finish(self, batch: Batch[Item, Result], outcomes: list[Any]) -> list[BaseException]: ...
    def _close(self) -> None: ...
    def _drop(self, calls: list[Call[Result]], message: str) -> None: ...
    def _waiting_calls(self) -> list[Call[Result]]: ...
    def _withdraw(self, call: Call[Result]) -> None: ...
