from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.policy import Rule
from asynccfr.games.contract import State

class Query:
    state: State
    player: int
    def __init__(self, state: State) -> None: ...
    def probabilities(self, rule: Rule) -> list[tuple[int, float]]: ...

def encode(queries: list[Any], rows: npt.NDArray[np.float32]) -> None: ...
def deliver(queries: list[Any], outputs: npt.NDArray[np.float32]) -> None: ...
