from functools import cached_property

import numpy as np
import numpy.typing as npt

from asynccfr.exact.policy import InformationStates, Policy, TabularPolicy
from asynccfr.games.contract import Game, State

MAX_HISTORIES: int

class SequenceForm:
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
    def information_states(self) -> InformationStates: ...
    def state(self, i: int) -> State: ...
    def history(self, i: int) -> list[int]: ...
    def strategy(self, policy: Policy | npt.NDArray[np.floating]) -> npt.NDArray[np.float64]: ...
    def table(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def total(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def least(self, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def normalise(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def plan(self, strategy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def action_values(
        self,
        player: int,
        plan: npt.NDArray[np.float64],
        strategy: npt.NDArray[np.float64] | None = None,
    ) -> tuple[npt.NDArray[np.float64], float]: ...
    def regrets(
        self,
        player: int,
        plan: npt.NDArray[np.float64],
        strategy: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]: ...
    def tabular_policy(self, strategy: npt.NDArray[np.float64]) -> TabularPolicy: ...

def sequence_form(game: Game, max_histories: int = ...) -> SequenceForm: ...
