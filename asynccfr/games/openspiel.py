"""OpenSpiel's games on our contract: `load_game("openspiel:liars_dice(dice_sides=5)")`.

Any two-player zero-sum game with information-state tensors and explicit chance will do.
Simultaneous moves are made one after the other, the second player not seeing the first's
(OpenSpiel's `convert_to_turn_based`). A position is a state of OpenSpiel's, not changed once made.
"""

from collections.abc import Sequence
from typing import Any

import pyspiel

from asynccfr.errors import GameError
from asynccfr.games.contract import CHANCE, TERMINAL
from asynccfr.games.parameters import nearest
from asynccfr.games.python import PythonGame

PREFIX = "openspiel:"
Kind = pyspiel.GameType


class OpenSpielGame(PythonGame[Any]):
    """A game of OpenSpiel's, loaded from its own notation; raises GameError if it does not fit.

    Attributes:
        pyspiel_game: OpenSpiel's object, turn-based.
    """

    def __init__(self, text: str) -> None:
        game = load_pyspiel(text)
        if game.get_type().dynamics == Kind.Dynamics.SIMULTANEOUS:
            game = pyspiel.convert_to_turn_based(game)
        self.pyspiel_game = game
        super().__init__(
            name=PREFIX + text,
            num_actions=game.num_distinct_actions(),
            information_state_tensor_size=game.information_state_tensor_size(),
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
        )

    def start(self) -> Any:
        return self.pyspiel_game.new_initial_state()

    def player(self, position: Any) -> int:
        if position.is_terminal():
            return TERMINAL
        return CHANCE if position.is_chance_node() else int(position.current_player())

    def legal_actions(self, position: Any) -> Sequence[int]:
        return position.legal_actions()  # type: ignore[no-any-return]

    def chance_outcomes(self, position: Any) -> Sequence[tuple[int, float]]:
        return position.chance_outcomes()  # type: ignore[no-any-return]

    def next(self, position: Any, action: int) -> Any:
        return position.child(action)

    def returns(self, position: Any) -> Sequence[float]:
        return position.returns()  # type: ignore[no-any-return]

    def information_state(self, position: Any, player: int) -> str:
        return position.information_state_string(player)  # type: ignore[no-any-return]

    def tensor(self, position: Any, player: int) -> Sequence[float]:
        return position.information_state_tensor(player)  # type: ignore[no-any-return]

    def action_name(self, position: Any, action: int) -> str:
        return position.action_to_string(action)  # type: ignore[no-any-return]

    def rules_text(self) -> str:
        name = self.pyspiel_game.get_type().long_name
        return f"{name}: a game of OpenSpiel, whose documentation has the rules."

    def describe_for(self, position: Any, player: int) -> str | None:
        text: str = position.information_state_string(player)
        return text if "\n" in text else None  # a line is a key; more are for people to read


def load(text: str) -> OpenSpielGame:
    """`OpenSpielGame(text)`, for the registry."""
    return OpenSpielGame(text)


def load_pyspiel(text: str) -> Any:
    name = text.partition("(")[0].strip()
    if name not in pyspiel.registered_names():
        close = nearest(name, pyspiel.registered_names())
        raise GameError(f"{PREFIX}{text}: OpenSpiel has no game {name!r}{close}")
    try:
        game = pyspiel.load_game(text)
    except pyspiel.SpielError as error:
        raise GameError(f"{PREFIX}{text}: {error}") from None
    if trouble := obstacle(game):
        raise GameError(f"{PREFIX}{text}: {trouble}")
    return game


def obstacle(game: Any) -> str | None:
    """What keeps a game of OpenSpiel's from being played here; None if nothing does."""
    kind = game.get_type()
    if game.num_players() != 2:
        return f"{game.num_players()} players, expected two"
    if kind.dynamics == Kind.Dynamics.MEAN_FIELD:
        return "a mean-field game, expected turns or simultaneous moves"
    if kind.utility != Kind.Utility.ZERO_SUM:
        return "not zero-sum"
    if kind.chance_mode == Kind.ChanceMode.SAMPLED_STOCHASTIC:
        return "its chance outcomes can only be sampled, expected a distribution"
    if not kind.provides_information_state_tensor:
        return "no information-state tensor"
    return None
