from libc.stdint cimport int8_t, uint8_t

from asynccfr.exact.play cimport Board
from asynccfr.exact.private_rules cimport Node, PrivateRules
from asynccfr.games.hidden_board cimport HiddenBoard


cdef class HiddenBoardRules(PrivateRules):
    cdef HiddenBoard board
    cdef readonly int num_cells
    cdef int num_codes  # 3^cells
    cdef Board play
    cdef int8_t[:, ::1] settled
    cdef uint8_t[:, ::1] possible  # by player and code of own stones and known stones

    cdef int code(self, unsigned ones, unsigned twos) noexcept
    cdef bint has_row(self, int player, unsigned stones, unsigned refused) noexcept
    cdef find_settled(self)
    cdef int payoffs(self, unsigned first, unsigned second, int mover, uint8_t[:, ::1] known)
    cdef bint could_be(self, int player, unsigned stones, unsigned refused) noexcept
