"""Leduc poker (Southey et al. 2005): six cards, two betting rounds, one public card.

The tree, the numbering of actions and the payoffs are those of OpenSpiel's `leduc_poker`: two suits
of J, Q, K; both players ante one chip and get one card; a betting round with raises of 2 chips, a
public card, and a betting round with raises of 4 chips; player 0 opens both, with at most two
raises in each. Actions: fold (0, only when facing a raise), call or check (1), raise (2). A pair
with the public card wins, then the higher rank; equal ranks split. The game is worth -0.085606 to
player 0.

Cards are numbered 2 * rank + suit. Information-state keys tell suits apart, as OpenSpiel's do (936
information states with a decision); the tensor shows ranks only, for suits never matter.

Information-state tensor, float32 [24]: the player (2), the rank of their card (3), the rank of the
public card (3), and for each round and each of its up to four moves whether it was a call or a
raise (2 x 4 x 2); zeros for what has not happened yet.
"""

from libc.string cimport memcpy, memset

from asynccfr.errors import GameError
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State
from asynccfr.seeding cimport Rng

cdef enum:
    FOLD
    CALL
    RAISE

cdef enum:
    NUM_RANKS = 3
    NUM_CARDS = 6
    PUBLIC = 2  # the place of the public card, after those of players 0 and 1
    MAX_RAISES = 2
    MAX_MOVES = 4  # of a round: check, raise, raise, call
    MAX_LENGTH = 3 + 2 * MAX_MOVES
    RANK_OFFSET = 2
    PUBLIC_OFFSET = RANK_OFFSET + NUM_RANKS
    MOVES_OFFSET = PUBLIC_OFFSET + NUM_RANKS
    TENSOR_SIZE = MOVES_OFFSET + 2 * MAX_MOVES * 2
    NO_CARD = -1
    NOBODY = -1
    HIDDEN = 255

CARD_NAMES = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
MOVE_NAMES = ("fold", "call", "raise")


cdef struct Table:
    int player  # to move
    int dealt  # cards on the table
    int cards[3]
    int chips[2]  # paid in by each player
    int moves  # of this round
    int raises  # of this round
    int folded  # the player who has, or NOBODY


cdef class LeducPoker(Game):
    """Leduc poker for two players; it has no parameters.

    Two suits of J, Q, K, an ante of one chip, and two betting rounds with a public card between;
    raises of 2 chips, then 4, at most two in a round. A pair with the public card wins, then the
    higher rank.
    """

    def __init__(self):
        self.name = "leduc_poker"
        self.parameters = {}
        self.num_players = 2
        self.num_actions = 3
        self.max_legal_actions = 3
        self.information_state_tensor_size = TENSOR_SIZE
        self.tensor_quantum = 1.0
        self.min_utility = -13.0
        self.max_utility = 13.0

    cdef State initial_state(self):
        cdef LeducState state = LeducState.__new__(LeducState)
        state.game = self
        state.current_player = CHANCE_PLAYER
        state.tables[0] = Table(
            CHANCE_PLAYER, 0, [NO_CARD, NO_CARD, NO_CARD], [1, 1], 0, 0, NOBODY
        )
        return state


cdef int strength(Table* table, int player) noexcept nogil:
    cdef int rank = table.cards[player] // 2
    return rank + NUM_RANKS if rank == table.cards[PUBLIC] // 2 else rank


cdef void deal(Table* table, int card) noexcept nogil:
    table.cards[table.dealt] = card
    table.dealt += 1
    table.moves = 0
    table.raises = 0
    table.player = CHANCE_PLAYER if table.dealt < PUBLIC else 0


cdef void move(Table* table, int action) noexcept nogil:
    cdef int me = table.player
    cdef int stakes = table.chips[1 - me]
    table.player = 1 - me
    if action == FOLD:
        table.folded = me
        table.player = TERMINAL_PLAYER
    elif action == CALL:
        table.chips[me] = stakes
        if table.moves > 0:  # any call but the opening check ends the round
            table.player = CHANCE_PLAYER if table.dealt == PUBLIC else TERMINAL_PLAYER
    else:
        table.chips[me] = stakes + (2 if table.dealt == PUBLIC else 4)
        table.raises += 1
    table.moves += 1


