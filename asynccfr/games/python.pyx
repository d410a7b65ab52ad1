"""Games in plain Python, as pure functions of a position; everything here then plays them.

A position is any value that stands for one history and is never changed once made; undo and clone
come for free. A game fixes its numbers and writes eight methods:

    from asynccfr.games import TERMINAL, PythonGame

    class RockPaperScissors(PythonGame):
        \"""Player 1 does not see the first move; winning with rock counts twice.\"""

        MOVES = ("rock", "paper", "scissors")

        def __init__(self):
            super().__init__(
                name="rock_paper_scissors",
                num_actions=3,
                information_state_tensor_size=2,
                tensor_quantum=1.0,
                min_utility=-2.0,
                max_utility=2.0,
            )

        def start(self):
            return ()

        def player(self, position):
            return len(position) if len(position) < 2 else TERMINAL

        def legal_actions(self, position):
            return [0, 1, 2]

        def next(self, position, action):
            return (*position, action)

        def returns(self, position):
            first, second = position
            if first == second:
                return [0.0, 0.0]
            winner = 0 if (first - second) % 3 == 1 else 1
            stake = 2.0 if position[winner] == 0 else 1.0
            return [stake, -stake] if winner == 0 else [-stake, stake]

        def information_state(self, position, player):
            return f"player {player}, own move {position[player : player + 1]}"

        def tensor(self, position, player):
            return [float(player == 0), float(player == 1)]

        def action_name(self, position, action):
            return self.MOVES[action]

With chance, `player` returns `CHANCE` where the game draws, and `chance_outcomes` gives what it
draws from. Such a game costs microseconds a step where one written in Cython costs nanoseconds.
"""

from math import isfinite
from numbers import Integral
from types import GenericAlias

from libc.math cimport INFINITY, fabs, isfinite as is_finite, rint

from asynccfr.errors import GameError
from asynccfr.games.seen import seen_history
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State
from asynccfr.seeding cimport Rng


MAX_STEPS = 100_000


cdef class PythonGame(Game):
    """Base of games written in Python; see the module for an example.

    Arguments are the attributes of `Game` under the same names; `max_legal_actions` defaults to
    `num_actions`. Positions must not be changed by any method. What the methods give is checked
    where it is used; GameError names the method, what it gave and what was expected.
    """

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self,
        *,
        name,
        num_actions,
        information_state_tensor_size,
        min_utility,
        max_utility,
        parameters=None,
        num_players=2,
        max_legal_actions=None,
        tensor_quantum=0.0,
        symmetry=None,
    ):
        self.name = name
        self.parameters = dict(parameters or {})
        self.num_players = num_players
        self.num_actions = num_actions
        self.max_legal_actions = num_actions if max_legal_actions is None else max_legal_actions
        self.information_state_tensor_size = information_state_tensor_size
        self.tensor_quantum = tensor_quantum
        self.min_utility = min_utility
        self.max_utility = max_utility
        self.symmetry = symmetry
        self.check_numbers()

    cdef int check_numbers(self) except -1:
        for attribute, holds, expected in (
            ("num_players", self.num_players >= 1, "at least 1"),
            ("num_actions", self.num_actions >= 1, "at least 1"),
            (
                "max_legal_actions",
                1 <= self.max_legal_actions <= self.num_actions,
                f"1 to num_actions={self.num_actions}",
            ),
            ("information_state_tensor_size", self.information_state_tensor_size >= 1, "at least 1"),
            ("tensor_quantum", 0.0 <= self.tensor_quantum < INFINITY, "0 or more, and finite"),
            (
                "min_utility",
                -INFINITY < self.min_utility <= self.max_utility < INFINITY,
                f"finite, and at most max_utility={self.max_utility}",
            ),
        ):
            if not holds:
                raise GameError(
                    f"{self.name}: {attribute}={getattr(self, attribute)}: expected {expected}"
                )
        return 0

    cdef State initial_state(self):
        if self.num_actions < 1:
            raise GameError(f"{type(self).__name__}: super().__init__ was not called by __init__")
        cdef PythonState state = PythonState.__new__(PythonState)
        state.game = state.rules = self
        state.positions = [self.start()]
        state.steps = []
        state.current_player = state.mover(state.positions[0])
        return state

    def start(self):
        """The position before anything has happened."""
        raise NotImplementedError(f"{type(self).__name__}.start")

    def player(self, position):
        """The player to move, `CHANCE` or `TERMINAL`."""
        raise NotImplementedError(f"{type(self).__name__}.player")

    def legal_actions(self, position):
        """The legal actions of the player to move, in any order; at least one."""
        raise NotImplementedError(f"{type(self).__name__}.legal_actions")

    def chance_outcomes(self, position):
        """The `(outcome, probability)` pairs where chance moves."""
        raise NotImplementedError(f"{type(self).__name__}.chance_outcomes")

    def next(self, position, action):
        """The position after an action or a chance outcome."""
        raise NotImplementedError(f"{type(self).__name__}.next")

    def returns(self, position):
        """Every player's return at a terminal position."""
        raise NotImplementedError(f"{type(self).__name__}.returns")

    def information_state(self, position, player):
        """Bytes or str: everything the player has seen and done (perfect recall)."""
        raise NotImplementedError(f"{type(self).__name__}.information_state")

    def tensor(self, position, player):
        """The player's information state as floats [information_state_tensor_size]."""
        raise NotImplementedError(f"{type(self).__name__}.tensor")

    def action_name(self, position, action):
        """A readable name of an action or chance outcome."""
        return str(action)

    def describe(self, position):
        """The position as text."""
        return str(position)

    def describe_for(self, position, player):
        """What the player knows, for them to read; None for the names of what they saw happen."""
        return None

    def statistics(self, position, player):
        """An `(amount, count)` for each of `STATISTICS`, at a terminal position."""
        return ()


