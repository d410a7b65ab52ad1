"""The contract between games and everything that plays them.

A `Game` is an immutable description; a `State` is one history of it. A new game subclasses both and
implements the `cdef` hooks (`write_legal`, `advance`, `retreat`, `sample_chance`, `write_tensor`,
`utility`, `copy`), which trust their caller, and the `def` methods that raise NotImplementedError
here. The public methods of this module validate, then call the hooks.

Chance is explicit: `current_player` is `CHANCE` where the game draws, and `chance_outcomes` gives the
distribution. A state made by `new_state(seed)` draws for itself instead, and its k-th draw depends on
the seed and earlier draws only, so that two plays of one seed meet the same cards.
"""

from libc.stdlib cimport free, malloc

import numpy as np

from asynccfr.errors import GameError, IllegalAction
from asynccfr.games.rules import documented_rules

CHANCE = CHANCE_PLAYER
TERMINAL = TERMINAL_PLAYER


cdef class Game:
    """An immutable game.

    A subclass lists what its constructor takes, by keyword, in `PARAMETERS`, what finished games
    count in `STATISTICS`, and in `LINE_COLORS` words that, where they begin a line of a state's
    text, give it a colour of the terminal.

    Attributes:
        name: the name it is registered under.
        parameters: every parameter with its value.
        num_players: players are numbered 0 … num_players - 1.
        num_actions: actions are numbered 0 … num_actions - 1; chance outcomes have their own numbers.
        max_legal_actions: the most legal actions that any state has.
        information_state_tensor_size: floats in a row written by `information_state_tensor`.
        tensor_quantum: every tensor entry is an integer from 0 to 255 times this; 0.0 if arbitrary.
        min_utility, max_utility: bounds of every player's return.
        symmetry: blocks that can be exchanged, a `Symmetry`; None where there are none.
    """

    PARAMETERS = ()
    STATISTICS = ()
    LINE_COLORS = {}

    def __dealloc__(self):
        free(self.scratch)

    def new_state(self, rng=None):
        """The initial state.

        `rng` is None (chance is left to the caller), an int seed or an `Rng` (the state draws by
        itself and is never at a chance node).
        """
        if self.scratch is NULL:
            self.scratch = <int*>malloc(self.max_legal_actions * sizeof(int))
        cdef State state = self.initial_state()
        if rng is not None:
            state.chance_rng = rng if isinstance(rng, Rng) else Rng(rng)
            state.play_chance(state.chance_rng)
            state.first_decision = state.history_length()
        return state

    cdef State initial_state(self):
        raise NotImplementedError

    def rules_text(self):
        """The rules, the scoring and what may be typed, in paragraphs, for who plays at the terminal.

        By default those of the documentation of the class, or its module where that says more.
        """
        return documented_rules(type(self))

    def __str__(self):
        """The text that `load_game` makes this game from."""
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name

    def __repr__(self):
        return f"<Game {self}>"


