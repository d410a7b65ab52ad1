from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from asynccfr.batcher.call import Call

Item = TypeVar("Item")
Result = TypeVar("Result")

class Batch(Generic[Item, Result]):
    """Calls that are computed together.

    Attributes:
        key: their common key.
        calls: in order of arrival.
        items: what the function gets.
        reason: "full", "idle" (nobody else could join), "window" or "closing".
        size: the sum of their sizes; the number of calls unless `size_of` is given.
        started, oldest: when it started, when its oldest call arrived; seconds of `time.monotonic`.
        wanted: how many callers still wait for it.
        seconds, failed, error: how long it took, how many calls failed and the first of their
            errors, once it is finished.
    """
    @property
    def key(self) -> Hashable: ...
    @property
    def calls(self) -> list[Call[Result]]: ...
    @property
    def items(self) -> Any: ...
    @property
    def reason(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def started(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def oldest(self) -> float: ...
    failed: int
    error: BaseException | None
    wanted: int
    def let_go(self) -> list[Call[Result]]:
        """Return the calls and forget them: an error's traceback may refer to this batch."""
    def is_wanted(self, start: int, stop: int) -> bool:
        """Whether anybody still waits for one of these items."""
