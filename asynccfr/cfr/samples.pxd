from asynccfr.cfr.buffer cimport ColumnBuffer

cdef enum:
    FEATURES
    ACTIONS
    VALUES
    WEIGHTS


cdef class SampleBuffer(ColumnBuffer):
    cdef Py_ssize_t add(self, Py_ssize_t count) except -1
    cdef float* write(
        self, Py_ssize_t index, const float* row, const int* legal, int num_legal, float weight
    ) noexcept
    cdef float* values_at(self, Py_ssize_t index) noexcept nogil
    cdef void read_features(self, Py_ssize_t index, float* row) noexcept
