from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.regret_matching import Rule
from asynccfr.games.contract import State
from asynccfr.seeding import Rng

class Query:
    state: State
    player: int
    @property
    def group(self) -> int: ...
    def __init__(self, state: State) -> None: ...
    def probabilities(self, rule: Rule) -> list[tuple[int, float]]: ...
    def sample(self, rule: Rule, rng: Rng) -> int: ...

def encode(queries: list[Any], rows: npt.NDArray[np.float32]) -> None: ...
def deliver(queries: list[Any], outputs: npt.NDArray[np.float32]) -> None: ...