cdef class PythonState(State):
    """One history of a `PythonGame`: the positions it went through."""

    cdef PythonGame rules
    cdef list positions
    cdef list steps  # the actions and outcomes between the positions

    @property
    def position(self):
        """The position of the game that this state is at."""
        return self.positions[-1]

    cdef int write_legal(self, int* actions) except -1:
        cdef int n = 0
        given = self.rules.legal_actions(self.position)
        legal = sorted(given) if all([isinstance(action, Integral) for action in given]) else []
        most = self.game.max_legal_actions
        if not 1 <= len(legal) <= most:
            raise self.refused("legal_actions", given, f"1 to max_legal_actions={most} integers")
        if legal[0] < 0 or legal[-1] >= self.game.num_actions:
            raise self.refused("legal_actions", given, f"0 to {self.game.num_actions - 1}")
        for action in legal:
            actions[n] = action
            if n and actions[n] == actions[n - 1]:
                raise self.refused("legal_actions", given, "each action once")
            n += 1
        return n

    cdef object refused(self, str method, object given, str expected):
        """The error for what a method of the game gave at this position."""
        return GameError(
            f"{self.game.name}.{method}: {brief(given)} at {brief(self.position)}: expected {expected}"
        )

    cdef int mover(self, object position) except? -2:
        """Who is to move at a position, as the game has it."""
        player = self.rules.player(position)
        if isinstance(player, Integral) and (
            player in (CHANCE_PLAYER, TERMINAL_PLAYER) or 0 <= player < self.game.num_players
        ):
            return player
        raise GameError(
            f"{self.game.name}.player: {brief(player)} at {brief(position)}: expected CHANCE, "
            f"TERMINAL or a player from 0 to {self.game.num_players - 1}"
        )

    cdef int advance(self, int action) except -1:
        if len(self.steps) >= MAX_STEPS:
            raise GameError(f"{self.game.name}: a game of more than {MAX_STEPS} steps; let it end")
        position = self.rules.next(self.position, action)
        self.current_player = self.mover(position)
        self.positions.append(position)
        self.steps.append(action)
        return 0

    cdef int retreat(self) except -1:
        self.positions.pop()
        self.steps.pop()
        self.current_player = self.mover(self.position)
        return 0

    cdef int sample_chance(self, Rng rng) except -1:
        cdef double point = rng.next_double()
        for outcome, probability in self.chance_outcomes():
            point -= probability
            if point < 0.0:
                return outcome
        return outcome  # rounding: the probabilities add up to a little less than one

    cdef int write_tensor(self, int player, float* row) except -1:
        cdef int i, size = self.game.information_state_tensor_size
        cdef double quantum = self.game.tensor_quantum, quanta
        entries = self.rules.tensor(self.position, player)
        if len(entries) != size:
            raise GameError(f"{self.game.name}.tensor: {len(entries)} floats, expected {size}")
        for i in range(size):
            row[i] = entries[i]
            if not is_finite(row[i]):
                raise self.refused("tensor", entries, f"finite floats (entry {i} is {entries[i]})")
            if quantum > 0.0:
                quanta = row[i] / quantum
                if not 0.0 <= quanta <= 255.001 or fabs(quanta - rint(quanta)) > 1e-3:
                    raise self.refused(
                        "tensor", entries, f"0 to 255 times tensor_quantum={quantum} (entry {i})"
                    )
        return 0

    cdef double utility(self, int player) except? -1e300:
        returns = self.rules.returns(self.position)
        if len(returns) != self.game.num_players:
            raise self.refused("returns", returns, f"{self.game.num_players} of them")
        if not all([isfinite(value) for value in returns]):
            raise self.refused("returns", returns, "finite numbers")
        if abs(sum(returns)) > 1e-6 * max([1.0] + [abs(value) for value in returns]):
            raise self.refused("returns", returns, "a sum of 0 (it is a zero-sum game)")
        return returns[player]

    cdef State copy(self):
        cdef PythonState twin = PythonState.__new__(PythonState)
        twin.game = twin.rules = self.rules
        twin.current_player = self.current_player
        twin.positions = self.positions.copy()
        twin.steps = self.steps.copy()
        return twin

    def history_length(self):
        return len(self.positions) - 1

    def chance_outcomes(self):
        if self.current_player != CHANCE_PLAYER:
            raise GameError("chance_outcomes: not a chance node")
        given = list(self.rules.chance_outcomes(self.position))
        outcomes = {outcome for outcome, _ in given}
        if len(outcomes) < len(given) or not all(
            [isinstance(outcome, Integral) and 0 <= outcome < 2**31 for outcome in outcomes]
        ):
            raise self.refused("chance_outcomes", given, "each outcome once, integers from 0")
        if not all([0.0 <= probability <= 1.000001 for _, probability in given]):
            raise self.refused("chance_outcomes", given, "probabilities from 0 to 1")
        total = sum([probability for _, probability in given])
        if abs(total - 1.0) > 1e-6:
            raise self.refused("chance_outcomes", given, f"a sum of 1, not {total}")
        return sorted(given)

    def information_state_key(self, int player):
        self.check_player(player)
        # Whether it is their turn or the game is over, a player knows too.
        turn = b"o" if self.is_terminal else b"m" if self.current_player == player else b"w"
        key = self.rules.information_state(self.position, player)
        if not isinstance(key, (bytes, str)):
            raise self.refused("information_state", key, "bytes or str")
        return turn + (key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key)

    def table_to_string(self, int player):
        self.check_player(player)
        text = self.rules.describe_for(self.position, player)
        return seen_history(self.game, self.steps, player) if text is None else text

    def action_to_string(self, int action):
        return self.rules.action_name(self.position, action)

    def statistics(self, int player):
        self.check_player(player)
        return tuple(self.rules.statistics(self.position, player))

    def __str__(self):
        return self.rules.describe(self.position)


cdef str brief(object value):
    """A value in at most a line."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
