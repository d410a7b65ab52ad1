from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from asynccfr.games.contract import Game, State
from asynccfr.games.symmetry import Symmetry

class HiddenBoard(Game):
    num_rows: int
    num_cols: int
    passes_turn: bool
    wins: npt.NDArray[np.uint8]

class HiddenBoardState(State): ...

def paired_cells(num_cells: int, pairs: Sequence[tuple[int, int]]) -> Symmetry: ...
