from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.buffer import ColumnBuffer
from asynccfr.games.contract import Game

class SampleBuffer(ColumnBuffer):
    def __init__(self, game: Game, histories: bool = False) -> None: ...
    def take(
        self,
    ) -> tuple[
        npt.NDArray[Any],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
    ]: ...
