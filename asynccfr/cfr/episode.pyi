from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.buffer import ColumnBuffer
from asynccfr.cfr.query import Query
from asynccfr.cfr.regret_matching import Rule
from asynccfr.games.contract import Game, State
from asynccfr.seeding import Rng

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

    features: npt.NDArray[Any]
    hidden: npt.NDArray[Any]
    actions: npt.NDArray[np.int16]
    outputs: npt.NDArray[np.float32]
    policy: npt.NDArray[np.float32]
    chosen: npt.NDArray[np.int16]
    sampled: npt.NDArray[np.float32]
    players: npt.NDArray[np.int8]
    explores: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]
    last: npt.NDArray[np.uint8]
    outcomes: npt.NDArray[np.float32]

class DecisionBuffer(ColumnBuffer):
    """Decisions of games for two players, in the layout of `Decisions`."""
    def __init__(self, game: Game) -> None: ...
    def take(self) -> Decisions:
        """The decisions as copied `Decisions`, leaving the buffer empty."""

class Episode(Query):
    """A game of self-play from `state`.

    Args:
        state: where to start; advanced in place.
        rng: draws chance and actions of this game alone.
        rule: turns the network's outputs into the current policy.
        epsilon: probability of a uniform action, in both seats.
        reuse: an episode of the same game whose decisions have been taken, to inherit its memory.
        explorer: the seat in which that probability is 1; -1 for none.
    """

    decisions: DecisionBuffer
    def __init__(
        self,
        state: State,
        rng: Rng,
        rule: Rule,
        epsilon: float = 0.0,
        reuse: Episode | None = None,
        *,
        explorer: int = -1,
    ) -> None: ...
    def advance(self) -> bool:
        """Play on to the next decision; False at the end of the game.

        A decision that has been answered is sampled first; one with a single legal action is played.
        """

class Challenge(Episode):
    """A game of the player in `seat` against a rival that does not learn and is not recorded.

    Every player's decisions are a group of their own; the other arguments are those of an `Episode`.

    Args:
        seat: who learns.
        rival_rule: turns the outputs of the rival's network into its policy.
    """
    def __init__(
        self,
        state: State,
        rng: Rng,
        rule: Rule,
        epsilon: float,
        reuse: Episode | None = None,
        *,
        seat: int,
        rival_rule: Rule,
    ) -> None: ...
