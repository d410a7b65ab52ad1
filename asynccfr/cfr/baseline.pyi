import numpy as np
import numpy.typing as npt

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk
from asynccfr.games.contract import State
from asynccfr.seeding import Rng

class BaselineWalk(Walk):
    histories: SampleBuffer
    def __init__(
        self,
        state: State,
        traverser: int,
        rng: Rng,
        rule: Rule,
        epsilon: float = 0.0,
        max_weight: float = 1.0,
        reuse: Walk | None = None,
    ) -> None: ...
    def write_histories(self, rows: npt.NDArray[np.float32], first: int) -> int: ...
    def read_baselines(self, outputs: npt.NDArray[np.float32], first: int) -> None: ...
