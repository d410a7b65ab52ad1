"""Policies of ours as policies of OpenSpiel's, for its evaluators, bots and viewers."""

from typing import Any

from open_spiel.python import policy as openspiel

from asynccfr.errors import GameError
from asynccfr.exact.policy import InformationStates, Policy
from asynccfr.games.contract import Game
from asynccfr.games.openspiel import OpenSpielGame


def to_openspiel_policy(game: Game, policy: Policy) -> "OpenSpielPolicy":
    """`policy`, which plays `game`, for OpenSpiel's version of the same game.

    `game` is one of OpenSpiel's (`openspiel:NAME`) or has the name of one of theirs (Kuhn and Leduc
    poker); raises GameError otherwise. OpenSpiel asks about one state at a time: of a network, pass
    `tabulate(game, policy)`, which is faster and has the very floats that `nash_conv` sees.
    """
    if isinstance(game, OpenSpielGame):
        return OpenSpielPolicy(game, policy, game.pyspiel_game)
    if game.parameters:
        raise GameError(f"{game}: OpenSpiel has no such game, expected one with a twin there")
    return OpenSpielPolicy(game, policy, OpenSpielGame(game.name).pyspiel_game)


class OpenSpielPolicy(openspiel.Policy):  # type: ignore[misc]
    """Replays the history of OpenSpiel's state in our game and asks our policy."""

    def __init__(self, game: Game, policy: Policy, pyspiel_game: Any) -> None:
        super().__init__(pyspiel_game, list(range(game.num_players)))
        self._ours = game
        self._policy = policy

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action; `player_id` may only be the player to move."""
        replay = self._ours.new_state()
        for action in state.history():
            replay.apply(action)
        if player_id not in (None, replay.current_player):
            raise ValueError(f"player_id={player_id}: expected {replay.current_player} in\n{state}")
        row = self._policy(InformationStates.of([replay]))[0]
        return {action: float(row[action]) for action in replay.legal_actions()}
