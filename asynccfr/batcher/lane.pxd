from asynccfr.batcher.call cimport Call, Place


cdef class Lane:
    cdef object key
    cdef list calls
    cdef list ranked  # a heap of its calls by priority, or None while all have the same
    cdef Py_ssize_t first  # calls before it have left
    cdef Py_ssize_t live, size  # how many there are, and the sum of their sizes
    cdef Py_ssize_t serial  # breaks ties in `ranked`
    cdef Place place  # of its calls
    cdef double full_since, promise, not_before
    cdef object entry  # its valid entry in the agenda

    cdef void append(self, Call call, Place place)
    cdef Call head(self)
    cdef Call pop(self)
    cdef list take(self, Py_ssize_t room)
    cdef void take_ranked(self, list taken, Py_ssize_t room)
    cdef void rank(self, Call call)
    cdef void remove(self, Call call)
    cdef void withdraw(self, Call call)
    cdef void tidy_if_worthwhile(self)
    cdef void tidy(self)
