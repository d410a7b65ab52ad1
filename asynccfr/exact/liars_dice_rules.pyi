from asynccfr.exact.private_rules import PrivateRules
from asynccfr.games.liars_dice import LiarsDice

class LiarsDiceRules(PrivateRules):
    """The private trees of `LiarsDice`.

    Attributes:
        hands: what a player may have rolled, ascending faces.
        weights: their probabilities.
    """
    def __init__(self, dice: LiarsDice) -> None: ...
