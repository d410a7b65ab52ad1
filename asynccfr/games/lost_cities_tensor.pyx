"""What a network sees of Lost Cities: one block of features a colour, then those of the whole table.

All blocks have the same layout, so that permuting colours permutes blocks, and every feature is told
from the observer's side ("own" and "opponent"), so that both seats share one encoding. Entries are
multiples of 1/64 up to 255/64. `color_layout` and `global_layout` name the features in order.
"""

from libc.stdint cimport uint8_t

from asynccfr.games.lost_cities_table cimport (
    CARD_PHASE, DECK_PHASE, DRAW_PHASE, Expedition, Rules, Table, expedition_score,
)

cdef enum:
    LAST_CARDS = 8  # the thermometer of a nearly empty deck
    QUANTA = 64
    MAX_QUANTA = 255

cdef float QUANTUM = 1.0 / QUANTA


def color_layout(int ranks, int wagers):
    """The `(feature, width)` pairs of a colour's block, in order.

    Cards are one entry a rank, wagers first. In units of one: cards, thermometers and flags. A pile
    shows 1 for its top card, then 1/2, 1/4, and 1/8 for all below. In units of 1/64: sums, points. In
    units of 1/8: counts. Scores are told from the lowest possible score.
    """
    return [
        ("own hand", ranks),
        ("opponent's known cards", ranks),
        ("unseen cards", ranks),
        ("pile", ranks),
        ("own numbers still playable", ranks - 1),
        ("opponent's numbers still playable", ranks - 1),
        ("own wagers played", wagers),
        ("opponent's wagers played", wagers),
        ("own cards played", 1),
        ("opponent's cards played", 1),
        ("own sum", 1),
        ("opponent's sum", 1),
        ("own score", 1),
        ("opponent's score", 1),
        ("own playable cards in hand", 1),
        ("sum of own playable cards in hand", 1),
        ("top of pile is playable", 1),
        ("top of pile is playable for opponent", 1),
        ("pile is forbidden now", 1),
    ]


def global_layout():
    """The `(feature, width)` pairs after the blocks of colours, in order.

    The deck, the lead and the pile draws left are told in units of 1/64; the rest are flags.
    """
    return [
        ("own turn", 1),
        ("own draw", 1),
        ("opponent's draw", 1),
        ("cards in deck", 1),
        ("at most 1, 2, ... cards in deck", LAST_CARDS),
        ("pile draws left", 1),
        ("no pile draws left", 1),
        ("own lead", 1),
        ("opponent's lead", 1),
    ]


cdef void write_tensor(const Table* table, const Rules* rules, int player, float* row) noexcept nogil:
    """Write every feature that `player` sees."""
    cdef int color, card
    cdef int lead = 0
    for color in range(rules.colors):
        row = write_color(table, rules, player, color, row, &lead)
    write_globals(table, rules, player, lead, row)


cdef inline float* write_color(
    const Table* table, const Rules* rules, int player, int color, float* row, int* lead
) noexcept nogil:
    """Write a colour's block; add the observer's lead in that colour; return the end of the block."""
    cdef int opponent = 1 - player
    cdef int ranks = rules.ranks
    cdef int first = color * ranks
    cdef const uint8_t* hand = &table.hand[player][first]
    cdef const uint8_t* hidden = &table.hand[opponent][first]
    cdef const uint8_t* known = &table.known[opponent][first]
    cdef const uint8_t* deck = &table.deck[first]
    cdef const Expedition* own = &table.expedition[player][color]
    cdef const Expedition* theirs = &table.expedition[opponent][color]
    cdef int own_score = expedition_score(rules, own)
    cdef int their_score = expedition_score(rules, theirs)
    cdef int size = table.pile_size[color]
    cdef int playable_cards = 0
    cdef int playable_sum = 0
    cdef int rank, top, playable

    for rank in range(ranks):
        row[rank] = hand[rank]
        row[ranks + rank] = known[rank]
        row[2 * ranks + rank] = deck[rank] + hidden[rank] - known[rank]
        row[3 * ranks + rank] = 0
    row += 3 * ranks
    write_pile(table.pile[color], size, row)
    row += ranks

    for rank in range(1, ranks):
        playable = rank > own.top
        row[rank - 1] = playable
        row[ranks + rank - 2] = rank > theirs.top
        playable_cards += playable * hand[rank]
        playable_sum += playable * hand[rank] * (rank + 1)
    playable_cards += (own.top == 0) * hand[0]
    row += 2 * (ranks - 1)

    for rank in range(rules.wagers):
        row[rank] = own.wagers > rank
        row[rules.wagers + rank] = theirs.wagers > rank
    row += 2 * rules.wagers

    top = table.pile[color][size - 1] if size else 0
    row[0] = 8 * own.size * QUANTUM
    row[1] = 8 * theirs.size * QUANTUM
    row[2] = own.sum * QUANTUM
    row[3] = theirs.sum * QUANTUM
    row[4] = ((own_score - rules.lowest_score) >> rules.score_shift) * QUANTUM
    row[5] = ((their_score - rules.lowest_score) >> rules.score_shift) * QUANTUM
    row[6] = 8 * playable_cards * QUANTUM
    row[7] = playable_sum * QUANTUM
    row[8] = size > 0 and (top > own.top or own.top == 0)
    row[9] = size > 0 and (top > theirs.top or theirs.top == 0)
    row[10] = color == table.forbidden
    lead[0] += own_score - their_score
    return row + 11


cdef inline void write_pile(const uint8_t* pile, int size, float* row) noexcept nogil:
    """Add the cards of a pile to a row of ranks, weighted by their depth."""
    cdef float weight = 1.0
    while size:
        size -= 1
        row[pile[size]] += weight
        if weight > 0.125:
            weight *= 0.5


cdef inline void write_globals(
    const Table* table, const Rules* rules, int player, int lead, float* row
) noexcept nogil:
    cdef bint own_turn = table.turn == player
    cdef bint drawing = table.phase == DRAW_PHASE or table.phase == DECK_PHASE
    cdef int left = rules.max_pile_draws - table.pile_draws
    cdef int i
    row[0] = own_turn and (drawing or table.phase == CARD_PHASE)
    row[1] = own_turn and drawing
    row[2] = not own_turn and drawing
    row[3] = table.deck_size * QUANTUM
    for i in range(LAST_CARDS):
        row[4 + i] = table.deck_size <= i + 1
    row += 4 + LAST_CARDS
    row[0] = left * QUANTUM
    row[1] = left == 0
    row[2] = min(max(lead, 0), MAX_QUANTA) * QUANTUM
    row[3] = min(max(-lead, 0), MAX_QUANTA) * QUANTUM
