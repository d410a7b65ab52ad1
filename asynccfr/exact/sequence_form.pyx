"""The sequence form of a two-player zero-sum game, on which everything exact is computed.

A player with perfect recall is described by sequences: what they did from the start up to an action
at one of their information states. The whole game then is, for every terminal history, the last
sequence of each player and the payoff times the chance probability (von Stengel 1996). One pass
over the terminals and one over the information states give the exact counterfactual values of every
action, and with `max` in the place of the expectation a best response.

Layout. Information states are numbered as a depth-first walk meets them, so that whatever precedes
an information state has a smaller number. The actions of information state i are the sequences
`first[i]` to `first[i + 1] - 1`, ascending; S sequences in all. Sequences S and S + 1 are the empty
ones of players 0 and 1. Vectors over actions have shape [S], over information states [I].
"""

from functools import cached_property, lru_cache

from libc.stdlib cimport free, realloc

cimport cython
from cpython cimport array
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY

import array

import numpy as np

from asynccfr.exact.policy import InformationStates, TabularPolicy
from asynccfr.errors import GameError
from asynccfr.games.contract cimport CHANCE_PLAYER, TERMINAL_PLAYER, Game, State

MAX_HISTORIES = 3_000_000


cdef struct Frame:
    int history
    int player
    int next  # of the actions or outcomes still to take, up to `end`
    int end
    double chance
    int last0  # the players' last sequences
    int last1


def sequence_form(game, max_histories=MAX_HISTORIES):
    """The sequence form of `game`, enumerated once and remembered.

    Raises GameError for a game with other than two players, that is not zero-sum, that lacks
    perfect recall, or that has more than `max_histories` histories.
    """
    if game.num_players != 2:
        raise GameError(f"{game}: {game.num_players} players; exact evaluation needs two")
    return enumerated(game, max_histories)


@lru_cache(maxsize=4)
def enumerated(game, max_histories):
    return SequenceForm(Enumeration(game, max_histories))


