"""Self-play that records every decision of both players, ready for actor-critic learning.

An `Episode` is one game in which both players sample from the current policy, mixed with a uniform one;
an explorer may play uniformly instead.
What it records of a decision includes what its player could not know: the opponent's information
state, for a critic that is used in training only. Two-player zero-sum games.
A `Challenge` is a game against a player who stays as it is.
"""

from typing import NamedTuple

from libc.stdint cimport int8_t, int16_t, uint8_t

from asynccfr.cfr.buffer cimport ColumnBuffer
from asynccfr.cfr.query cimport Query, policy_room, row_room, sample_index
from asynccfr.cfr.regret_matching cimport Rule, policy_from_outputs
from asynccfr.games.contract cimport Game, State
from asynccfr.seeding cimport Rng

from asynccfr.cfr.buffer import FLOAT32, INT8, INT16, UINT8
from asynccfr.errors import GameError


class Decisions(NamedTuple):
    """N decisions of whole games, one game after the other, each in the order of play.

    Fields:
        features: information states of the players to move [N, tensor_size], uint8 multiples of the
            game's quantum or float32.
        hidden: the opponents' information states in the same histories, likewise.
        actions: legal actions, int16 [N, max_legal], padded with -1; columns of the next two fit.
        outputs: what the network said, float32 [N, max_legal].
        policy: the policy made of it, without exploration, float32 [N, max_legal].
        chosen: the column of the action taken, int16 [N].
        sampled: the probability with which it was taken, float32 [N].
        players: who decided, int8 [N].
        explores: 1 where that was the explorer of its game, uint8 [N].
        weights: 1 / the probability of the opponent's actions so far, as sampled, float32 [N].
        last: 1 at the last decision of a game, uint8 [N].
        outcomes: there, the return of the player who decided; else 0; float32 [N].
    """

    features: object
    hidden: object
    actions: object
    outputs: object
    policy: object
    chosen: object
    sampled: object
    players: object
    explores: object
    weights: object
    last: object
    outcomes: object


cdef class DecisionBuffer(ColumnBuffer):
    """Decisions of games for two players, in the layout of `Decisions`."""

    def __cinit__(self, Game game not None):
        if game.num_players != 2:
            raise GameError(f"{game}: {game.num_players} players, expected 2 for self-play")
        tensor = (self.feature_type(), (self.tensor_size,))
        each_action = (FLOAT32, (self.max_legal,))
        self.lay_out(
            (
                tensor, tensor, (INT16, (self.max_legal,)), each_action, each_action,
                (INT16, ()), (FLOAT32, ()), (INT8, ()), (UINT8, ()), (FLOAT32, ()),
                (UINT8, ()), (FLOAT32, ()),
            )
        )

    def take(self):
        """The decisions as copied `Decisions`, leaving the buffer empty."""
        return Decisions(*ColumnBuffer.take(self))


