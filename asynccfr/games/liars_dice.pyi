from typing import Any

from asynccfr.games.contract import Game, State

class LiarsDice(Game):
    """Liar's dice for two players, with any number of dice and sides.

    Attributes:
        num_dice: of each player.
        num_sides: of each die.
        num_bids: actions below this are bids, this one calls the last bidder a liar.
    """

    num_dice: int
    num_sides: int
    num_bids: int
    def __init__(self, **parameters: Any) -> None: ...

class LiarsDiceState(State):
    """One history: `history[:length]` holds the rolls, then the bids and perhaps the call."""
