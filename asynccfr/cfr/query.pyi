from collections.abc import Generator, Hashable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.regret_matching import Rule
from asynccfr.games.contract import State
from asynccfr.seeding import Rng

class Query:
    """The decision of the player to move in `state`, which must not be chance or terminal.

    Awaiting it hands it to whoever drives the coroutine, who goes on with that once it is answered.
    """

    state: State
    player: int
    @property
    def group(self) -> Hashable:
        """Decisions of one group share a network, and so a batch."""
    def __init__(self, state: State) -> None: ...
    def __await__(self) -> Generator[Self]: ...
    def probabilities(self, rule: Rule) -> list[tuple[int, float]]:
        """The answered policy as `(action, probability)` pairs, actions ascending."""
    def sample(self, rule: Rule, rng: Rng) -> int:
        """An action drawn from the answered policy."""

def encode(queries: list[Any], rows: npt.NDArray[np.float32]) -> None:
    """Write the information state of each query into its row; rows is float32 [>= n, tensor_size]."""

def deliver(queries: list[Any], outputs: npt.NDArray[np.float32]) -> None:
    """Give each query its row of network outputs, float32 [>= n, num_actions]."""
