from asynccfr.games.contract import Game, State
from asynccfr.games.lost_cities_view import Move, View

class LostCities(Game):
    """Lost Cities for two players, one round.

    Attributes:
        colors: the number of colours, and of equal blocks in tensors and actions.
        color_features: tensor entries of a colour's block; the blocks come first, colour by colour.
        color_actions: actions of a colour's block; the blocks come first, colour by colour.
        moves: what each action does, indexed by action.
    """

    colors: int
    color_features: int
    color_actions: int
    moves: tuple[Move, ...]
    def __init__(self, **parameters: float) -> None: ...
    def tensor_layout(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """The `(feature, width)` pairs of a colour's block, and those that follow the blocks."""

class LostCitiesState(State):
    """One history of a round. `view` tells what a player knows; the rest tells everything."""
    def view(self, player: int) -> View:
        """What `player` knows now, as a `View`; GameError for another player."""
    def scores(self, player: int) -> tuple[int, ...]:
        """The player's points so far, for each colour."""
    def expedition_sizes(self, player: int) -> tuple[int, ...]:
        """How many cards the player has played, wagers included, for each colour."""
    def draws(self, player: int) -> tuple[int, int]:
        """How many cards the player has drawn since the deal: from piles, and in all."""
    @property
    def turn_count(self) -> int:
        """Turns completed by both players."""
    @property
    def pile_draws_exhausted(self) -> bool:
        """Whether the cap has been reached: only the deck is left to draw from."""
