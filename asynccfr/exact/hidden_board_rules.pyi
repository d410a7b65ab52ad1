from asynccfr.exact.private_rules import PrivateRules
from asynccfr.games.hidden_board import HiddenBoard

class HiddenBoardRules(PrivateRules):
    """The private trees of a `HiddenBoard` of at most 12 cells."""
    def __init__(self, board: HiddenBoard) -> None: ...