cdef class State:
    """One history of a game. `current_player` is a player, `CHANCE` or `TERMINAL`."""

    cdef int write_legal(self, int* actions) except -1:
        """Write the legal actions of the player to move, ascending; return their number."""
        raise NotImplementedError

    cdef int advance(self, int action) except -1:
        """Apply a legal action or chance outcome; return 0."""
        raise NotImplementedError

    cdef int retreat(self) except -1:
        """Undo the last action or chance outcome; return 0."""
        raise NotImplementedError

    cdef int sample_chance(self, Rng rng) except -1:
        """Draw an outcome of this chance node."""
        raise NotImplementedError

    cdef int write_tensor(self, int player, float* row) except -1:
        """Write every entry of the player's information-state tensor; return 0."""
        raise NotImplementedError

    cdef double utility(self, int player) except? -1e300:
        """The return of a player at a terminal state."""
        raise NotImplementedError

    cdef State copy(self):
        """An independent state with the same history."""
        raise NotImplementedError

    cdef int hide(self, int player, Rng rng) except -1:
        """Draw what the player cannot see anew; return 0. Games may leave it out."""
        raise GameError(f"{self.game}: cannot draw anew what a player does not see")

    cdef int play_chance(self, Rng rng) except -1:
        """Draw until a player is to move or the game is over; return the number of draws."""
        cdef int draws = 0
        while self.current_player == CHANCE_PLAYER:
            self.advance(self.sample_chance(rng))
            draws += 1
        return draws

    @property
    def is_terminal(self):
        return self.current_player == TERMINAL_PLAYER

    @property
    def is_chance(self):
        return self.current_player == CHANCE_PLAYER

    def legal_actions(self):
        """The legal actions of the player to move, ascending; empty at terminal and chance nodes."""
        if self.current_player < 0:
            return []
        cdef int n = self.write_legal(self.game.scratch)
        return [self.game.scratch[i] for i in range(n)]

    def legal_actions_mask(self):
        """A bool array [num_actions] with the legal actions set."""
        mask = np.zeros(self.game.num_actions, dtype=np.bool_)
        mask[self.legal_actions()] = True
        return mask

    def apply(self, int action):
        """Play an action, or a chance outcome at a chance node.

        Raises IllegalAction, leaving the state as it was.
        """
        if self.current_player == TERMINAL_PLAYER:
            raise IllegalAction(f"action={action}: the game is over; start a new one or undo")
        if self.current_player == CHANCE_PLAYER:
            allowed = [outcome for outcome, _ in self.chance_outcomes()]
        else:
            allowed = self.legal_actions()
        if action not in allowed:
            raise IllegalAction(f"action={action}: expected one of {allowed}\nin {self}")
        self.advance(action)
        if self.chance_rng is not None:
            self.play_chance(self.chance_rng)

    def draw(self, Rng rng):
        """An outcome of this chance node, drawn by its probability; GameError elsewhere."""
        if self.current_player != CHANCE_PLAYER:
            raise GameError("draw: not a chance node")
        return self.sample_chance(rng)

    def undo(self):
        """Undo the last `apply`; draws that a seeded state made by itself are undone with it.

        The generator of a seeded state is not rewound: what is drawn next time may differ.
        Raises GameError at the initial state.
        """
        if self.history_length() <= self.first_decision:
            raise GameError("undo: nothing has been played yet")
        self.retreat()
        if self.chance_rng is not None:
            while self.current_player == CHANCE_PLAYER:
                self.retreat()

    def clone(self):
        """An independent state with the same history (and generator, if seeded)."""
        cdef State twin = self.copy()
        if self.chance_rng is not None:
            twin.chance_rng = self.chance_rng.clone()
            twin.first_decision = self.first_decision
        return twin

    def determinised(self, int player, rng):
        """A seeded copy to play on from, in which whatever `player` cannot see is drawn anew.

        It is what the player's information state allows, each possibility as likely as the cards
        make it, whatever the other players' actions may tell. Only its future makes sense: its past
        cannot be undone, and its keys are of no use. `rng` is an int seed or an `Rng`.
        Raises GameError for a game that does not support it.
        """
        self.check_player(player)
        cdef State twin = self.copy()
        twin.chance_rng = rng if isinstance(rng, Rng) else Rng(rng)
        twin.hide(player, twin.chance_rng)
        twin.first_decision = twin.history_length()
        return twin

    def returns(self):
        """Every player's return. Raises GameError before the game is over."""
        if self.current_player != TERMINAL_PLAYER:
            raise GameError("returns: the game is not over; play on until is_terminal")
        return [self.utility(player) for player in range(self.game.num_players)]

    def information_state_tensor(self, int player, out_row=None):
        """Write the player's information state into `out_row`, float32 [size]; return that array.

        A new array is made if `out_row` is None. Raises GameError for another player, ValueError for
        a row of another size or type.
        """
        self.check_player(player)
        size = self.game.information_state_tensor_size
        if out_row is None:
            out_row = np.empty(size, dtype=np.float32)
        cdef float[::1] row = out_row
        if row.shape[0] != size:
            raise ValueError(f"out_row: {row.shape[0]} floats, expected {size}")
        self.write_tensor(player, &row[0])
        return out_row

    cdef check_player(self, int player):
        if not 0 <= player < self.game.num_players:
            raise GameError(f"player={player}: expected 0 to {self.game.num_players - 1}")

    def history_length(self):
        """The number of actions and chance outcomes so far."""
        raise NotImplementedError

    def chance_outcomes(self):
        """The `(outcome, probability)` pairs of a chance node, ascending; GameError elsewhere."""
        raise NotImplementedError

    def information_state_key(self, int player):
        """Bytes that are equal exactly where the player cannot tell two histories apart.

        Perfect recall: everything the player has seen and done, in order.
        """
        raise NotImplementedError

    def information_state_string(self, int player):
        """What the player has seen and done, for people to read: the key, unless a game says more."""
        return self.information_state_key(player).decode("ascii", "backslashreplace")

    def action_to_string(self, int action):
        """A readable name of an action, or of an outcome at a chance node."""
        raise NotImplementedError

    def action_to_short_string(self, int action):
        """What people type for an action: its name, unless a game has something shorter."""
        return self.action_to_string(action)

    def table_to_string(self, int player):
        """What a player at the terminal is shown: nothing that others hide from them."""
        return self.information_state_string(player)

    def statistics(self, int player):
        """An `(amount, count)` for each of the game's `STATISTICS`, of a player in a finished game."""
        return ()

    def __repr__(self):
        return f"<State of {self.game.name}, player {self.current_player} to move>"
