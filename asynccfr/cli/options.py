"""Arguments and options that several commands share."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from asynccfr.errors import RunError
from asynccfr.games import Game, configured_game, load_game
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


def check_writable(path: Path) -> None:
    """Raise RunError if no file can be written there, before the work that it is to hold."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device"
        raise RunError(f"{path}: is {kind}; name a file")
    if not path.parent.is_dir():
        raise RunError(f"{path}: no folder {path.parent}; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise RunError(f"{path}: not writable; name another file")


def chosen_game(text: str | None, players: Sequence[str]) -> Game:
    """The game that was asked for, else that of the saved agents, else Lost Cities."""
    return configured_game(text) if text else game_of_agents(players) or load_game("lost_cities")
