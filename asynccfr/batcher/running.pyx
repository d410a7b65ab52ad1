# cython: auto_pickle=False
"""Which batch functions are at work here: one that waits for its own batcher would wait for ever."""

from contextvars import ContextVar

from cpython.contextvars cimport get_value

from asynccfr.batcher.batch cimport Batch
from asynccfr.batcher.call cimport Call

cdef object executing_here = ContextVar("asynccfr.batcher.executing", default=None)
executing = executing_here


cdef class Running:
    """A batch function at work, as known to whatever it calls.

    It is the value of `executing` in the function's context, which tasks and threads that it starts
    inherit. Once the function has returned it says nothing any more.
    """

    def __cinit__(self, core, Batch batch):
        cdef Call call
        self.core = core
        self.callers = {call.origin for call in batch.calls if call.origin is not None}

    def end(self):
        """The function has returned."""
        self.core = None
        self.callers = None

    cdef bint is_within(self, object core):
        """Whether a batch of that batcher waits for this one, or is this one."""
        cdef Running caller
        if self.core is None or self.core is core:
            return self.core is core
        for caller in self.callers:
            if caller.is_within(core):
                return True
        return False


cdef Running running_here():
    """The batch function that is at work in this context, or None."""
    return <Running>get_value(executing_here)
