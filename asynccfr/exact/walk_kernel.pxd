from asynccfr.exact.play cimport Board, Dice, Position
from asynccfr.exact.private_tree cimport Tree

ctypedef fused Rules:
    Board
    Dice


cdef void walk(
    const Rules* rules,
    const Tree* mine,
    const Tree* theirs,
    Position at,
    int row,
    int their_row,
    int their_last,
    const bint* stop,
) noexcept nogil

cdef void attempt(
    const Rules* rules,
    const Tree* mine,
    const Tree* theirs,
    Position at,
    int action,
    int sequence,
    int their_row,
    int their_last,
    const bint* stop,
) noexcept nogil
