from functools import cached_property

import numpy as np
import numpy.typing as npt

from asynccfr.exact.policy import InformationStates, Policy, TabularPolicy
from asynccfr.games.contract import Game, State

MAX_HISTORIES: int

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

    game: Game
    num_histories: int
    num_terminals: int
    num_sequences: int
    keys: list[bytes]
    players: npt.NDArray[np.intc]
    first: npt.NDArray[np.intc]
    parent: npt.NDArray[np.intc]
    owner: npt.NDArray[np.intc]
    legal: npt.NDArray[np.bool_]
    @cached_property
    def information_states(self) -> InformationStates:
        """All information states as one batch for a policy."""
    def state(self, i: int) -> State:
        """A state with information state `i` to move (one history of it)."""
    def history(self, i: int) -> list[int]:
        """The actions and chance outcomes of one history of information state `i`, a list."""
    def strategy(self, policy: Policy | npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        """The probabilities [S] that a policy gives to every action, in float64.

        `policy` is a function in bulk, or an array [I, num_actions].

        Raises GameError unless they are non-negative and add up to 1 (within 1e-4, then made exact)
        over the legal actions of every information state.
        """
    def table(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """A vector [S] over actions laid out as [I, num_actions], zeros at illegal actions."""
    def total(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums [I] of a vector [S] over the actions of each information state."""
    def least(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Minima [I] of a vector [S] over the actions of each information state."""
    def normalise(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Weights [S] of actions as probabilities [S], uniform where all weights are zero."""
    def plan(self, strategy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The realisation plans of both players, [S + 2].

        Entry s is the product of the player's own probabilities along sequence s.
        """
    def action_values(
        self,
        player: int,
        plan: npt.NDArray[np.float64],
        strategy: npt.NDArray[np.float64] | None = None,
    ) -> tuple[npt.NDArray[np.float64], float]:
        """Counterfactual values of a player's actions, [S] with zeros for the other player's.

        The value of an action is the player's expected return from the histories of its information
        state, weighted with the probability that chance and the opponent's `plan` lead there. The
        player goes on with `strategy` [S], or with a best response if that is None. Returns the
        values and the player's value of the game.
        """
    def regrets(
        self,
        player: int,
        plan: npt.NDArray[np.float64],
        strategy: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Counterfactual regrets of a player's actions, [S] with zeros for the other player's."""
    def tabular_policy(self, strategy: npt.NDArray[np.float64]) -> TabularPolicy:
        """The probabilities `strategy` [S] as a policy."""

def sequence_form(game: Game, max_histories: int = ...) -> SequenceForm:
    """The sequence form of `game`, enumerated once and remembered.

    Raises GameError for a game with other than two players, that is not zero-sum, that lacks
    perfect recall, or that has more than `max_histories` histories.
    """
