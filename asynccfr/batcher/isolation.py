"""How a batch that failed is computed again in halves, so that only items that fail alone fail."""

import asyncio
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.execution import Execution
from asynccfr.batcher.failures import Outcomes, alike, one_each
from asynccfr.batcher.options import Isolate

Attempts = Generator[tuple[int, int], Exception | None, None]
"""Ranges of items to compute; is sent the error of each that is worth halving."""


class Isolation:
    """The computation of one batch; halves that nobody waits for any more are left out."""

    def __init__(
        self,
        execution: Execution,
        batch: Batch[Any, Any],
        isolate: Isolate,
        done: Callable[[Outcomes], None],
    ) -> None:
        self._execution = execution
        self._batch = batch
        self._items = batch.items
        self._isolate = isolate
        self._done = done
        self._outcomes: list[Any] = [None] * len(self._items)
        self._attempts = attempts(0, len(self._items))
        next(self._attempts)

    def begin(self) -> None:
        """Compute the batch as a whole."""
        self._compute(0, len(self._items))

    def _compute(self, start: int, stop: int) -> None:
        computed = partial(self._computed, start, stop)
        self._execution.start(self._batch, self._items[start:stop], computed)

    def _computed(self, start: int, stop: int, outcomes: Outcomes) -> None:
        if isinstance(outcomes, KeyboardInterrupt | SystemExit):
            self._done(outcomes)
            return
        self._outcomes[start:stop] = one_each(outcomes, stop - start)
        error = (
            outcomes if isinstance(outcomes, Exception) and self._is_worth_it(outcomes) else None
        )
        try:
            start, stop = self._attempts.send(error)
            while not self._batch.is_wanted(start, stop):
                start, stop = self._attempts.send(None)
        except StopIteration:
            self._done(self._outcomes)
        else:  # the event loop gets a turn in between
            asyncio.get_running_loop().call_soon(self._compute, start, stop)

    def _is_worth_it(self, error: Exception) -> bool:
        isolate = self._isolate
        if isinstance(isolate, bool):
            return isolate
        if isinstance(isolate, tuple | type):
            return isinstance(error, isolate)
        try:
            return bool(isolate(error))
        except Exception as failure:
            failure.__context__ = error
            asyncio.get_running_loop().call_exception_handler(
                {"message": "isolate_errors: the predicate failed", "exception": failure}
            )
            return False


def attempts(start: int, stop: int) -> Attempts:
    """The whole range, and the halves of each that fails.

    Where both halves fail alike it is no single item's fault, and they are not halved again.
    """
    if (yield start, stop) is not None:
        yield from halves(start, stop)


def halves(start: int, stop: int) -> Attempts:
    if stop - start < 2:
        return
    middle = (start + stop) // 2
    ranges = (start, middle), (middle, stop)
    errors = []
    for half in ranges:
        errors.append((yield half))
    first, second = errors
    if first is not None and second is not None and alike(first, second):
        return
    for half, error in zip(ranges, errors, strict=True):
        if error is not None:
            yield from halves(*half)