cdef class Enumeration:
    """A depth-first walk through every history of a game, and what it has met so far."""

    cdef Game game
    cdef State state
    cdef long max_histories, num_histories
    cdef list index, keys  # index[player][key]: the information state
    cdef array.array players, first, parent, actions  # as in the layout, empty sequences -1 and -2
    cdef array.array last0, last1, payoff  # of each terminal history
    cdef array.array came_from, taken  # of each history: the one before it, and the step from there
    cdef array.array histories  # one of each information state
    cdef int[:] legal
    cdef Frame* stack
    cdef Py_ssize_t depth, room

    def __dealloc__(self):
        free(self.stack)

    def __init__(self, Game game, long max_histories):
        self.game = game
        self.state = game.new_state()
        self.max_histories = max_histories
        self.index = [{}, {}]
        self.keys = []
        self.players, self.parent = array.array("i"), array.array("i")
        self.first, self.actions = array.array("i", [0]), array.array("i")
        self.histories = array.array("i")
        self.last0, self.last1, self.payoff = array.array("i"), array.array("i"), array.array("d")
        self.legal = np.empty(game.max_legal_actions, dtype=np.intc)
        self.came_from, self.taken = array.array("i"), array.array("i")
        self.walk()

    cdef int walk(self) except -1:
        """Visit every history, depth first; the stack is as deep as the game is long."""
        cdef Frame frame
        cdef int action
        cdef list outcomes = []  # of the chance nodes on the stack
        self.push(self.enter(-1, -1, Frame(0, 0, 0, 0, 1.0, -1, -2), outcomes))
        while self.depth:
            frame = self.stack[self.depth - 1]
            if frame.next == frame.end:
                self.depth -= 1
                if frame.player == CHANCE_PLAYER:
                    outcomes.pop()
                if self.depth:
                    self.state.retreat()
                continue
            self.stack[self.depth - 1].next += 1
            if frame.player == CHANCE_PLAYER:
                action, probability = outcomes[-1][frame.next]
                frame.chance *= probability
            else:
                action = self.actions.data.as_ints[frame.next]
                if frame.player == 0:
                    frame.last0 = frame.next
                else:
                    frame.last1 = frame.next
            self.state.advance(action)
            self.push(self.enter(frame.history, action, frame, outcomes))
        return 0

    cdef int push(self, Frame frame) except -1:
        cdef Frame* stack
        if self.depth == self.room:
            self.room = max(64, 2 * self.room)
            stack = <Frame*>realloc(self.stack, self.room * sizeof(Frame))
            if stack is NULL:
                raise MemoryError
            self.stack = stack
        self.stack[self.depth] = frame
        self.depth += 1
        return 0

    cdef Frame enter(self, int came_from, int action, Frame frame, list outcomes) except *:
        """The frame of the current state, which `action` led to; `frame` has chance and sequences."""
        cdef int i
        frame.history = self.num_histories
        self.num_histories += 1
        if self.num_histories > self.max_histories:
            raise GameError(
                f"{self.game}: more than max_histories={self.max_histories} histories; "
                "exact evaluation is for smaller games"
            )
        if self.num_histories % 65536 == 0:
            PyErr_CheckSignals()
        self.came_from.append(came_from)
        self.taken.append(action)
        frame.player = self.state.current_player
        frame.next = frame.end = 0
        if frame.player == TERMINAL_PLAYER:
            self.finish(frame.chance, frame.last0, frame.last1)
        elif frame.player == CHANCE_PLAYER:
            outcomes.append([pair for pair in self.state.chance_outcomes() if pair[1] > 0.0])
            frame.end = len(outcomes[-1])
        else:
            i = self.decide(frame.history, frame.last0 if frame.player == 0 else frame.last1)
            frame.next = self.first.data.as_ints[i]
            frame.end = self.first.data.as_ints[i + 1]
        return frame

    cdef int finish(self, double chance, int last0, int last1) except -1:
        cdef double utility = self.state.utility(0)
        if abs(utility + self.state.utility(1)) > 1e-9:
            raise GameError(f"{self.game}: not zero-sum: {self.state.returns()} at\n{self.state}")
        self.last0.append(last0)
        self.last1.append(last1)
        self.payoff.append(chance * utility)
        return 0

    cdef int decide(self, int history, int last) except -1:
        """The information state of the player to move, whose last sequence is `last`."""
        cdef int player = self.state.current_player
        cdef bytes key = self.state.information_state_key(player)
        cdef int num_legal = self.state.write_legal(&self.legal[0])
        cdef int i = self.index[player].setdefault(key, len(self.keys))
        cdef int k
        if i == len(self.keys):
            self.keys.append(key)
            self.players.append(player)
            self.parent.append(last)
            for k in range(num_legal):
                self.actions.append(self.legal[k])
            self.first.append(len(self.actions))
            self.histories.append(history)
            return i
        if self.parent.data.as_ints[i] != last:
            raise GameError(
                f"{self.game}: player {player} forgets what they did before {key!r}; "
                "exact evaluation needs information-state keys with perfect recall"
            )
        cdef int base = self.first.data.as_ints[i]
        cdef bint same = self.first.data.as_ints[i + 1] - base == num_legal
        for k in range(num_legal if same else 0):
            same = same and self.actions.data.as_ints[base + k] == self.legal[k]
        if not same:
            raise GameError(f"{self.game}: the legal actions differ between histories of {key!r}")
        return i


