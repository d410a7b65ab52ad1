"""Every history below a position, for both players at once: what exact evaluation spends its time on.

The walk holds a row of each player's tree and the opponent's last sequence. Where the payoff is
settled, it is added to `gain` of both last sequences, each weighted with the other's plan. What
differs between games is inlined: `legal` and `play`.
"""

from libc.stdint cimport uint64_t

from asynccfr.exact.play cimport (
    OTHER_MOVER,
    SAME_MOVER,
    SETTLED,
    Board,
    Position,
    Reply,
    bid,
    try_cell,
)
from asynccfr.exact.private_rules cimport lowest_bit
from asynccfr.exact.private_tree cimport Tree


cdef inline uint64_t legal(const Rules* rules, Position at) noexcept nogil:
    if Rules is Board:
        return rules.cells & ~at.tried
    else:
        return (((<uint64_t>2 - (at.tried == 0)) << rules.num_bids) - 1) >> at.tried << at.tried


cdef inline Reply play(
    const Rules* rules, const Tree* mine, Position at, int action
) noexcept nogil:
    if Rules is Board:
        return try_cell(rules, mine.player, at, action)
    else:
        return bid(rules, at, action)


cdef void walk(
    const Rules* rules,
    const Tree* mine,
    const Tree* theirs,
    Position at,
    int row,
    int their_row,
    int their_last,
    const bint* stop,
) noexcept nogil:
    """Walk the histories in which the mover is at `row` of their tree `mine`.

    Args:
        their_row: the opponent's row at their next decision, so far as the past determines it.
        their_last: the opponent's last sequence.
        stop: looked at now and then; the walk ends early, its result unfinished, once it is true.
    """
    cdef uint64_t actions = legal(rules, at)
    cdef int sequence = mine.first[row]
    if stop[0]:
        return
    while actions:
        attempt(
            rules, mine, theirs, at, lowest_bit(actions), sequence, their_row, their_last, stop
        )
        actions &= actions - 1
        sequence += 1


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
) noexcept nogil:
    """Walk the histories that go on with one action, the mover's `sequence`."""
    cdef Reply reply = play(rules, mine, at, action)
    if reply.kind == SETTLED:
        if reply.payoff:
            mine.gain[sequence] += reply.payoff * theirs.plan[their_last]
            theirs.gain[their_last] -= reply.payoff * mine.plan[sequence]
    elif reply.kind == SAME_MOVER:
        walk(
            rules, mine, theirs, reply.next,
            mine.base[sequence] + reply.my_shift, their_row, their_last, stop,
        )
    elif reply.kind == OTHER_MOVER:
        walk(
            rules, theirs, mine, reply.next,
            their_row + reply.their_shift, mine.base[sequence] + reply.my_shift, sequence, stop,
        )
