from typing import Any

from asynccfr.games.hidden_board import HiddenBoard

class PhantomTicTacToe(HiddenBoard):
    def __init__(self, **parameters: Any) -> None: ...
