"""Growing columns of what there is to learn from: samples of traversals, decisions of self-play.

Features are stored as uint8 multiples of the game's quantum, or as the floats of the row where it
has none.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from asynccfr.errors import GameError

MOST_ACTIONS = 2**15 - 1  # they are stored as int16

UINT8, INT8, INT16, FLOAT32 = map(np.dtype, ("uint8", "int8", "int16", "float32"))


cdef class ColumnBuffer:
    """Rows of one game in columns, whose types and shapes the classes derived from it lay out."""

    def __cinit__(self, Game game not None, *args, **kwargs):
        if game.num_actions > MOST_ACTIONS:
            raise GameError(
                f"{game}: {game.num_actions} actions, expected at most {MOST_ACTIONS} for training"
            )
        self.game = game
        self.tensor_size = game.information_state_tensor_size
        self.max_legal = game.max_legal_actions
        self.quanta = 1.0 / game.tensor_quantum if game.tensor_quantum > 0 else 0.0

    def __dealloc__(self):
        cdef int i
        for i in range(self.num_columns):
            free(self.columns[i].data)

    def __len__(self):
        return self.size

    cdef int lay_out(self, layout) except -1:
        """Have columns of these `(dtype, shape of an entry)`, at most one axis; return 0."""
        self.layout = layout
        for dtype, shape in layout:
            self.columns[self.num_columns].stride = dtype.itemsize * (shape[0] if shape else 1)
            self.num_columns += 1
        return 0

    cdef object feature_type(self):
        return UINT8 if self.quanta > 0 else FLOAT32

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Have room for so many rows; return 0."""
        cdef int i
        if size > self.capacity:
            size = max(size, 2 * self.capacity, 16)
            for i in range(self.num_columns):
                self.columns[i].data = <char*>grown(
                    self.columns[i].data, size * self.columns[i].stride
                )
            self.capacity = size
        return 0

    cdef void write_features(self, int column, Py_ssize_t index, const float* row) noexcept nogil:
        """Write an information state into a row for which there is room."""
        cdef uint8_t* features = <uint8_t*>self.at(column, index)
        cdef int i
        if self.quanta > 0:
            for i in range(self.tensor_size):
                features[i] = <uint8_t><int>(row[i] * self.quanta + 0.5)
        else:
            memcpy(features, row, self.columns[column].stride)

    def clear(self):
        """Forget every row, but keep the memory."""
        self.size = 0

    def extend(self, ColumnBuffer other not None):
        """Append the rows of another buffer of the same game."""
        cdef int i
        if other.game is not self.game or other.layout != self.layout:
            raise ValueError("other: expected a buffer of the same kind, of the same game object")
        self.reserve(self.size + other.size)
        for i in range(self.num_columns):
            memcpy(self.at(i, self.size), other.columns[i].data, other.size * other.columns[i].stride)
        self.size += other.size

    def put(self, *columns):
        """Append rows given as columns of the types and shapes that `take` returns."""
        cdef const unsigned char[::1] source
        cdef Py_ssize_t n = len(columns[0]), i
        self.reserve(self.size + n)
        for i in range(self.num_columns):
            source = columns[i].reshape(-1).view(np.uint8)
            if source.shape[0] != n * self.columns[i].stride:
                raise ValueError(
                    f"column of {source.shape[0]} bytes: expected {n * self.columns[i].stride}"
                )
            if n:
                memcpy(self.at(i, self.size), &source[0], source.shape[0])
        self.size += n

    def digest(self, uint64_t start=0):
        """A 64-bit hash of every row in order, chained to that of earlier ones by `start`."""
        cdef uint64_t value = start
        cdef int i
        for i in range(self.num_columns):
            value = fold(value, self.columns[i].data, self.size * self.columns[i].stride)
        return value

    def take(self):
        """The rows as copied columns, leaving the buffer empty."""
        cdef unsigned char[::1] target
        cdef Py_ssize_t i
        columns = []
        for i, (dtype, shape) in enumerate(self.layout):
            column = np.empty((self.size, *shape), dtype=dtype)
            if self.size:
                target = column.reshape(-1).view(np.uint8)
                memcpy(&target[0], self.columns[i].data, self.size * self.columns[i].stride)
            columns.append(column)
        self.size = 0
        return tuple(columns)


cdef void* grown(void* block, Py_ssize_t size) except NULL:
    block = realloc(block, size)
    if block is NULL:
        raise MemoryError(f"{size} bytes of samples; run fewer traversals at once")
    return block


cdef uint64_t fold(uint64_t value, const void* data, Py_ssize_t size) noexcept nogil:
    """Mix bytes into a hash, a word at a time; to notice differences, not to resist an adversary."""
    cdef uint64_t word
    cdef Py_ssize_t at = 0
    while at < size:
        word = 0
        memcpy(&word, <const char*>data + at, min(8, size - at))
        value = (value ^ word) * <uint64_t>0x9E3779B97F4A7C15
        value ^= value >> 29
        at += 8
    return (value ^ <uint64_t>size) * <uint64_t>0xBF58476D1CE4E5B9
