from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.games.contract import Game

class SampleBuffer:
    def __init__(self, game: Game) -> None: ...
    def __len__(self) -> int: ...
    def extend(self, other: SampleBuffer) -> None: ...
    def digest(self, start: int = 0) -> int: ...
    def take(
        self,
    ) -> tuple[
        npt.NDArray[Any],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
    ]: ...
