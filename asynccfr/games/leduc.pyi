from asynccfr.games.contract import Game, State

class LeducPoker(Game):
    """Leduc poker for two players; it has no parameters.

    Two suits of J, Q, K, an ante of one chip, and two betting rounds with a public card between;
    raises of 2 chips, then 4, at most two in a round. A pair with the public card wins, then the
    higher rank.
    """
    def __init__(self) -> None: ...

class LeducState(State):
    """One history: `tables[k]` is the table after the first k deals and moves."""
