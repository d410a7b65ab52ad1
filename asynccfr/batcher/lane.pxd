from asynccfr.batcher.call cimport Call, Place


cdef class Lane:
    cdef object key
    cdef list calls
    cdef Py_ssize_t first  # calls before it have left
    cdef Py_ssize_t live, size  # how many there are, and the sum of their sizes
    cdef double full_since, promise, not_before
    cdef object entry  # its valid entry in the agenda
    cdef list buffers  # where its rows are, see `RowPool`

    cdef void append(self, Call call, Place place)
    cdef Call head(self)
    cdef Call pop(self)
    cdef list take(self, Py_ssize_t room)
    cdef void withdraw(self, Call call)
    cdef void tidy(self)
