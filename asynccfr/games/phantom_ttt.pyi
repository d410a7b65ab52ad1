from typing import Any

from asynccfr.games.hidden_board import HiddenBoard

class PhantomTicTacToe(HiddenBoard):
    """Tic-tac-toe in which neither player sees the other's stones."""
    def __init__(self, **parameters: Any) -> None: ...
