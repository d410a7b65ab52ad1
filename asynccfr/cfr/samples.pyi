from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.buffer import ColumnBuffer
from asynccfr.games.contract import Game

class SampleBuffer(ColumnBuffer):
    """Samples of one game, written by traversals and emptied into a reservoir.

    `take` returns features uint8 or float32 [n, tensor_size], actions int16 [n, max_legal] padded
    with -1, values float32 [n, max_legal] and weights float32 [n]. `histories` are samples of a
    single action each, with the information states of all players.
    """
    def __init__(self, game: Game, histories: bool = False) -> None: ...
    def take(
        self,
    ) -> tuple[
        npt.NDArray[Any],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
    ]: ...
