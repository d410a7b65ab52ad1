"""What a network has said already: its outputs, by the row that it was shown.

In a small game the same information states recur thousands of times in the life of a network. A row
determines its outputs, so a row that was answered before needs no forward, and of equal rows in one
batch one is enough. Entries lie in the order of their arrival; a hash table with linear probing
finds them. A full cache takes in nothing new.
"""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

from asynccfr.cfr.query cimport Query
from asynccfr.cfr.buffer cimport fold
from asynccfr.games.contract cimport Game

TRIAL = 16384  # lookups before a cache is judged
LEAST_HIT_RATE = 0.25  # below, looking up costs more than it saves

cdef int32_t EMPTY = -1
cdef int32_t SETTLED = -1


cdef class PolicyCache:
    """The answers of one network at no more than `capacity` different rows.

    Attributes:
        lookups: queries seen.
        hits: queries that needed no row of their own in a forward.
    """

    cdef readonly Py_ssize_t lookups
    cdef readonly Py_ssize_t hits
    cdef Py_ssize_t capacity
    cdef Py_ssize_t size
    cdef Py_ssize_t settled  # entries before this one have outputs, later ones wait for them
    cdef int row_size
    cdef uint64_t mask
    cdef int32_t[::1] slots  # the entry in each place of the hash table
    cdef float[:, ::1] rows
    cdef float[:, ::1] outputs
    cdef int32_t[::1] waits_for  # of each query of a batch: its row there, or SETTLED

    def __init__(self, Game game not None, Py_ssize_t capacity):
        if not 1 <= capacity < 2**30:
            raise ValueError(f"capacity={capacity}: expected at least 1 and less than 2**30")
        self.capacity = capacity
        self.row_size = game.information_state_tensor_size
        self.mask = (1 << (2 * capacity - 1).bit_length()) - 1
        self.slots = np.full(self.mask + 1, EMPTY, dtype=np.int32)
        # The system commits a page when it is first written: an empty cache takes no memory.
        self.rows = np.empty((capacity, self.row_size), dtype=np.float32)
        self.outputs = np.empty((capacity, game.num_actions), dtype=np.float32)
        self.waits_for = np.empty(0, dtype=np.int32)

    def __len__(self):
        return self.size

    @property
    def pays(self):
        """Whether enough of the lookups were hits; true until there were enough to say."""
        return self.lookups < TRIAL or self.hits >= LEAST_HIT_RATE * self.lookups

    cdef int32_t* find(self, const float* row) noexcept:
        """The slot of the entry for a row, or the empty one where it belongs."""
        cdef uint64_t at = fold(0, row, self.row_size * sizeof(float))
        at ^= at >> 32
        while True:
            at &= self.mask
            if self.slots[at] == EMPTY:
                break
            if not memcmp(&self.rows[self.slots[at], 0], row, self.row_size * sizeof(float)):
                break
            at += 1
        return &self.slots[at]

    def answer(self, Query query not None, float[::1] scratch):
        """Answer a query at once if its row is known; return whether it was.

        `scratch` is room for a row, overwritten.
        """
        if scratch.shape[0] != self.row_size:
            raise ValueError(f"scratch: {scratch.shape[0]} floats, expected {self.row_size}")
        query.write_row(&scratch[0])
        cdef int32_t entry = self.find(&scratch[0])[0]
        if not 0 <= entry < self.settled:
            return False
        query.take(&self.outputs[entry, 0])
        self.lookups += 1
        self.hits += 1
        return True

    def encode(self, list queries, float[:, ::1] rows):
        """Answer the queries whose rows are known, and write the others' rows, each row once.

        Returns the number of rows written; `deliver` takes the network's outputs for them.
        """
        cdef Py_ssize_t i, n = 0, count = len(queries)
        cdef int32_t* slot
        cdef Query query
        if rows.shape[1] != self.row_size or rows.shape[0] < count:
            raise ValueError(
                f"rows: {rows.shape[0]}x{rows.shape[1]}, expected at least {count} of "
                f"{self.row_size}"
            )
        if self.size > self.settled:  # a forward failed: forget what it was to answer
            self.slots[:] = EMPTY
            self.size = self.settled = 0
        if self.waits_for.shape[0] < count:
            self.waits_for = np.empty(count, dtype=np.int32)
        for i in range(count):
            query = <Query?>queries[i]
            query.write_row(&rows[n, 0])
            slot = self.find(&rows[n, 0])
            if slot[0] == EMPTY:
                if self.size < self.capacity:
                    slot[0] = self.size
                    memcpy(&self.rows[self.size, 0], &rows[n, 0], self.row_size * sizeof(float))
                    self.size += 1
                self.waits_for[i] = n
                n += 1
            elif slot[0] < self.settled:
                query.take(&self.outputs[slot[0], 0])
                self.waits_for[i] = SETTLED
            else:
                self.waits_for[i] = slot[0] - self.settled
        self.lookups += count
        self.hits += count - n
        return n

    def deliver(self, list queries, const float[:, ::1] outputs):
        """Give the queries that `encode` left unanswered their outputs, and remember these."""
        cdef Py_ssize_t i, new = self.size - self.settled
        cdef size_t width = self.outputs.shape[1] * sizeof(float)
        if outputs.shape[1] != self.outputs.shape[1] or outputs.shape[0] < new:
            raise ValueError(
                f"outputs: {outputs.shape[0]}x{outputs.shape[1]}, expected at least {new} rows "
                f"of {self.outputs.shape[1]}"
            )
        for i in range(new):
            memcpy(&self.outputs[self.settled + i, 0], &outputs[i, 0], width)
        self.settled = self.size
        for i in range(len(queries)):
            if self.waits_for[i] != SETTLED:
                (<Query?>queries[i]).take(&outputs[self.waits_for[i], 0])
