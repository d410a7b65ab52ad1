from libc.stdint cimport uint8_t, uint16_t

cdef enum:
    MAX_COLORS = 6
    MAX_RANKS = 10
    MAX_WAGERS = 3
    MAX_CARDS = MAX_COLORS * MAX_RANKS  # kinds of card
    MAX_PILE = MAX_RANKS - 1 + MAX_WAGERS
    MAX_PILE_DRAWS = 255
    MAX_ACTIONS = MAX_COLORS * (2 * MAX_RANKS + 1) + 1
    # Every card leaves the deck once; every turn but the unplayed last takes two actions.
    MAX_STEPS = MAX_COLORS * MAX_PILE + 2 * (MAX_COLORS * MAX_PILE + MAX_PILE_DRAWS)
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
    uint8_t card

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
    uint8_t deck[MAX_CARDS]
    uint8_t hand[2][MAX_CARDS]
    uint8_t known[2][MAX_CARDS]
    Expedition expedition[2][MAX_COLORS]
    uint8_t pile_size[MAX_COLORS]
    uint8_t pile[MAX_COLORS][MAX_PILE]
    Step steps[MAX_STEPS]

cdef void set_up(Table* table, const Rules* rules) noexcept nogil
cdef int write_legal(const Table* table, const Rules* rules, int* actions) noexcept nogil
cdef void advance(Table* table, const Rules* rules, int action) noexcept nogil
cdef void retreat(Table* table, const Rules* rules) noexcept nogil
cdef int score(const Rules* rules, int wagers, int size, int sum) noexcept nogil
cdef int expedition_score(const Rules* rules, const Expedition* expedition) noexcept nogil
