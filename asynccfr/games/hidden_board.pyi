from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from asynccfr.games.contract import Game, State
from asynccfr.games.symmetry import Symmetry

class HiddenBoard(Game):
    """A game on a board of at most 16 cells, row by row; see the module.

    Attributes:
        num_rows, num_cols: the board's size.
        passes_turn: whether a refused attempt ends the turn.
        wins: uint8 [2, 2^cells], whether the player wins with a set of stones, bit i for cell i.
    """

    num_rows: int
    num_cols: int
    passes_turn: bool
    wins: npt.NDArray[np.uint8]

class HiddenBoardState(State):
    """One history: `movers[:length]` made the attempts that the two views hold."""

def paired_cells(num_cells: int, pairs: Sequence[tuple[int, int]]) -> Symmetry:
    """The symmetry that exchanges the cells of each pair, for a board of that many cells."""
