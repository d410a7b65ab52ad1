cdef class Participants:
    cdef readonly Py_ssize_t count, waiting

    cdef bint everyone_waits(self)
    cdef Participant here(self)


cdef class Participant:
    cdef object core
    cdef Participants all
    cdef Participant previous  # of any batcher, in this context
    cdef Participant outer  # of this batcher
    cdef Py_ssize_t calls, inner
    cdef bint active

    cdef bint counts(self)
    cdef void add_to_all(self, int sign)
    cdef void waits(self)
    cdef void goes_on(self)
