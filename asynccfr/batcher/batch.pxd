cdef class Batch:
    cdef readonly object key
    cdef readonly list calls
    cdef readonly str reason
    cdef readonly Py_ssize_t size
    cdef readonly double started, seconds
    cdef object buffer  # the row buffer, and where in it each call's row is
    cdef list indices
