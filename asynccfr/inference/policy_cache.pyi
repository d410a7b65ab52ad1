from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.query import Query
from asynccfr.games.contract import Game

TRIAL: int
LEAST_HIT_RATE: float

class PolicyCache:
    lookups: int
    hits: int
    def __init__(self, game: Game, capacity: int) -> None: ...
    def __len__(self) -> int: ...
    @property
    def pays(self) -> bool: ...
    def answer(self, query: Query, scratch: npt.NDArray[np.float32]) -> bool: ...
    def encode(self, queries: list[Any], rows: npt.NDArray[np.float32]) -> int: ...
    def deliver(self, queries: list[Any], outputs: npt.NDArray[np.float32]) -> None: ...
