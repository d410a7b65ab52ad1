"""Arguments and options that several commands share."""

from collections.abc import Sequence
from pathlib import Path

import click

from asynccfr.games import Game, load_game
from asynccfr.players import game_of_agents

path_type = click.Path(path_type=Path)

set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field, such as solver.sampling.epsilon=0.5; repeatable.",
)

game_option = click.option(
    "--game",
    metavar="GAME",
    help="The game, such as 'lost_cities(colors=3)'. Default: the agent's, or lost_cities.",
)


def chosen_game(text: str | None, players: Sequence[str]) -> Game:
    """The game that was asked for, else that of the saved agents, else Lost Cities."""
    return load_game(text) if text else game_of_agents(players) or load_game("lost_cities")
