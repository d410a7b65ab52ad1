cdef class Running:
    cdef object core
    cdef set callers  # the batch functions that made the calls of this batch

    cdef bint is_within(self, object core)


cdef Running running_here()
