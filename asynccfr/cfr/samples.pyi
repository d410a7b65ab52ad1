from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.games.contract import Game

class SampleBuffer:
    def __init__(self, game: Game, histories: bool = False) -> None: ...
    def __len__(self) -> int: ...
    def extend(self, other: SampleBuffer) -> None: ...
    def digest(self, start: int = 0) -> int: ...
    def put(
        self,
        features: npt.NDArray[Any],
        actions: npt.NDArray[np.int16],
        values: npt.NDArray[np.float32],
        weights: npt.NDArray[np.float32],
    ) -> None: ...
    def take(
        self,
    ) -> tuple[
        npt.NDArray[Any],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
    ]: ...
