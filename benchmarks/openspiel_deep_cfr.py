"""OpenSpiel's PyTorch Deep CFR, with the settings of its own example, beside ours.

Needs dm-tree beside OpenSpiel. Its loop is cut into iterations, to look at the clock in between.
Its average-strategy network is fitted anew for every evaluation; of these fits the clock counts the
one that an evaluation needs, and none before. Illegal actions, to which its softmax gives
probability as well, are left out and the rest made to sum to 1; then it is evaluated as ours is.
"""

import numpy as np
import numpy.typing as npt
import torch
from open_spiel.python.pytorch.deep_cfr import DeepCFRSolver

from asynccfr.exact.policy import InformationStates
from asynccfr.games.openspiel import OpenSpielGame

TRAVERSALS = 375


class OpenSpielDeepCFR:
    """A run of their solver.

    Attributes:
        game: their game, on our contract.
        iterations: so far, of both players.
    """

    def __init__(self, game: str, seed: int) -> None:
        self.game = OpenSpielGame(game.removeprefix("openspiel:"))
        self.iterations = 0
        self._solver = DeepCFRSolver(
            self.game.pyspiel_game,
            policy_network_layers=(64,),
            advantage_network_layers=(64,),
            num_traversals=TRAVERSALS,
            learning_rate=1e-3,
            batch_size_advantage=256,
            batch_size_strategy=256,
            memory_capacity=100_000,
            policy_network_train_steps=2500,
            advantage_network_train_steps=375,
            reinitialize_advantage_networks=True,
            seed=seed,
        )

    def iterate(self) -> None:
        """What one round of the loop in its `solve` does."""
        solver = self._solver
        for player in range(2):
            for _ in range(TRAVERSALS):
                solver._traverse_game_tree(solver._root_node, player)
            solver._reinitialize_advantage_network(player)
            solver._learn_advantage_network(player)
        self.iterations += 1
        solver._iteration += 1

    def fit_average(self) -> None:
        """Fit the average-strategy network, from scratch."""
        self._solver._reinitialize_policy_network()
        self._solver._learn_strategy_network()

    @property
    def nodes(self) -> int:
        """Decisions so far: every one has become a sample."""
        memories = (*self._solver.advantage_buffers, self._solver.strategy_buffer)
        return sum(int(memory.add_calls) for memory in memories)

    def policy(self, states: InformationStates) -> npt.NDArray[np.float64]:
        """The average strategy, [n, num_actions]."""
        with torch.inference_mode():
            played = self._solver._policy_network(torch.from_numpy(states.tensors)).numpy()
        played = np.where(states.legal, played, 0.0).astype(np.float64)
        shares: npt.NDArray[np.float64] = played / played.sum(axis=1, keepdims=True)
        return shares
