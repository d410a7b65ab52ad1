"""What a network sees of Lost Cities: one block of features a colour, then those of the whole table.

All blocks have the same layout, so that permuting colours permutes blocks, and every feature is told
from the observer's side ("own" and "opponent"), so that both seats share one encoding. Entries are
multiples of 1/64 up to 255/64. `color_layout` and `global_layout` name the features in order.

The kernels write whole registers of `LANES` bytes, of which the feature behind overwrites the excess.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from asynccfr.games.lost_cities_table cimport (
    CARD_PHASE, DECK_PHASE, DRAW_PHASE, LANES, MAX_COLORS, MAX_RANKS, MAX_WAGERS, Expedition, Rules,
    Table, expedition_score, playable_ranks,
)

cdef enum:
    ONE = 64  # quanta
    COUNT = 8  # quanta for one card, where cards are counted
    SCALARS = 11  # of a colour
    LAST_CARDS = 8  # the thermometer of a nearly empty deck
    GLOBALS = 8 + LAST_CARDS
    LEVELS = 1 + MAX_RANKS  # of a thermometer
    MAX_FEATURES = MAX_COLORS * (6 * MAX_RANKS + 2 * MAX_WAGERS + SCALARS) + GLOBALS

cdef uint8_t THERMOMETERS[LEVELS][LANES]
for level in range(LEVELS):
    for lane in range(LANES):
        THERMOMETERS[level][lane] = ONE * (lane < level)


def color_layout(int ranks, int wagers):
    """The `(feature, width)` pairs of a colour's block, in order.

    Cards are one entry a rank, wagers first. In units of one: cards, flags, and thermometers, of which
    the k-th entry says whether the level is at least k. A pile shows 1 for its top card, then 1/2, 1/4,
    and 1/8 for all below. In units of 1/8: counts. In units of 1/64: sums, and scores, told from the
    lowest possible one (2, 4, ... points to the unit where the highest would not fit).
    """
    return [
        ("own hand", ranks),
        ("opponent's known cards", ranks),
        ("unseen cards", ranks),
        ("pile", ranks),
        ("own top number", ranks - 1),
        ("opponent's top number", ranks - 1),
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
        ("last cards in deck", LAST_CARDS),
        ("pile draws left", 1),
        ("no pile draws left", 1),
        ("own lead", 1),
        ("opponent's lead", 1),
    ]


cdef void write_tensor(const Table* table, const Rules* rules, int player, float* row) noexcept nogil:
    """Write every feature that `player` sees."""
    cdef uint8_t quanta[MAX_FEATURES + LANES]
    cdef uint8_t* end = quanta
    cdef int lead = 0
    cdef int color, i
    for color in range(rules.colors):
        end = write_color(table, rules, player, color, end, &lead)
    end = write_globals(table, rules, player, lead, end)
    for i in range(<int>(end - quanta)):
        row[i] = quanta[i] * <float>(1.0 / ONE)


cdef inline uint8_t* write_color(
    const Table* table, const Rules* rules, int player, int color, uint8_t* out, int* lead
) noexcept nogil:
    """Write a colour's block; add the observer's lead in that colour; return the end of the block."""
    cdef int opponent = 1 - player
    cdef const Expedition* own = &table.expedition[player][color]
    cdef const Expedition* theirs = &table.expedition[opponent][color]
    cdef int own_score = expedition_score(rules, own)
    cdef int their_score = expedition_score(rules, theirs)
    cdef int playable = playable_ranks(own)
    cdef int held = table.held[player][color] & playable
    cdef int size = table.pile_size[color]
    cdef int top = 1 << table.pile[color][max(size - 1, 0)] if size else 0

    out = write_cards(table, rules, player, color, out)
    out = write_pile(table.discarded[color], table.pile[color], size, rules.ranks, out)
    out = write_thermometer(own.top, rules.ranks - 1, out)
    out = write_thermometer(theirs.top, rules.ranks - 1, out)
    out = write_thermometer(own.wagers, rules.wagers, out)
    out = write_thermometer(theirs.wagers, rules.wagers, out)
    out[0] = COUNT * own.size
    out[1] = COUNT * theirs.size
    out[2] = own.sum
    out[3] = theirs.sum
    out[4] = (own_score - rules.lowest_score) >> rules.score_shift
    out[5] = (their_score - rules.lowest_score) >> rules.score_shift
    out[6] = COUNT * (rules.count[held >> 1] + (held & 1) * table.hand[player][color][0])
    out[7] = rules.sum[held >> 1]
    out[8] = ONE * ((top & playable) != 0)
    out[9] = ONE * ((top & playable_ranks(theirs)) != 0)
    out[10] = ONE * (color == table.forbidden)
    lead[0] += own_score - their_score
    return out + SCALARS


cdef inline uint8_t* write_cards(
    const Table* table, const Rules* rules, int player, int color, uint8_t* out
) noexcept nogil:
    """Own hand, cards known of the opponent, cards unseen by the player."""
    cdef const uint8_t* own = table.hand[player][color]
    cdef const uint8_t* theirs = table.hand[1 - player][color]
    cdef const uint8_t* known = table.known[1 - player][color]
    cdef const uint8_t* deck = table.deck[color]
    cdef uint8_t lanes[3][LANES]
    cdef int i
    for i in range(LANES):
        lanes[0][i] = ONE * own[i]
        lanes[1][i] = ONE * known[i]
        lanes[2][i] = ONE * (deck[i] + theirs[i] - known[i])
    for i in range(3):
        memcpy(out, lanes[i], LANES)
        out += rules.ranks
    return out


cdef inline uint8_t* write_pile(
    const uint8_t* cards, const uint8_t* pile, int size, int ranks, uint8_t* out
) noexcept nogil:
    cdef uint8_t lanes[LANES]
    cdef int i
    for i in range(LANES):
        lanes[i] = (ONE >> 3) * cards[i]
    for i in range(3):
        lanes[pile[max(size - 1 - i, 0)]] += (size > i) * ((ONE >> i) - (ONE >> 3))
    memcpy(out, lanes, LANES)
    return out + ranks


cdef inline uint8_t* write_thermometer(int level, int width, uint8_t* out) noexcept nogil:
    """Flags that say for each of 1, ..., width whether it is at most the level."""
    memcpy(out, THERMOMETERS[level], LANES)
    return out + width


cdef inline uint8_t* write_globals(
    const Table* table, const Rules* rules, int player, int lead, uint8_t* out
) noexcept nogil:
    """Write the features after the colours; return the end of the row."""
    cdef bint own_turn = table.turn == player
    cdef bint drawing = (table.phase == DRAW_PHASE) | (table.phase == DECK_PHASE)
    cdef int draws_left = rules.max_pile_draws - table.pile_draws
    out[0] = ONE * (own_turn & (drawing | (table.phase == CARD_PHASE)))
    out[1] = ONE * (own_turn & drawing)
    out[2] = ONE * ((not own_turn) & drawing)
    out[3] = table.deck_size
    out = write_thermometer(min(table.deck_size, LAST_CARDS), LAST_CARDS, out + 4)
    out[0] = draws_left
    out[1] = ONE * (draws_left == 0)
    out[2] = min(max(lead, 0), 255)
    out[3] = min(max(-lead, 0), 255)
    return out + 4
