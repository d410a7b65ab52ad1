# cython: auto_pickle=False
"""What is computed together."""

from types import GenericAlias

from asynccfr.batcher.call cimport RUNNING, Call


cdef class Batch:
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

    __class_getitem__ = classmethod(GenericAlias)

    @property
    def items(self):
        cdef Call call
        return [call.item for call in self.calls]

    def let_go(self):
        """Return the calls and forget them: an error's traceback may refer to this batch."""
        calls, self.calls = self.calls, []
        return calls

    def is_wanted(self, Py_ssize_t start, Py_ssize_t stop):
        """Whether anybody still waits for one of these items."""
        cdef Call call
        return any([call.place == RUNNING for call in self.calls[start:stop]])
