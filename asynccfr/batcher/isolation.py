"""How a batch that failed is computed again in halves, so that only items that fail alone fail."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from asynccfr.batcher.batch import Batch
from asynccfr.batcher.execution import Execution
from asynccfr.batcher.failures import Outcomes, one_each


class Isolation:
    """The computation of one batch; halves that nobody waits for any more are left out."""

    def __init__(
        self, execution: Execution, batch: Batch[Any, Any], done: Callable[[Outcomes], None]
    ) -> None:
        self._execution = execution
        self._batch = batch
        self._items = batch.items
        self._done = done
        self._left = [(0, len(self._items))]  # ranges of items, the next one last
        self._outcomes: list[Any] = []

    def go_on(self) -> None:
        """Compute the next range, or report the outcomes."""
        while self._left:
            start, stop = self._left.pop()
            if self._batch.is_wanted(start, stop):
                computed = partial(self._computed, start, stop)
                self._execution.start(self._batch, self._items[start:stop], computed)
                return
            self._outcomes += [None] * (stop - start)
        self._done(self._outcomes)

    def _computed(self, start: int, stop: int, outcomes: Outcomes) -> None:
        if isinstance(outcomes, Exception) and stop - start > 1:
            middle = (start + stop) // 2
            self._left += [(middle, stop), (start, middle)]
        else:
            self._outcomes += one_each(outcomes, stop - start)
        if self._left:  # the event loop gets a turn in between
            asyncio.get_running_loop().call_soon(self.go_on)
        else:
            self._done(self._outcomes)
