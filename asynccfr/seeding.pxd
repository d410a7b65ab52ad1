from libc.stdint cimport uint64_t


cdef class Rng:
    cdef uint64_t s[4]
    cdef object __weakref__

    cdef uint64_t next64(self) noexcept nogil
    cdef double next_double(self) noexcept nogil
    cdef int next_below(self, int n) noexcept nogil
    cpdef Rng clone(self)


cpdef Rng stream(object seed, object path=*)
