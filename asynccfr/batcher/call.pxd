cdef enum Place:
    NOWHERE  # finished, or never accepted
    LINE     # waits for the bounded queue to have room
    LANE     # queued
    RUNNING  # part of a batch that is executing


cdef class Call:
    cdef public bint _asyncio_future_blocking
    cdef readonly object item, key, mark
    cdef readonly double arrived, priority
    cdef object __weakref__
    cdef object loop, owner, kept, lane, batch, participant, origin, outcome, callback, context
    cdef list deadline  # its entry in the batcher's heap
    cdef list more_callbacks
    cdef Py_ssize_t size
    cdef Place place
    cdef int state

    cpdef void succeed(self, value) noexcept
    cpdef void fail(self, error)
    cdef void run_callbacks(self)
    cdef void schedule_callbacks(self)
    cdef object get(self)
