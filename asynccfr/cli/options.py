"""Arguments and options that several commands share."""

import math
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asynccfr.errors import RunError
from asynccfr.games import Game, configured_game, load_game
from asynccfr.games.allowed import is_allowed
from asynccfr.players import game_of_agents
from asynccfr.players.registry import agent_path

if TYPE_CHECKING:
    from asynccfr.agents import Agent, MixtureAgent

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


class FiniteRange(click.FloatRange):
    """A range that neither infinity nor what is no number lies in."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def naming(game: str) -> str:
    """The option, after a blank, that a command about a game's files needs; mostly none."""
    return "" if is_allowed(game) else f" --game {shlex.quote(game)}"


def drawn(path: Path, draw: Callable[[], None]) -> bool:
    """Draw a picture; where it cannot be written, say so instead: the numbers matter more."""
    try:
        draw()
    except OSError as error:
        click.echo(f"{path}: cannot be drawn: {error.strerror or error}", err=True)
        return False
    return True


def check_writable(path: Path) -> None:
    """Raise RunError if no file can be written there, before the work that it is to hold."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device"
        raise RunError(f"{path}: is {kind}; name a file")
    if not path.parent.is_dir():
        raise RunError(f"{path}: no folder {path.parent}; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise RunError(f"{path}: not writable; name another file")


def saved_agent(spec: str, game: str | None) -> "Agent | MixtureAgent":
    """The agent of that name; of the game, if one is given, or else RunError is raised."""
    from asynccfr.agents import Agent

    given = None if game is None else configured_game(game)
    agent = Agent.load(agent_path(spec), given)
    if given is not None and str(agent.game) != str(given):
        raise RunError(f"{spec}: an agent of {agent.game}, expected one of --game {given}")
    return agent


def chosen_game(text: str | None, players: Sequence[str]) -> Game:
    """The game that was asked for, else that of the saved agents, else Lost Cities."""
    return configured_game(text) if text else game_of_agents(players) or load_game("lost_cities")
