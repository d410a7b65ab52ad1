from asynccfr.games.contract import Game

class PrivateRules:
    """What a game says of a player's tree. Hooks trust their caller.

    A start is what a player is dealt before they first decide; the answer to it leads to a row.
    """

    game: Game

def measure(rules: PrivateRules, player: int) -> tuple[int, int]:
    """The rows R and sequences S of a player's tree, without making it."""
