from asynccfr.games.contract import Game, State

class KuhnPoker(Game):
    """Kuhn poker for two players; it has no parameters.

    Three cards, J < Q < K; an ante of one chip and one bet of one chip. A player passes or bets; who
    passes after a bet folds, and the higher card wins what the other paid in.
    """
    def __init__(self) -> None: ...

class KuhnState(State):
    """One history: `history[:length]` holds the two deals, then the moves."""
