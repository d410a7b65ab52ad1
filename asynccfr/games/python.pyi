from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from asynccfr.games.contract import Game, State
from asynccfr.games.symmetry import Symmetry

Position = TypeVar("Position")

class PythonGame(Game, Generic[Position]):
    """Base of games written in Python; see the module for an example.

    Arguments are the attributes of `Game` under the same names; `max_legal_actions` defaults to
    `num_actions`. Positions must not be changed by any method. What the methods give is checked
    where it is used; GameError names the method, what it gave and what was expected.
    """
    def __init__(
        self,
        *,
        name: str,
        num_actions: int,
        information_state_tensor_size: int,
        min_utility: float,
        max_utility: float,
        parameters: dict[str, int | float | str] | None = None,
        num_players: int = 2,
        max_legal_actions: int | None = None,
        tensor_quantum: float = 0.0,
        symmetry: Symmetry | None = None,
    ) -> None: ...
    def start(self) -> Position:
        """The position before anything has happened."""
    def player(self, position: Position) -> int:
        """The player to move, `CHANCE` or `TERMINAL`."""
    def legal_actions(self, position: Position) -> Sequence[int]:
        """The legal actions of the player to move, in any order; at least one."""
    def chance_outcomes(self, position: Position) -> Sequence[tuple[int, float]]:
        """The `(outcome, probability)` pairs where chance moves."""
    def next(self, position: Position, action: int) -> Position:
        """The position after an action or a chance outcome."""
    def returns(self, position: Position) -> Sequence[float]:
        """Every player's return at a terminal position."""
    def information_state(self, position: Position, player: int) -> bytes | str:
        """Bytes or str: everything the player has seen and done (perfect recall)."""
    def tensor(self, position: Position, player: int) -> Sequence[float]:
        """The player's information state as floats [information_state_tensor_size]."""
    def action_name(self, position: Position, action: int) -> str:
        """A readable name of an action or chance outcome."""
    def describe(self, position: Position) -> str:
        """The position as text."""
    def describe_for(self, position: Position, player: int) -> str | None:
        """What the player knows, for them to read; None for the names of what they saw happen."""
    def statistics(self, position: Position, player: int) -> Sequence[tuple[float, float]]:
        """An `(amount, count)` for each of `STATISTICS`, at a terminal position."""

class PythonState(State):
    """One history of a `PythonGame`: the positions it went through."""
    @property
    def position(self) -> Any:
        """The position of the game that this state is at."""
