from libc.stdint cimport uint64_t

from asynccfr.games.contract cimport Game
from asynccfr.games.hidden_board cimport View
from asynccfr.games.liars_dice cimport Roll


cdef extern from *:
    int popcount "__builtin_popcountll"(uint64_t bits) noexcept nogil
    int lowest_bit "__builtin_ctzll"(uint64_t bits) noexcept nogil
    int leading_zeros "__builtin_clzll"(uint64_t bits) noexcept nogil


cdef struct Node:
    # A row of a private tree and what its player knows there; a game uses its own part.
    int row
    View view  # of a hidden board
    Roll roll  # of liar's dice
    uint64_t bids


cdef class PrivateRules:
    cdef readonly Game game

    cdef int num_starts(self, int player) except -1
    cdef double weight(self, int start) except -1
    cdef int start_rows(self, int player) except -1
    cdef int enter(self, int player, int start, int outcome, Node* node) except -1
    cdef uint64_t actions(self, int player, const Node* node) noexcept
    cdef int outcomes(self, int player, const Node* node, int action, int* lowest) noexcept
    cdef void follow(
        self, int player, const Node* node, int action, int outcome, Node* child
    ) noexcept
    cdef object signature(self, int player, const Node* node)
    cdef void write_tensor(self, int player, const Node* node, float* row) noexcept
    cdef bytes key(self, int player, const Node* node)
