from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.query import Query
from asynccfr.cfr.regret_matching import Rule
from asynccfr.games.contract import Game, State
from asynccfr.seeding import Rng

class Decisions(NamedTuple):
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

class DecisionBuffer:
    def __init__(self, game: Game) -> None: ...
    def __len__(self) -> int: ...
    def layout(self) -> tuple[tuple[type, int], ...]: ...
    def clear(self) -> None: ...
    def extend(self, other: DecisionBuffer) -> None: ...
    def digest(self, start: int = 0) -> int: ...
    def take(self) -> Decisions: ...

class Episode(Query):
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
    def advance(self) -> bool: ...

class Challenge(Episode):
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