class SequenceForm:
    """Every information state, action and terminal history of a game; see `sequence_form`.

    Attributes:
        game: the game.
        num_histories: terminal and chance nodes included.
        num_terminals: T.
        num_sequences: S, the number of information states' actions.
        keys: the information-state key of each information state, a list of bytes [I].
        players: the player to move at each, int [I].
        first: where the actions of each begin, int [I + 1].
        parent: the sequence of the same player that leads to each, int [I].
        owner: the information state that each action belongs to, int [S].
        legal: bool [I, num_actions].
    """

    def __init__(self, Enumeration walk):
        self.game = walk.game
        self.num_histories = walk.num_histories
        self.num_terminals = len(walk.payoff)
        self.num_sequences = len(walk.actions)
        self.keys = walk.keys
        self.players = np.asarray(walk.players, dtype=np.intc)
        self.first = np.asarray(walk.first, dtype=np.intc)
        self.parent = self._place_empty(walk.parent)
        self.owner = np.repeat(np.arange(len(self.keys), dtype=np.intc), np.diff(self.first))
        self.legal = np.zeros((len(self.keys), self.game.num_actions), dtype=np.bool_)
        self.legal[self.owner, np.asarray(walk.actions)] = True
        self._last = self._place_empty(walk.last0), self._place_empty(walk.last1)
        self._payoff = np.asarray(walk.payoff)
        self._histories = np.asarray(walk.histories, dtype=np.intc)
        self._came_from = np.asarray(walk.came_from, dtype=np.intc)
        self._taken = np.asarray(walk.taken, dtype=np.intc)

    def _place_empty(self, sequences):
        """Move the empty sequences from -1 and -2 to S and S + 1."""
        numbers = np.array(sequences, dtype=np.intc)
        numbers[numbers < 0] = self.num_sequences - 1 - numbers[numbers < 0]
        return numbers

    @cached_property
    def information_states(self):
        """All information states as one batch for a policy."""
        size = self.game.information_state_tensor_size
        tensors = np.empty((len(self.keys), size), dtype=np.float32)
        for i, state in enumerate(self.states()):
            state.information_state_tensor(self.players[i], tensors[i])
        return InformationStates(self.keys, self.players, tensors, self.legal)

    def states(self):
        """One state, moved on to each information state in turn: as many steps as the game has."""
        cdef State state = self.game.new_state()
        cdef int node, step
        path, on_path = [0], {0}
        for node in self._histories:
            climbed = []
            while node not in on_path:
                climbed.append(node)
                node = self._came_from[node]
            while path[-1] != node:
                on_path.discard(path.pop())
                state.retreat()
            for step in reversed(climbed):
                state.advance(self._taken[step])
                path.append(step)
                on_path.add(step)
            yield state

    def state(self, int i):
        """A state with information state `i` to move (one history of it)."""
        cdef State state = self.game.new_state()
        for action in self.history(i):
            state.advance(action)
        return state

    def history(self, int i):
        """The actions and chance outcomes of one history of information state `i`, a list."""
        cdef int node = self._histories[i]
        steps = []
        while node > 0:
            steps.append(int(self._taken[node]))
            node = self._came_from[node]
        return steps[::-1]

    def strategy(self, policy):
        """The probabilities [S] that a policy gives to every action, in float64.

        `policy` is a function in bulk, or an array [I, num_actions].

        Raises GameError unless they are non-negative and add up to 1 (within 1e-4, then made exact)
        over the legal actions of every information state.
        """
        given = policy(self.information_states) if callable(policy) else policy
        table = np.asarray(given, dtype=np.float64)
        if table.shape != self.legal.shape:
            raise GameError(f"policy: shape {table.shape}, expected {self.legal.shape}")
        probabilities = table[self.legal]
        totals = self.total(probabilities)
        wrong = ~(np.abs(totals - 1.0) <= 1e-4) | (self.least(probabilities) < 0.0)
        if wrong.any():
            i = int(wrong.argmax())
            raise GameError(
                f"policy: {table[i].tolist()} for player {self.players[i]} at {self.keys[i]!r}; "
                "expected probabilities that add up to 1 over the legal actions\n"
                f"{self.state(i)}"
            )
        return probabilities / totals[self.owner]

    def table(self, vector):
        """A vector [S] over actions laid out as [I, num_actions], zeros at illegal actions."""
        table = np.zeros(self.legal.shape)
        table[self.legal] = vector
        return table

    def total(self, vector):
        """Sums [I] of a vector [S] over the actions of each information state."""
        return np.add.reduceat(vector, self.first[:-1]) if len(self.keys) else np.empty(0)

    def least(self, vector):
        """Minima [I] of a vector [S] over the actions of each information state."""
        return np.minimum.reduceat(vector, self.first[:-1]) if len(self.keys) else np.empty(0)

    def normalise(self, weights):
        """Weights [S] of actions as probabilities [S], uniform where all weights are zero."""
        totals = self.total(weights)[self.owner]
        uniform = 1.0 / self.total(np.ones(self.num_sequences))[self.owner]
        return np.divide(weights, totals, out=uniform, where=totals > 0.0)

    def plan(self, strategy):
        """The realisation plans of both players, [S + 2].

        Entry s is the product of the player's own probabilities along sequence s.
        """
        plan = np.ones(self.num_sequences + 2)
        multiply_down(self.first, self.parent, self._checked("strategy", strategy, 0), plan)
        return plan

    def action_values(self, player, plan, strategy=None):
        """Counterfactual values of a player's actions, [S] with zeros for the other player's.

        The value of an action is the player's expected return from the histories of its information
        state, weighted with the probability that chance and the opponent's `plan` lead there. The
        player goes on with `strategy` [S], or with a best response if that is None. Returns the
        values and the player's value of the game.
        """
        values = np.zeros(self.num_sequences + 2)
        mine, theirs = self._last[player], self._last[1 - player]
        add_payoffs(mine, theirs, self._payoff, self._checked("plan", plan, 2), values)
        if player == 1:
            np.negative(values, out=values)
        if strategy is not None:
            strategy = self._checked("strategy", strategy, 0)
        back_up(self.players, player, self.first, self.parent, strategy, values)
        return values[: self.num_sequences], float(values[self.num_sequences + player])

    def _checked(self, name, vector, extra):
        expected = (self.num_sequences + extra,)
        if vector.shape != expected:
            raise ValueError(f"{name}: shape {vector.shape}, expected {expected}")
        return vector

    def regrets(self, player, plan, strategy):
        """Counterfactual regrets of a player's actions, [S] with zeros for the other player's."""
        values, _ = self.action_values(player, plan, strategy)
        return values - self.total(strategy * values)[self.owner]

    def tabular_policy(self, strategy):
        """The probabilities `strategy` [S] as a policy."""
        return TabularPolicy(self.keys, self.players, self.table(strategy))


