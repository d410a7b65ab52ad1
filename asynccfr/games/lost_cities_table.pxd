from libc.stdint cimport uint8_t, uint16_t

from asynccfr.seeding cimport Rng

cdef enum:
    MAX_COLORS = 6
    MAX_RANKS = 10
    MAX_WAGERS = 3
    LANES = 16  # entries of an array over ranks: one vector register of bytes
    MAX_PILE = MAX_RANKS - 1 + MAX_WAGERS
    MAX_PILE_DRAWS = 255
    MAX_ACTIONS = MAX_COLORS * (2 * MAX_RANKS + 1) + 1
    # Every card leaves the deck once; a turn takes two actions, and ends by a draw.
    MAX_STEPS = 3 * MAX_COLORS * MAX_PILE + 2 * MAX_PILE_DRAWS
    NO_COLOR = -1

cdef enum Kind:
    PLAY
    DISCARD
    DRAW_PILE
    DRAW_DECK

cdef enum Phase:
    DEAL_PHASE
    CARD_PHASE
    DRAW_PHASE
    DECK_PHASE
    OVER_PHASE

cdef struct Action:
    uint8_t kind
    uint8_t color
    uint8_t rank

cdef struct Rules:
    int colors
    int ranks
    int wagers
    int hand_size
    int cost
    int multiplier
    int bonus_threshold
    int bonus
    int max_pile_draws
    int draw_deck
    int lowest_score
    int score_shift
    Action actions[MAX_ACTIONS]
    uint8_t count[1 << (MAX_RANKS - 1)]
    uint8_t sum[1 << (MAX_RANKS - 1)]

cdef struct Expedition:
    uint8_t top
    uint8_t wagers
    uint8_t size
    uint8_t sum
    uint16_t ranks

cdef struct Step:
    uint8_t action
    uint8_t phase
    uint8_t drawn
    uint8_t was_known

cdef struct Table:
    int phase
    int turn
    int forbidden
    int deck_size
    int pile_draws
    int length
    uint8_t deck[MAX_COLORS][LANES]
    uint8_t deck_colors[MAX_COLORS]
    uint8_t hand[2][MAX_COLORS][LANES]
    uint16_t held[2][MAX_COLORS]
    uint8_t known[2][MAX_COLORS][LANES]
    Expedition expedition[2][MAX_COLORS]
    uint8_t discarded[MAX_COLORS][LANES]
    uint8_t pile[MAX_COLORS][MAX_PILE]
    uint8_t pile_size[MAX_COLORS]
    Step steps[MAX_STEPS]

cdef void set_up(Table* table, const Rules* rules) noexcept nogil
cdef int write_legal(const Table* table, const Rules* rules, int* actions) noexcept nogil
cdef void advance(Table* table, const Rules* rules, int action) noexcept nogil
cdef void retreat(Table* table, const Rules* rules) noexcept nogil
cdef int sample_deck(const Table* table, Rng rng) noexcept nogil
cdef void redeal(Table* table, const Rules* rules, int player, Rng rng) noexcept nogil


cdef inline int playable_ranks(const Expedition* expedition) noexcept nogil:
    """The ranks above the top one, as bits; all ranks, wagers included, before the first number."""
    return ~((2 << expedition.top) - 1) if expedition.top else ~0


cdef inline int score(const Rules* rules, int wagers, int size, int sum) noexcept nogil:
    """Points of an expedition with so many wagers and cards in all, and this sum of numbers."""
    cdef int bonus = (size >= rules.bonus_threshold) * rules.bonus
    return (size > 0) * ((sum - rules.cost) * (1 + rules.multiplier * wagers) + bonus)


cdef inline int expedition_score(const Rules* rules, const Expedition* expedition) noexcept nogil:
    return score(rules, expedition.wagers, expedition.size, expedition.sum)
