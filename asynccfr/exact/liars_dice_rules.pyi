from asynccfr.exact.private_rules import PrivateRules
from asynccfr.games.liars_dice import LiarsDice

class LiarsDiceRules(PrivateRules):
    def __init__(self, dice: LiarsDice) -> None: ...
