from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from asynccfr.games.parameters import Parameter
from asynccfr.games.statistics import Statistic
from asynccfr.games.symmetry import Symmetry
from asynccfr.seeding import Rng

CHANCE: Final[int]
TERMINAL: Final[int]

class Game:
    """An immutable game.

    A subclass lists what its constructor takes, by keyword, in `PARAMETERS`, what finished games
    count in `STATISTICS`, and in `LINE_COLORS` words that, where they begin a line of a state's
    text, give it a colour of the terminal.

    Attributes:
        name: the name it is registered under.
        parameters: every parameter with its value.
        num_players: players are numbered 0 … num_players - 1.
        num_actions: actions are numbered 0 … num_actions - 1; chance outcomes have their own numbers.
        max_legal_actions: the most legal actions that any state has.
        information_state_tensor_size: floats in a row written by `information_state_tensor`.
        tensor_quantum: every tensor entry is an integer from 0 to 255 times this; 0.0 if arbitrary.
        min_utility, max_utility: bounds of every player's return.
        symmetry: blocks that can be exchanged, a `Symmetry`; None where there are none.
    """

    PARAMETERS: ClassVar[tuple[Parameter, ...]]
    STATISTICS: ClassVar[tuple[Statistic, ...]]
    LINE_COLORS: ClassVar[dict[str, str]]
    name: str
    parameters: dict[str, int | float | str]
    num_players: int
    num_actions: int
    max_legal_actions: int
    information_state_tensor_size: int
    tensor_quantum: float
    min_utility: float
    max_utility: float
    symmetry: Symmetry | None
    def new_state(self, rng: Rng | int | None = None) -> State:
        """The initial state.

        `rng` is None (chance is left to the caller), an int seed or an `Rng` (the state draws by
        itself and is never at a chance node).
        """
    def rules_text(self) -> str:
        """The rules, the scoring and what may be typed, in paragraphs, for who plays at the terminal.

        By default those of the documentation of the class, or its module where that says more.
        """

class State:
    """One history of a game. `current_player` is a player, `CHANCE` or `TERMINAL`."""

    game: Game
    current_player: int
    @property
    def is_terminal(self) -> bool: ...
    @property
    def is_chance(self) -> bool: ...
    def legal_actions(self) -> list[int]:
        """The legal actions of the player to move, ascending; empty at terminal and chance nodes."""
    def legal_actions_mask(self) -> npt.NDArray[np.bool_]:
        """A bool array [num_actions] with the legal actions set."""
    def apply(self, action: int) -> None:
        """Play an action, or a chance outcome at a chance node.

        Raises IllegalAction, leaving the state as it was.
        """
    def draw(self, rng: Rng) -> int:
        """An outcome of this chance node, drawn by its probability; GameError elsewhere."""
    def undo(self) -> None:
        """Undo the last `apply`; draws that a seeded state made by itself are undone with it.

        The generator of a seeded state is not rewound: what is drawn next time may differ.
        Raises GameError at the initial state.
        """
    def clone(self) -> State:
        """An independent state with the same history (and generator, if seeded)."""
    def determinised(self, player: int, rng: Rng | int) -> State:
        """A seeded copy to play on from, in which whatever `player` cannot see is drawn anew.

        It is what the player's information state allows, each possibility as likely as the cards
        make it, whatever the other players' actions may tell. Only its future makes sense: its past
        cannot be undone, and its keys are of no use. `rng` is an int seed or an `Rng`.
        Raises GameError for a game that does not support it.
        """
    def returns(self) -> list[float]:
        """Every player's return. Raises GameError before the game is over."""
    def information_state_tensor(
        self, player: int, out_row: npt.NDArray[np.float32] | None = None
    ) -> npt.NDArray[np.float32]:
        """Write the player's information state into `out_row`, float32 [size]; return that array.

        A new array is made if `out_row` is None. Raises GameError for another player, ValueError for
        a row of another size or type.
        """
    def history_length(self) -> int:
        """The number of actions and chance outcomes so far."""
    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The `(outcome, probability)` pairs of a chance node, ascending; GameError elsewhere."""
    def information_state_key(self, player: int) -> bytes:
        """Bytes that are equal exactly where the player cannot tell two histories apart.

        Perfect recall: everything the player has seen and done, in order.
        """
    def information_state_string(self, player: int) -> str:
        """What the player has seen and done, for people to read: the key, unless a game says more."""
    def action_to_string(self, action: int) -> str:
        """A readable name of an action, or of an outcome at a chance node."""
    def action_to_short_string(self, action: int) -> str:
        """What people type for an action: its name, unless a game has something shorter."""
    def table_to_string(self, player: int) -> str:
        """What a player at the terminal is shown: nothing that others hide from them."""
    def statistics(self, player: int) -> tuple[tuple[float, float], ...]:
        """An `(amount, count)` for each of the game's `STATISTICS`, of a player in a finished game."""
