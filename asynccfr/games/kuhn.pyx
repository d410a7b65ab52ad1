"""Kuhn poker (Kuhn 1950): three cards, an ante of one chip, one bet of one chip.

The tree, the numbering of actions and the payoffs are those of OpenSpiel's `kuhn_poker`: cards 0 to
2 (J < Q < K) are dealt to player 0, then to player 1; the players then pass (0) or bet (1). The
game is worth -1/18 to player 0.

Information-state tensor, float32 [11]: the player (2), their card (3), and for each of the three
moves whether it was a pass or a bet (3 x 2); zeros for what has not happened yet.
"""

from libc.string cimport memcpy, memset

from asynccfr.errors import GameError
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State
from asynccfr.seeding cimport Rng

cdef enum:
    PASS
    BET

cdef enum:
    NUM_CARDS = 3
    DEALS = 2
    MAX_MOVES = 3
    CARD_OFFSET = 2
    MOVES_OFFSET = CARD_OFFSET + NUM_CARDS
    TENSOR_SIZE = MOVES_OFFSET + 2 * MAX_MOVES
    HIDDEN = 255

CARD_NAMES = "JQK"
MOVE_NAMES = ("pass", "bet")


cdef class KuhnPoker(Game):
    """Kuhn poker for two players; it has no parameters.

    Three cards, J < Q < K; an ante of one chip and one bet of one chip. A player passes or bets; who
    passes after a bet folds, and the higher card wins what the other paid in.
    """

    def __init__(self):
        self.name = "kuhn_poker"
        self.parameters = {}
        self.num_players = 2
        self.num_actions = 2
        self.max_legal_actions = 2
        self.information_state_tensor_size = TENSOR_SIZE
        self.tensor_quantum = 1.0
        self.min_utility = -2.0
        self.max_utility = 2.0

    cdef State initial_state(self):
        cdef KuhnState state = KuhnState.__new__(KuhnState)
        state.game = self
        state.current_player = CHANCE_PLAYER
        return state


cdef class KuhnState(State):
    """One history: `history[:length]` holds the two deals, then the moves."""

    cdef int length
    cdef int history[DEALS + MAX_MOVES]

    cdef int turn(self) noexcept nogil:
        """Who is to move: two equal moves, a fold or the third move end the game."""
        cdef int moves = self.length - DEALS
        if moves < 0:
            return CHANCE_PLAYER
        if moves == 3 or (moves == 2 and not (self.history[2] == PASS and self.history[3] == BET)):
            return TERMINAL_PLAYER
        return moves % 2

    cdef int write_legal(self, int* actions) except -1:
        actions[0] = PASS
        actions[1] = BET
        return 2

    cdef int advance(self, int action) except -1:
        self.history[self.length] = action
        self.length += 1
        self.current_player = self.turn()
        return 0

    cdef int retreat(self) except -1:
        self.length -= 1
        self.current_player = self.turn()
        return 0

    cdef int sample_chance(self, Rng rng) except -1:
        cdef int card = rng.next_below(NUM_CARDS - self.length)
        return card + 1 if self.length == 1 and card >= self.history[0] else card

    cdef int write_tensor(self, int player, float* row) except -1:
        cdef int i
        memset(row, 0, TENSOR_SIZE * sizeof(float))
        row[player] = 1.0
        if self.length > player:
            row[CARD_OFFSET + self.history[player]] = 1.0
        for i in range(self.length - DEALS):
            row[MOVES_OFFSET + 2 * i + self.history[DEALS + i]] = 1.0
        return 0

    cdef double utility(self, int player) except? -1e300:
        cdef int last = self.length - 1
        cdef bint called = self.history[last] == BET
        cdef int winner
        if self.history[last] == PASS and self.history[last - 1] == BET:
            winner = (last - 1 - DEALS) % 2
        else:
            winner = self.history[1] > self.history[0]
        cdef double stake = 2.0 if called else 1.0
        return stake if winner == player else -stake

    cdef State copy(self):
        cdef KuhnState twin = KuhnState.__new__(KuhnState)
        twin.game = self.game
        twin.current_player = self.current_player
        twin.length = self.length
        memcpy(twin.history, self.history, sizeof(self.history))
        return twin

    def history_length(self):
        return self.length

    def chance_outcomes(self):
        if self.current_player != CHANCE_PLAYER:
            raise GameError("chance_outcomes: not a chance node")
        cards = [card for card in range(NUM_CARDS) if self.length == 0 or card != self.history[0]]
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
        return self.described([player])

    def __str__(self):
        return self.described([0, 1])

    cdef str described(self, list shown):
        cards = [
            CARD_NAMES[self.history[i]] if i in shown else "?"
            for i in range(min(self.length, DEALS))
        ]
        moves = [MOVE_NAMES[self.history[i]] for i in range(DEALS, self.length)]
        return f"cards: {' '.join(cards) or '-'}; moves: {' '.join(moves) or '-'}"
