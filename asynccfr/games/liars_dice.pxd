from libc.stdint cimport uint8_t, uint64_t

from asynccfr.games.contract cimport Game, State

cdef enum:
    MAX_DICE = 10  # of one player
    MAX_SIDES = 16
    MAX_BIDS = 63


cdef struct Roll:
    uint8_t faces[MAX_DICE]  # from 0; ascending once all are rolled
    int rolled


cdef class LiarsDice(Game):
    cdef readonly int num_dice
    cdef readonly int num_sides
    cdef readonly int num_bids
    cdef bint resets_face

    cdef int quantity(self, int bid) noexcept nogil
    cdef int face(self, int bid) noexcept nogil
    cdef int matches(self, int bid, const Roll* roll) noexcept nogil
    cdef void write_view(
        self, int player, const Roll* roll, uint64_t bids, float* row
    ) noexcept nogil
    cdef bytes view_key(self, int player, int rolled, const Roll* roll, uint64_t bids)


cdef class LiarsDiceState(State):
    cdef LiarsDice rules
    cdef int length
    cdef uint8_t history[2 * MAX_DICE + MAX_BIDS + 1]
    cdef Roll rolls[2]
    cdef uint64_t bids

    cdef int turn(self) noexcept nogil
    cdef void set_roll(self, int player) noexcept nogil
    cdef int last_bid(self) noexcept nogil
    cdef str described(self, list shown)
