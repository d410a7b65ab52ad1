from asynccfr.exact.private_rules import PrivateRules
from asynccfr.games.hidden_board import HiddenBoard

class HiddenBoardRules(PrivateRules):
    def __init__(self, board: HiddenBoard) -> None: ...
