cimport cython
from libc.stdint cimport uint64_t

from asynccfr.games.contract cimport Game

cdef enum:
    MOST_COLUMNS = 12


cdef struct Column:
    char* data
    Py_ssize_t stride


cdef class ColumnBuffer:
    cdef Game game
    cdef int tensor_size
    cdef int max_legal
    cdef float quanta
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef int num_columns
    cdef Column columns[MOST_COLUMNS]
    cdef tuple layout

    cdef int lay_out(self, layout) except -1
    cdef object feature_type(self)
    cdef int reserve(self, Py_ssize_t size) except -1

    @cython.final
    cdef inline void* at(self, int column, Py_ssize_t index) noexcept nogil:
        return self.columns[column].data + index * self.columns[column].stride

    cdef void write_features(self, int column, Py_ssize_t index, const float* row) noexcept nogil


cdef void* grown(void* block, Py_ssize_t size) except NULL
cdef uint64_t fold(uint64_t value, const void* data, Py_ssize_t size) noexcept nogil
