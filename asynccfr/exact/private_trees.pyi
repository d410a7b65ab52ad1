from asynccfr.exact.private_rules import PrivateRules
from asynccfr.exact.private_tree import PrivateTree
from asynccfr.games.contract import Game

class PrivateTrees:
    """Both players' trees, with the vectors that the walk reads and fills.

    Attributes:
        rules: the game's.
        trees: by player.
        parts: how many choices there are for i, and for j.
    """

    rules: PrivateRules
    trees: tuple[PrivateTree, PrivateTree]
    parts: int
    def __init__(self, rules: PrivateRules) -> None: ...
    def stop(self) -> None:
        """Let the parts that run end soon; what they leave is unfinished."""
    def walk(self, i: int, j: int) -> None:
        """Add the histories of part (i, j) to both trees' `gain`. Releases the GIL."""

def private_rules(game: Game) -> PrivateRules | None:
    """What makes private trees of a game; None for a game without."""

def memory(rules: PrivateRules) -> tuple[int, int]:
    """The rows of `PrivateTrees`, and the bytes that it takes."""
