from typing import Any

from asynccfr.games.contract import Game, State

class LiarsDice(Game):
    num_dice: int
    num_sides: int
    num_bids: int
    def __init__(self, **parameters: Any) -> None: ...

class LiarsDiceState(State): ...
