from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr.games.contract import Game

class SampleBuffer:
    """Columns of samples of one game, written by traversals and emptied into a reservoir.

    `histories` are samples of a single action each, with the information states of all players.
    """
    def __init__(self, game: Game, histories: bool = False) -> None: ...
    def __len__(self) -> int: ...
    def extend(self, other: SampleBuffer) -> None:
        """Append the samples of another buffer of the same game."""
    def digest(self, start: int = 0) -> int:
        """A 64-bit hash of every sample in order, chained to that of earlier ones by `start`."""
    def put(
        self,
        features: npt.NDArray[Any],
        actions: npt.NDArray[np.int16],
        values: npt.NDArray[np.float32],
        weights: npt.NDArray[np.float32],
    ) -> None:
        """Append samples given as columns of the types and shapes that `take` returns."""
    def take(
        self,
    ) -> tuple[
        npt.NDArray[Any],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
    ]:
        """The samples as copied columns, leaving the buffer empty.

        Returns features uint8 or float32 [n, tensor_size], actions int16 [n, max_legal] padded with
        -1, values float32 [n, max_legal] and weights float32 [n].
        """
