from libc.stdint cimport int8_t, uint8_t, uint16_t, uint64_t


cdef struct Position:
    # What both players hold, as the mover sees it. Sets of cells are bits.
    uint16_t mine  # stones, or the number of the hand
    uint16_t theirs
    uint16_t tried  # cells that the mover has tried, or one more than the last bid
    uint16_t their_tried
    uint16_t open  # cells at which the mover may next be refused
    int code  # of all stones, see `Board.settled`


cdef enum Kind:
    LEFT_OUT
    SETTLED
    SAME_MOVER
    OTHER_MOVER


cdef struct Reply:
    # What an action leads to. A player's row is `base` of their last sequence plus all shifts.
    Kind kind
    int payoff  # to the mover, if settled
    int my_shift
    int their_shift
    Position next  # as its mover sees it


cdef struct Board:
    uint16_t cells
    bint passes_turn
    bint merges
    int place[16]  # 3^cell
    const int8_t* settled[2]


cdef struct Dice:
    int num_bids
    const uint8_t* matches  # [hands, bids]
    const uint8_t* quantity  # [bids]


cdef enum:
    UNSETTLED = 2


cdef inline Position other_side(Position at) noexcept nogil:
    return Position(at.theirs, at.mine, at.their_tried, at.tried, 0xFFFF, at.code)


cdef inline Reply try_cell(const Board* board, int player, Position at, int cell) noexcept nogil:
    """Put a stone on a hidden board, or meet the opponent's."""
    cdef Reply reply
    cdef uint16_t bit = 1 << cell
    reply.their_shift = 0
    at.tried |= bit
    if at.theirs & bit:
        reply.my_shift = 1
        if board.passes_turn:
            reply.kind = OTHER_MOVER
            reply.next = other_side(at)
        elif not at.open & bit:
            reply.kind = LEFT_OUT
        else:
            reply.kind = SAME_MOVER
            if board.merges:
                at.open = ~(2 * bit - 1)
            reply.next = at
        return reply
    reply.my_shift = 0
    at.mine |= bit
    at.code += board.place[cell] << player
    reply.payoff = board.settled[player][at.code]
    reply.kind = SETTLED if reply.payoff != UNSETTLED else OTHER_MOVER
    reply.next = other_side(at)
    return reply


cdef inline Reply bid(const Dice* dice, Position at, int action) noexcept nogil:
    """Bid, or call the last bidder a liar."""
    cdef Reply reply
    cdef int last = at.tried - 1
    cdef int matches
    if action == dice.num_bids:
        matches = dice.matches[at.mine * dice.num_bids + last]
        matches += dice.matches[at.theirs * dice.num_bids + last]
        reply.kind = SETTLED
        reply.payoff = -1 if matches >= dice.quantity[last] else 1
    else:
        reply.kind = OTHER_MOVER
        reply.my_shift = -action - 1
        reply.their_shift = action
        at.tried = at.their_tried = action + 1
        reply.next = other_side(at)
    return reply