cdef class LeducState(State):
    """One history: `tables[k]` is the table after the first k deals and moves."""

    cdef int length
    cdef int history[MAX_LENGTH]
    cdef Table tables[MAX_LENGTH + 1]

    cdef inline Table* table(self) noexcept nogil:
        return &self.tables[self.length]

    cdef int write_legal(self, int* actions) except -1:
        cdef Table* table = self.table()
        cdef int n = 0
        if table.chips[1 - table.player] > table.chips[table.player]:
            actions[n] = FOLD
            n += 1
        actions[n] = CALL
        n += 1
        if table.raises < MAX_RAISES:
            actions[n] = RAISE
            n += 1
        return n

    cdef int advance(self, int action) except -1:
        cdef Table* table = &self.tables[self.length + 1]
        table[0] = self.tables[self.length]
        if table.player == CHANCE_PLAYER:
            deal(table, action)
        else:
            move(table, action)
        self.history[self.length] = action
        self.length += 1
        self.current_player = table.player
        return 0

    cdef int retreat(self) except -1:
        self.length -= 1
        self.current_player = self.table().player
        return 0

    cdef bint is_dealt(self, int card) noexcept nogil:
        cdef Table* table = self.table()
        return card == table.cards[0] or card == table.cards[1] or card == table.cards[PUBLIC]

    cdef int sample_chance(self, Rng rng) except -1:
        cdef int card = -1
        cdef int skip = rng.next_below(NUM_CARDS - self.table().dealt)
        while skip >= 0:
            card += 1
            skip -= not self.is_dealt(card)
        return card

    cdef int write_tensor(self, int player, float* row) except -1:
        cdef Table* table = self.table()
        cdef int i
        cdef int place = MOVES_OFFSET
        memset(row, 0, TENSOR_SIZE * sizeof(float))
        row[player] = 1.0
        if table.cards[player] != NO_CARD:
            row[RANK_OFFSET + table.cards[player] // 2] = 1.0
        if table.cards[PUBLIC] != NO_CARD:
            row[PUBLIC_OFFSET + table.cards[PUBLIC] // 2] = 1.0
        for i in range(PUBLIC, self.length):
            if self.tables[i].player == CHANCE_PLAYER:
                place = MOVES_OFFSET + 2 * MAX_MOVES
            else:
                if self.history[i] != FOLD:
                    row[place + self.history[i] - CALL] = 1.0
                place += 2
        return 0

    cdef double utility(self, int player) except? -1e300:
        cdef Table* table = self.table()
        cdef int opponent = 1 - player
        if table.folded == player:
            return -table.chips[player]
        if table.folded == opponent:
            return table.chips[opponent]
        cdef int lead = strength(table, player) - strength(table, opponent)
        return table.chips[opponent] * ((lead > 0) - (lead < 0))

    cdef State copy(self):
        cdef LeducState twin = LeducState.__new__(LeducState)
        twin.game = self.game
        twin.current_player = self.current_player
        twin.length = self.length
        memcpy(twin.history, self.history, self.length * sizeof(int))
        memcpy(twin.tables, self.tables, (self.length + 1) * sizeof(Table))
        return twin

    def history_length(self):
        return self.length

    def chance_outcomes(self):
        if self.current_player != CHANCE_PLAYER:
            raise GameError("chance_outcomes: not a chance node")
        cards = [card for card in range(NUM_CARDS) if not self.is_dealt(card)]
        return [(card, 1.0 / len(cards)) for card in cards]

    def information_state_key(self, int player):
        self.check_player(player)
        seen = bytearray(self.history[i] for i in range(self.length))
        if self.length > 1 - player:
            seen[1 - player] = HIDDEN
        return bytes([player]) + bytes(seen)

    def action_to_string(self, int action):
        return f"deal {CARD_NAMES[action]}" if self.is_chance else MOVE_NAMES[action]

    def information_state_string(self, int player):
        self.check_player(player)
        return self.described([player, PUBLIC])

    def __str__(self):
        return self.described([0, 1, PUBLIC])

    cdef str described(self, list shown):
        cards = [
            "-" if card == NO_CARD else CARD_NAMES[card] if place in shown else "?"
            for place, card in enumerate(self.table().cards)
        ]
        moves = [
            "/" if self.tables[i].player == CHANCE_PLAYER else MOVE_NAMES[self.history[i]]
            for i in range(PUBLIC, self.length)
        ]
        return (
            f"cards: {cards[0]} {cards[1]}; public: {cards[PUBLIC]}; "
            f"chips: {self.table().chips[0]} {self.table().chips[1]}; "
            f"moves: {' '.join(moves) or '-'}"
        )
