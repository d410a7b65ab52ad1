from libc.stdint cimport int16_t, uint8_t, uint64_t

from asynccfr.games.contract cimport Game


cdef class SampleBuffer:
    cdef int tensor_size
    cdef int max_legal
    cdef float quanta
    cdef Py_ssize_t feature_bytes
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef uint8_t* features
    cdef int16_t* actions
    cdef float* values
    cdef float* weights

    cdef Py_ssize_t add(self, Py_ssize_t count) except -1
    cdef float* write(
        self, Py_ssize_t index, const float* row, const int* legal, int num_legal, float weight
    ) noexcept
    cdef void read_features(self, Py_ssize_t index, float* row) noexcept
    cdef int reserve(self, Py_ssize_t size) except -1


cdef void* grown(void* block, Py_ssize_t size) except NULL
cdef uint64_t fold(uint64_t value, const void* data, Py_ssize_t size) noexcept nogil
