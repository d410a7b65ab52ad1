"""The player that knows no game, and plays them all."""

from asynccfr.games.contract import State
from asynccfr.seeding import Rng


class UniformPlayer:
    """Every legal action with equal probability."""

    name = "random"

    def act(self, state: State, rng: Rng) -> int:
        actions = state.legal_actions()
        return actions[rng.integer(len(actions))]