@cython.boundscheck(False)
@cython.wraparound(False)
def multiply_down(
    const int[::1] first, const int[::1] parent, const double[::1] strategy, double[::1] plan
):
    """plan[s] = plan[parent of s] * strategy[s], parents before children."""
    cdef int i, s
    with nogil:
        for i in range(parent.shape[0]):
            for s in range(first[i], first[i + 1]):
                plan[s] = plan[parent[i]] * strategy[s]


@cython.boundscheck(False)
@cython.wraparound(False)
def add_payoffs(
    const int[::1] mine,
    const int[::1] theirs,
    const double[::1] payoff,
    const double[::1] plan,
    double[::1] values,
):
    """Add every terminal's payoff to player 0, times their plan, to my last sequence there."""
    cdef Py_ssize_t t
    with nogil:
        for t in range(payoff.shape[0]):
            values[mine[t]] += payoff[t] * plan[theirs[t]]


@cython.boundscheck(False)
@cython.wraparound(False)
def back_up(
    const int[::1] players,
    int player,
    const int[::1] first,
    const int[::1] parent,
    const double[::1] strategy,
    double[::1] values,
):
    """Add the value of every information state to the sequence before it, children before parents.

    The value is the expectation under `strategy`, or the maximum if that is None.
    """
    cdef int i, s
    cdef double value
    cdef bint best = strategy is None
    with nogil:
        for i in range(parent.shape[0] - 1, -1, -1):
            if players[i] != player:
                continue
            value = -INFINITY if best else 0.0
            for s in range(first[i], first[i + 1]):
                value = max(value, values[s]) if best else value + strategy[s] * values[s]
            values[parent[i]] += value
