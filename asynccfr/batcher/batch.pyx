# cython: auto_pickle=False
"""What is computed together."""

from types import GenericAlias

from asynccfr.batcher.call cimport RUNNING, Call


cdef class Batch:
    """Calls that are computed together.

    Attributes:
        key: their common key.
        calls: in order of arrival.
        items: what the function gets: their items, or with a row buffer an array of as many rows.
        reason: "full", "idle" (nobody else could join), "window" or "closing".
        size: the sum of their sizes; the number of calls unless `size_of` is given.
        started: seconds of `time.monotonic`.
        seconds: how long it took, once it is finished.
    """

    __class_getitem__ = classmethod(GenericAlias)

    @property
    def items(self):
        cdef Call call
        if self.buffer is not None:
            return self.buffer.array[: len(self.calls)]
        return [call.item for call in self.calls]

    def let_go(self):
        """Return the calls and forget them: an error's traceback may refer to this batch."""
        calls, self.calls = self.calls, []
        return calls

    def is_wanted(self, Py_ssize_t start, Py_ssize_t stop):
        """Whether anybody still waits for one of these items."""
        cdef Call call
        cdef Py_ssize_t i, item
        for i in range(len(self.calls)):
            call = self.calls[i]
            item = i if self.indices is None else self.indices[i]
            if start <= item < stop and call.place == RUNNING:
                return True
        return False
