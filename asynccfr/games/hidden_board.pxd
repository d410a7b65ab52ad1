from libc.stdint cimport uint8_t, uint16_t

from asynccfr.games.contract cimport Game, State

cdef enum:
    MAX_CELLS = 16


cdef struct View:
    # What one player knows: their attempts in order, and the answers.
    int player
    int attempts
    uint8_t cells[MAX_CELLS]
    uint16_t stones  # their own
    uint16_t refused  # the opponent's that they met


cdef int tensor_size(int num_cells) noexcept nogil
cdef void write_view(int num_cells, const View* view, float* row) noexcept nogil
cdef bytes view_key(const View* view, int status)


cdef class HiddenBoard(Game):
    cdef readonly int num_rows
    cdef readonly int num_cols
    cdef readonly bint passes_turn
    cdef readonly object wins
    cdef const uint8_t[:, ::1] is_won

    cdef set_board(self, int num_rows, int num_cols, bint passes_turn)
    cdef bint wins_with(self, int player, unsigned stones)


cdef class HiddenBoardState(State):
    cdef HiddenBoard board
    cdef int length
    cdef uint8_t movers[2 * MAX_CELLS]
    cdef View views[2]

    cdef int turn(self) noexcept nogil
    cdef int winner(self) noexcept nogil
    cdef str drawn(self, unsigned crosses, unsigned noughts)
