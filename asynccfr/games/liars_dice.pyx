"""Liar's dice for two players: bids on all dice on the table, of which each sees their own.

The tree, the numbering of actions and the payoffs are those of OpenSpiel's `liars_dice`: player 0
rolls their dice, then player 1; they bid in turn, each bid higher than the one before, until one
calls the other a liar (the last action). The last bidder wins 1 if at least the quantity of dice
that they bid show the face that they bid; dice with the highest face match every bid. Bids are
ordered by quantity and then face (`reset-face`), or by face and then quantity (`reset-quantity`).

A player's information state is their dice, ascending, and the bids. Dice are shown to their owner
when all of them are rolled.

Information-state tensor, float32: the player (2), the face of each die (dice x sides), whether each
bid was made (bids), and whether it was called (1).
"""

from libc.string cimport memcpy, memset

from asynccfr.errors import GameError
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State
from asynccfr.games.parameters import Parameter, check_parameters, choice
from asynccfr.seeding cimport Rng


cdef class LiarsDice(Game):
    """Liar's dice for two players, with any number of dice and sides.

    Attributes:
        num_dice: of each player.
        num_sides: of each die.
        num_bids: actions below this are bids, this one calls the last bidder a liar.
    """

    PARAMETERS = (
        Parameter("numdice", 1, 1, MAX_DICE, "dice of each player"),
        Parameter("dice_sides", 6, 1, MAX_SIDES, "sides of a die; the highest face is wild"),
        choice("bidding_rule", ("reset-face", "reset-quantity"), "what a higher bid may lower"),
    )

    def __init__(self, **parameters):
        self.name = "liars_dice"
        values = check_parameters(self.name, self.PARAMETERS, parameters)
        self.parameters = values
        self.num_dice, self.num_sides = values["numdice"], values["dice_sides"]
        self.num_bids = 2 * self.num_dice * self.num_sides
        if self.num_bids > MAX_BIDS:
            raise GameError(
                f"liars_dice: numdice={self.num_dice}, dice_sides={self.num_sides}: "
                f"{self.num_bids} bids, expected at most {MAX_BIDS}; take fewer dice or sides"
            )
        self.resets_face = values["bidding_rule"] == "reset-face"
        self.num_players = 2
        self.num_actions = self.num_bids + 1
        self.max_legal_actions = self.num_bids
        self.information_state_tensor_size = 2 + self.num_dice * self.num_sides + self.num_bids + 1
        self.tensor_quantum = 1.0
        self.min_utility, self.max_utility = -1.0, 1.0

    cdef State initial_state(self):
        cdef LiarsDiceState state = LiarsDiceState.__new__(LiarsDiceState)
        state.game = state.rules = self
        state.current_player = CHANCE_PLAYER
        return state

    cdef int quantity(self, int bid) noexcept nogil:
        return 1 + (bid // self.num_sides if self.resets_face else bid % (2 * self.num_dice))

    cdef int face(self, int bid) noexcept nogil:
        return bid % self.num_sides if self.resets_face else bid // (2 * self.num_dice)

    cdef int matches(self, int bid, const Roll* roll) noexcept nogil:
        """How many of the dice count for a bid."""
        cdef int face = self.face(bid)
        cdef int count = 0
        cdef int i
        for i in range(self.num_dice):
            count += roll.faces[i] == face or roll.faces[i] == self.num_sides - 1
        return count

    cdef void write_view(
        self, int player, const Roll* roll, uint64_t bids, float* row
    ) noexcept nogil:
        """Write the information-state tensor of a player."""
        cdef float* made = row + 2 + self.num_dice * self.num_sides
        cdef int i
        memset(row, 0, self.information_state_tensor_size * sizeof(float))
        row[player] = 1.0
        if roll.rolled == self.num_dice:
            for i in range(self.num_dice):
                row[2 + i * self.num_sides + roll.faces[i]] = 1.0
        for i in range(self.num_actions):
            made[i] = (bids >> i) & 1

    cdef bytes view_key(self, int player, int rolled, const Roll* roll, uint64_t bids):
        """The player's number, how many dice are rolled, the player's if all of them are, bids."""
        cdef bytes faces = roll.faces[: roll.rolled] if roll.rolled == self.num_dice else b""
        made = [bid for bid in range(self.num_actions) if (bids >> bid) & 1]
        return bytes([player, rolled]) + faces + bytes(made)


cdef class LiarsDiceState(State):
    """One history: `history[:length]` holds the rolls, then the bids and perhaps the call."""

    cdef int turn(self) noexcept nogil:
        cdef int moves = self.length - 2 * self.rules.num_dice
        if moves < 0:
            return CHANCE_PLAYER
        if (self.bids >> self.rules.num_bids) & 1:
            return TERMINAL_PLAYER
        return moves % 2

    cdef void set_roll(self, int player) noexcept nogil:
        """Sort into the player's hand what the history says they rolled."""
        cdef Roll* roll = &self.rolls[player]
        cdef int start = player * self.rules.num_dice
        cdef int i, k
        roll.rolled = min(max(self.length - start, 0), self.rules.num_dice)
        for i in range(roll.rolled):
            k = i
            while k > 0 and roll.faces[k - 1] > self.history[start + i]:
                roll.faces[k] = roll.faces[k - 1]
                k -= 1
            roll.faces[k] = self.history[start + i]

    cdef int last_bid(self) noexcept nogil:
        """The highest bid so far; -1 before the first."""
        cdef int bid = self.rules.num_bids - 1
        while bid >= 0 and not (self.bids >> bid) & 1:
            bid -= 1
        return bid

    cdef int write_legal(self, int* actions) except -1:
        cdef int last = self.last_bid()
        cdef int n = 0
        cdef int action
        for action in range(last + 1, self.rules.num_actions - (last < 0)):
            actions[n] = action
            n += 1
        return n

    cdef int advance(self, int action) except -1:
        cdef bint rolls = self.current_player == CHANCE_PLAYER
        self.history[self.length] = action
        self.length += 1
        if rolls:
            self.set_roll((self.length - 1) // self.rules.num_dice)
        else:
            self.bids |= <uint64_t>1 << action
        self.current_player = self.turn()
        return 0

    cdef int retreat(self) except -1:
        self.length -= 1
        if self.length < 2 * self.rules.num_dice:
            self.set_roll(self.length // self.rules.num_dice)
        else:
            self.bids &= ~(<uint64_t>1 << self.history[self.length])
        self.current_player = self.turn()
        return 0

    cdef int sample_chance(self, Rng rng) except -1:
        return rng.next_below(self.rules.num_sides)

    cdef int write_tensor(self, int player, float* row) except -1:
        self.rules.write_view(player, &self.rolls[player], self.bids, row)
        return 0

    cdef double utility(self, int player) except? -1e300:
        cdef int bid = self.last_bid()
        cdef int matches = self.rules.matches(bid, &self.rolls[0])
        matches += self.rules.matches(bid, &self.rolls[1])
        cdef bint called_by = (self.length - 1 - 2 * self.rules.num_dice) % 2
        cdef bint was_true = matches >= self.rules.quantity(bid)
        return 1.0 if was_true == (player != called_by) else -1.0

    cdef State copy(self):
        cdef LiarsDiceState twin = LiarsDiceState.__new__(LiarsDiceState)
        twin.game = twin.rules = self.rules
        twin.current_player = self.current_player
        twin.length = self.length
        twin.bids = self.bids
        twin.rolls[0], twin.rolls[1] = self.rolls[0], self.rolls[1]
        memcpy(twin.history, self.history, self.length)
        return twin

    cdef int hide(self, int player, Rng rng) except -1:
        """Roll the opponent's dice again, and the player's own if they do not see them yet."""
        cdef int i
        for i in range(min(self.length, 2 * self.rules.num_dice)):
            if i // self.rules.num_dice != player or self.rolls[player].rolled < self.rules.num_dice:
                self.history[i] = rng.next_below(self.rules.num_sides)
        self.set_roll(0)
        self.set_roll(1)
        return 0

    def history_length(self):
        return self.length

    def chance_outcomes(self):
        if self.current_player != CHANCE_PLAYER:
            raise GameError("chance_outcomes: not a chance node")
        sides = self.rules.num_sides
        return [(face, 1.0 / sides) for face in range(sides)]

    def information_state_key(self, int player):
        self.check_player(player)
        cdef int rolled = self.rolls[0].rolled + self.rolls[1].rolled
        return self.rules.view_key(player, rolled, &self.rolls[player], self.bids)

    def information_state_string(self, int player):
        self.check_player(player)
        return self.described([player])

    def action_to_string(self, int action):
        if self.current_player == CHANCE_PLAYER:
            return f"roll {action + 1}"
        if action == self.rules.num_bids:
            return "liar"
        return f"{self.rules.quantity(action)}-{self.rules.face(action) + 1}"

    def __str__(self):
        return self.described([0, 1])

    cdef str described(self, list shown):
        cdef int player, i, action
        hands = []
        for player in range(2):
            whole = self.rolls[player].rolled == self.rules.num_dice
            seen = player in shown and (whole or len(shown) == 2)
            dice = [
                f"{self.rolls[player].faces[i] + 1}"
                if seen and i < self.rolls[player].rolled
                else "?"
                for i in range(self.rules.num_dice)
            ]
            hands.append(" ".join(dice))
        bids = []
        for i in range(2 * self.rules.num_dice, self.length):
            action = self.history[i]
            called = action == self.rules.num_bids
            bid = f"{self.rules.quantity(action)}-{self.rules.face(action) + 1}"
            bids.append("liar" if called else bid)
        return f"dice: {hands[0]} | {hands[1]}; bids: {' '.join(bids) or '-'}"
