from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.query import Query
from asynccfr.games.contract import Game

TRIAL: int
LEAST_HIT_RATE: float

class PolicyCache:
    """The answers of one network at no more than `capacity` different rows.

    Attributes:
        lookups: queries seen.
        hits: queries that needed no row of their own in a forward.
    """

    lookups: int
    hits: int
    def __init__(self, game: Game, capacity: int) -> None: ...
    def __len__(self) -> int: ...
    @property
    def pays(self) -> bool:
        """Whether enough of the lookups were hits; true until there were enough to say."""
    def answer(self, query: Query, scratch: npt.NDArray[np.float32]) -> bool:
        """Answer a query at once if its row is known; return whether it was.

        `scratch` is room for a row, overwritten.
        """
    def encode(self, queries: list[Any], rows: npt.NDArray[np.float32]) -> int:
        """Answer the queries whose rows are known, and write the others' rows, each row once.

        Returns the number of rows written; `deliver` takes the network's outputs for them.
        """
    def deliver(self, queries: list[Any], outputs: npt.NDArray[np.float32]) -> None:
        """Give the queries that `encode` left unanswered their outputs, and remember these."""
