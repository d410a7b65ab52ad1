"""Training samples, in the layout of the reservoir.

A sample is an information state with one value for each legal action: sampled regrets for the
advantage networks, probabilities for the average strategy.
"""

from libc.stdint cimport int16_t, uint8_t
from libc.string cimport memcpy, memset

from asynccfr.cfr.buffer cimport ColumnBuffer
from asynccfr.games.contract cimport Game

from asynccfr.cfr.buffer import FLOAT32, INT16


cdef class SampleBuffer(ColumnBuffer):
    """Samples of one game, written by traversals and emptied into a reservoir.

    `take` returns features uint8 or float32 [n, tensor_size], actions int16 [n, max_legal] padded
    with -1, values float32 [n, max_legal] and weights float32 [n]. `histories` are samples of a
    single action each, with the information states of all players.
    """

    def __cinit__(self, Game game not None, bint histories=False):
        if histories:
            self.tensor_size *= game.num_players
            self.max_legal = 1
        self.lay_out(
            (
                (self.feature_type(), (self.tensor_size,)),
                (INT16, (self.max_legal,)),
                (FLOAT32, (self.max_legal,)),
                (FLOAT32, ()),
            )
        )

    cdef Py_ssize_t add(self, Py_ssize_t count) except -1:
        """Add samples that are yet to be written; return the index of the first."""
        cdef Py_ssize_t first = self.size
        self.reserve(first + count)
        self.size = first + count
        return first

    cdef float* write(
        self, Py_ssize_t index, const float* row, const int* legal, int num_legal, float weight
    ) noexcept:
        """Write a sample's information state, actions and weight; return its values, all zero."""
        cdef int16_t* actions = <int16_t*>self.at(ACTIONS, index)
        cdef float* values = self.values_at(index)
        cdef int i
        self.write_features(FEATURES, index, row)
        for i in range(self.max_legal):
            actions[i] = legal[i] if i < num_legal else -1
        memset(values, 0, self.max_legal * sizeof(float))
        (<float*>self.at(WEIGHTS, index))[0] = weight
        return values

    cdef float* values_at(self, Py_ssize_t index) noexcept nogil:
        return <float*>self.at(VALUES, index)

    cdef void read_features(self, Py_ssize_t index, float* row) noexcept:
        """Write the features of a sample as the floats they were."""
        cdef const uint8_t* features = <const uint8_t*>self.at(FEATURES, index)
        cdef int i
        if self.quanta > 0:
            for i in range(self.tensor_size):
                row[i] = features[i] / self.quanta
        else:
            memcpy(row, features, self.tensor_size * sizeof(float))
