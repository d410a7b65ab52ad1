"""Batches as preallocated arrays that items are written straight into.

Each lane fills a buffer of `max_batch` rows; a row is claimed, and written, as its item is queued.
A batch is then the front of its buffer, with no copy. Only where callers gave up are single rows
moved, to close the gaps. A buffer is used again when its batch is done and nobody else refers to
it: a function that keeps its argument, or returns views of it, keeps that buffer for itself.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asynccfr.errors import BatcherError, needed_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The batch function takes an array [n, *shape] in place of a list of n items.

    Attributes:
        shape: of one row.
        dtype: of the array.
        write: `write(item, row)` stores an item in its row, an array of `shape` with old contents;
            by default the row is assigned the item. What it raises goes to the item's caller.
        allocate: `allocate(shape, dtype)` makes a buffer that nobody else uses; numpy.empty by
            default. Give one for pinned memory.
    """

    shape: tuple[int, ...]
    dtype: "npt.DTypeLike" = "float32"
    write: "Callable[[Any, Array], object] | None" = None
    allocate: "Callable[[tuple[int, ...], np.dtype[Any]], Array] | None" = None


class Buffer:
    __slots__ = ("array", "used")

    def __init__(self, array: "Array") -> None:
        self.array = array
        self.used = 0

    def references(self) -> int:
        """To the array, by whoever has it or a view of it."""
        return sys.getrefcount(self.array)


Place = tuple[Buffer, int]


class RowPool:
    """The buffers of one batcher."""

    def __init__(self, rows: Rows, max_batch: int, spare: int) -> None:
        with needed_by("Rows"):
            import numpy as np

        self._as_strided = np.lib.stride_tricks.as_strided
        self._write = rows.write
        self._allocate = rows.allocate or np.empty
        self._shape = (max_batch, *rows.shape)
        self._dtype = np.dtype(rows.dtype)
        self._max_batch = max_batch
        self._returned: deque[Buffer] = deque(maxlen=spare)
        self._own_references = Buffer(np.empty(0)).references()

    def place(self, buffers: list[Buffer], item: Any) -> Place:
        """Claim the next row of a lane, which has these buffers, and write the item into it."""
        if not buffers or buffers[-1].used == self._max_batch:
            buffers.append(self._empty_buffer())
        buffer = buffers[-1]
        index = buffer.used
        buffer.used += 1
        if self._write is None:
            buffer.array[index] = item
        else:
            self._write(item, buffer.array[index])
        return buffer, index

    def gather(self, buffers: list[Buffer], places: Sequence[Place]) -> tuple[Buffer, list[int]]:
        """The buffer whose first rows are the batch, and the row of each call in it."""
        base = places[0][0]
        count = len(places)
        while buffers[0] is not base:
            self.recycle(buffers.pop(0))
        buffers.pop(0)
        indices = [index if buffer is base and index < count else -1 for buffer, index in places]
        if -1 in indices:
            gaps = iter(set(range(count)).difference(indices))
            for call, (buffer, index) in enumerate(places):
                if indices[call] < 0:
                    indices[call] = next(gaps)
                    base.array[indices[call]] = buffer.array[index]
        return base, indices

    def abandon(self, buffers: list[Buffer]) -> None:
        """A lane is empty: nobody waits in its buffers."""
        while buffers:
            self.recycle(buffers.pop(0))

    def recycle(self, buffer: Buffer) -> None:
        """Nobody waits in the buffer any more."""
        buffer.used = 0
        self._returned.append(buffer)

    def _empty_buffer(self) -> Buffer:
        for buffer in self._returned:
            if buffer.references() == self._own_references:
                self._returned.remove(buffer)
                return buffer
        array = self._allocate(self._shape, self._dtype)
        if array.shape != self._shape or array.dtype != self._dtype or not array.flags.writeable:
            raise BatcherError(
                f"allocate: returned {array.dtype} {array.shape}, "
                f"expected a writeable array of {self._dtype} {self._shape}"
            )
        # Views of a view refer to what that is a view of; those of this array refer to it.
        return Buffer(self._as_strided(array))
