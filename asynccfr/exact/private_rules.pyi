from asynccfr.games.contract import Game

class PrivateRules:
    game: Game

def measure(rules: PrivateRules, player: int) -> tuple[int, int]: ...
