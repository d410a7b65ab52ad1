"""Policies of ours as OpenSpiel's, for its evaluators, bots and viewers, and theirs as ours."""

from typing import Any

import pyspiel
from open_spiel.python import policy as openspiel

from asynccfr.errors import GameError
from asynccfr.exact.policy import InformationStates, Policy, TabularPolicy
from asynccfr.exact.sequence_form import MAX_HISTORIES, sequence_form
from asynccfr.games.contract import Game
from asynccfr.games.openspiel import OpenSpielGame


def to_openspiel_policy(game: Game, policy: Policy) -> "OpenSpielPolicy":
    """`policy`, which plays `game`, for OpenSpiel's version of the same game.

    `game` is one of OpenSpiel's (`openspiel:NAME`) or has a twin of the same name there; raises
    GameError otherwise. OpenSpiel asks about one state at a time: of a network, pass
    `tabulate(game, policy)`, which is faster and has the very floats that `nash_conv` sees.
    """
    return OpenSpielPolicy(game, policy, twin(game))


def from_openspiel_policy(
    game: Game, policy: openspiel.Policy, max_histories: int = MAX_HISTORIES
) -> TabularPolicy:
    """OpenSpiel's `policy` as one for `game`, asked once at every information state.

    It is asked at one history of each. Raises GameError for a game without a twin of the same name
    there, and for one of more than `max_histories` histories.
    """
    theirs, tree = twin(game), sequence_form(game, max_histories)
    table = 0.0 * tree.legal
    for i in range(len(tree.keys)):
        state = theirs.new_initial_state()
        for action in tree.history(i):
            state.apply_action(action)
        for action, probability in policy.action_probabilities(state).items():
            table[i, action] = probability
    return TabularPolicy(tree.keys, tree.players, table)


def twin(game: Game) -> Any:
    """OpenSpiel's object for the same game; what only we can vary must be as there."""
    if isinstance(game, OpenSpielGame):
        return game.pyspiel_game
    defaults = {parameter.name: parameter.default for parameter in game.PARAMETERS}
    try:
        known = pyspiel.load_game(game.name).get_type().parameter_specification
    except pyspiel.SpielError:
        known = None
    if known is None or any(
        value != defaults[name] for name, value in game.parameters.items() if name not in known
    ):
        raise GameError(f"{game}: OpenSpiel has no such game, expected one with a twin there")
    shared = [f"{name}={value}" for name, value in game.parameters.items() if name in known]
    return OpenSpielGame(f"{game.name}({','.join(shared)})").pyspiel_game


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
