from libc.stdint cimport int64_t


cdef class Histogram:
    cdef int64_t buckets[1280]
    cdef readonly int64_t count
    cdef double total

    cdef void add(self, double seconds) noexcept
    cdef double quantile(self, double q) noexcept
