from asynccfr.games.contract import Game, State

class KuhnPoker(Game):
    """Kuhn poker for two players; it has no parameters."""
    def __init__(self) -> None: ...

class KuhnState(State):
    """One history: `history[:length]` holds the two deals, then the moves."""
