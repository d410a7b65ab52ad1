"""Growing columns of training samples, in the layout of the reservoir.

A sample is an information state with one value for each legal action: sampled regrets for the
advantage networks, probabilities for the average strategy.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from asynccfr.errors import GameError

MOST_ACTIONS = 2**15 - 1  # they are stored as int16


cdef void* grown(void* block, Py_ssize_t size) except NULL:
    block = realloc(block, size)
    if block is NULL:
        raise MemoryError(f"{size} bytes of samples; run fewer traversals at once")
    return block


cdef class SampleBuffer:
    """Columns of samples of one game, written by traversals and emptied into a reservoir.

    `histories` are samples of a single action each, with the information states of all players.
    """

    def __cinit__(self, Game game not None, bint histories=False):
        if game.num_actions > MOST_ACTIONS:
            raise GameError(
                f"{game}: {game.num_actions} actions, expected at most {MOST_ACTIONS} for training"
            )
        self.tensor_size = game.information_state_tensor_size
        self.max_legal = game.max_legal_actions
        if histories:
            self.tensor_size *= game.num_players
            self.max_legal = 1
        self.quanta = 1.0 / game.tensor_quantum if game.tensor_quantum > 0 else 0.0
        self.feature_bytes = self.tensor_size * (1 if self.quanta > 0 else sizeof(float))

    def __dealloc__(self):
        free(self.features)
        free(self.actions)
        free(self.values)
        free(self.weights)

    def __len__(self):
        return self.size

    cdef Py_ssize_t add(self, Py_ssize_t count) except -1:
        """Add samples that are yet to be written; return the index of the first."""
        cdef Py_ssize_t first = self.size
        self.reserve(first + count)
        self.size = first + count
        return first

    cdef float* write(
        self, Py_ssize_t index, const float* row, const int* legal, int num_legal, float weight
    ) noexcept:
        """Write a sample's information state, actions and weight; return its values, all zero.

        Features are stored as uint8 multiples of the game's quantum, or as the floats of the row.
        """
        cdef uint8_t* features = self.features + index * self.feature_bytes
        cdef int16_t* actions = self.actions + index * self.max_legal
        cdef float* values = self.values + index * self.max_legal
        cdef int i
        if self.quanta > 0:
            for i in range(self.tensor_size):
                features[i] = <uint8_t><int>(row[i] * self.quanta + 0.5)
        else:
            memcpy(features, row, self.feature_bytes)
        for i in range(self.max_legal):
            actions[i] = legal[i] if i < num_legal else -1
        memset(values, 0, self.max_legal * sizeof(float))
        self.weights[index] = weight
        return values

    cdef void read_features(self, Py_ssize_t index, float* row) noexcept:
        """Write the features of a sample as the floats they were."""
        cdef const uint8_t* features = self.features + index * self.feature_bytes
        cdef int i
        if self.quanta > 0:
            for i in range(self.tensor_size):
                row[i] = features[i] / self.quanta
        else:
            memcpy(row, features, self.feature_bytes)

    cdef int reserve(self, Py_ssize_t size) except -1:
        if size <= self.capacity:
            return 0
        cdef Py_ssize_t capacity = max(size, 2 * self.capacity, 16)
        self.features = <uint8_t*>grown(self.features, capacity * self.feature_bytes)
        self.actions = <int16_t*>grown(
            self.actions, capacity * self.max_legal * <Py_ssize_t>sizeof(int16_t)
        )
        self.values = <float*>grown(
            self.values, capacity * self.max_legal * <Py_ssize_t>sizeof(float)
        )
        self.weights = <float*>grown(self.weights, capacity * <Py_ssize_t>sizeof(float))
        self.capacity = capacity
        return 0

    def extend(self, SampleBuffer other not None):
        """Append the samples of another buffer of the same game."""
        cdef Py_ssize_t at = self.size, n = other.size, k = self.max_legal
        if other.feature_bytes != self.feature_bytes or other.max_legal != k:
            raise ValueError("other: expected samples of the same game")
        if n == 0:
            return
        self.reserve(at + n)
        memcpy(
            self.features + at * self.feature_bytes, other.features, n * self.feature_bytes
        )
        memcpy(self.actions + at * k, other.actions, n * k * sizeof(int16_t))
        memcpy(self.values + at * k, other.values, n * k * sizeof(float))
        memcpy(self.weights + at, other.weights, n * sizeof(float))
        self.size = at + n

    def put(self, features, actions, values, weights):
        """Append samples given as columns of the types and shapes that `take` returns."""
        cdef Py_ssize_t at = self.size, n = len(weights), k = self.max_legal
        self.reserve(at + n)
        copy_in(self.features + at * self.feature_bytes, features, n * self.feature_bytes)
        copy_in(self.actions + at * k, actions, n * k * sizeof(int16_t))
        copy_in(self.values + at * k, values, n * k * sizeof(float))
        copy_in(self.weights + at, weights, n * sizeof(float))
        self.size = at + n

    def digest(self, uint64_t start=0):
        """A 64-bit hash of every sample in order, chained to that of earlier ones by `start`."""
        cdef uint64_t value = start
        value = fold(value, self.features, self.size * self.feature_bytes)
        value = fold(value, self.actions, self.size * self.max_legal * sizeof(int16_t))
        value = fold(value, self.values, self.size * self.max_legal * sizeof(float))
        return fold(value, self.weights, self.size * sizeof(float))

    def take(self):
        """The samples as copied columns, leaving the buffer empty.

        Returns features uint8 or float32 [n, tensor_size], actions int16 [n, max_legal] padded with
        -1, values float32 [n, max_legal] and weights float32 [n].
        """
        cdef Py_ssize_t n = self.size
        kind = np.uint8 if self.quanta > 0 else np.float32
        features = np.empty((n, self.tensor_size), dtype=kind)
        actions = np.empty((n, self.max_legal), dtype=np.int16)
        values = np.empty((n, self.max_legal), dtype=np.float32)
        weights = np.empty(n, dtype=np.float32)
        if n:
            copy_out(features, self.features, n * self.feature_bytes)
            copy_out(actions, self.actions, n * self.max_legal * sizeof(int16_t))
            copy_out(values, self.values, n * self.max_legal * sizeof(float))
            copy_out(weights, self.weights, n * sizeof(float))
        self.size = 0
        return features, actions, values, weights


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


cdef copy_out(array, const void* source, Py_ssize_t size):
    cdef unsigned char[::1] target = array.reshape(-1).view(np.uint8)
    memcpy(&target[0], source, size)


cdef copy_in(void* target, array, Py_ssize_t size):
    cdef const unsigned char[::1] source = array.reshape(-1).view(np.uint8)
    if source.shape[0] != size:
        raise ValueError(f"column of {source.shape[0]} bytes: expected {size}")
    if size:
        memcpy(target, &source[0], size)