cdef class Episode(Query):
    """A game of self-play from `state`.

    Args:
        state: where to start; advanced in place.
        rng: draws chance and actions of this game alone.
        rule: turns the network's outputs into the current policy.
        epsilon: probability of a uniform action, in both seats.
        reuse: an episode of the same game whose decisions have been taken, to inherit its memory.
        explorer: the seat in which that probability is 1; -1 for none.
    """

    def __init__(
        self,
        State state,
        Rng rng not None,
        Rule rule,
        double epsilon=0.0,
        Episode reuse=None,
        *,
        int explorer=-1,
    ):
        self.rng = rng
        self.rule = rule
        self.epsilon = epsilon
        self.explorer = explorer
        self.reach[0] = self.reach[1] = 1.0
        self.decisions = reuse.decisions if reuse is not None else DecisionBuffer(state.game)
        self.decisions.size = 0
        if self.decisions.game is not state.game:
            raise ValueError("reuse: expected an episode of the same game object")

    @property
    def group(self):
        return 0

    cdef int write_row(self, float* row) except -1:
        cdef DecisionBuffer decisions = self.decisions
        cdef float* hidden
        decisions.reserve(decisions.size + 1)
        self.state.write_tensor(self.player, row)
        decisions.write_features(FEATURES, decisions.size, row)
        hidden = row_room(decisions.tensor_size)
        self.state.write_tensor(1 - self.player, hidden)
        decisions.write_features(HIDDEN, decisions.size, hidden)
        return 0

    cpdef bint advance(self) except -1:
        """Play on to the next decision; False at the end of the game.

        A decision that has been answered is sampled first; one with a single legal action is played.
        """
        if self.answered:
            self.choose()
        self.answered = self.play_on(self.rng)
        if not self.answered:
            self.finish()
        return self.answered

    cdef int choose(self) except -1:
        """Record the answered decision and play a sampled action; return 0."""
        cdef DecisionBuffer decisions = self.decisions
        cdef Py_ssize_t row = decisions.size
        cdef int n = self.num_legal, i
        cdef bint explores = self.player == self.explorer
        cdef double epsilon = 1.0 if explores else self.epsilon
        cdef int16_t* actions = <int16_t*>decisions.at(ACTIONS, row)
        cdef float* outputs = <float*>decisions.at(OUTPUTS, row)
        cdef float* policy = <float*>decisions.at(POLICY, row)
        cdef double* behaviour = policy_room(n)
        policy_from_outputs(self.rule, self.outputs, n, behaviour)
        for i in range(decisions.max_legal):
            actions[i] = self.legal[i] if i < n else -1
            outputs[i] = self.outputs[i] if i < n else 0.0
            policy[i] = <float>behaviour[i] if i < n else 0.0
        for i in range(n):
            behaviour[i] = epsilon / n + (1.0 - epsilon) * behaviour[i]
        i = sample_index(behaviour, n, self.rng)
        (<int16_t*>decisions.at(CHOSEN, row))[0] = i
        (<float*>decisions.at(SAMPLED, row))[0] = <float>behaviour[i]
        (<int8_t*>decisions.at(PLAYERS, row))[0] = self.player
        (<uint8_t*>decisions.at(EXPLORES, row))[0] = explores
        (<float*>decisions.at(WEIGHTS, row))[0] = <float>(1.0 / max(self.reach[1 - self.player], 1e-30))
        (<uint8_t*>decisions.at(LAST, row))[0] = 0
        (<float*>decisions.at(OUTCOMES, row))[0] = 0.0
        decisions.size += 1
        self.reach[self.player] *= behaviour[i]
        self.state.advance(self.legal[i])
        return 0

    cdef int finish(self) except -1:
        """Record the return at the game's last decision, if it had one; return 0."""
        cdef DecisionBuffer decisions = self.decisions
        cdef Py_ssize_t row = decisions.size - 1
        if row >= 0:
            (<uint8_t*>decisions.at(LAST, row))[0] = 1
            (<float*>decisions.at(OUTCOMES, row))[0] = <float>self.state.utility(
                (<int8_t*>decisions.at(PLAYERS, row))[0]
            )
        return 0


cdef class Challenge(Episode):
    """A game of the player in `seat` against a rival that does not learn and is not recorded.

    Every player's decisions are a group of their own; the other arguments are those of an `Episode`.

    Args:
        seat: who learns.
        rival_rule: turns the outputs of the rival's network into its policy.
    """

    def __init__(
        self,
        State state,
        Rng rng not None,
        Rule rule,
        double epsilon,
        Episode reuse=None,
        *,
        int seat,
        Rule rival_rule,
    ):
        super().__init__(state, rng, rule, epsilon, reuse)
        self.seat = seat
        self.rival_rule = rival_rule

    @property
    def group(self):
        return self.player

    cdef int choose(self) except -1:
        if self.player == self.seat:
            return Episode.choose(self)
        self.state.advance(self.sample(self.rival_rule, self.rng))
        return 0
