from asynccfr.games.contract import Game, State

class LeducPoker(Game):
    """Leduc poker for two players; it has no parameters."""
    def __init__(self) -> None: ...

class LeducState(State):
    """One history: `tables[k]` is the table after the first k deals and moves."""
