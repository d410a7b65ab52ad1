"""Games: the `Game`/`State` contract, the registry, and the games themselves."""

from asynccfr.games.contract import CHANCE, TERMINAL, Game, State
from asynccfr.games.python import PythonGame
from asynccfr.games.registry import configured_game, load_game, registered_games
from asynccfr.games.statistics import Statistic
from asynccfr.games.symmetry import Symmetry

__all__ = [
    "CHANCE",
    "TERMINAL",
    "Game",
    "PythonGame",
    "State",
    "Statistic",
    "Symmetry",
    "configured_game",
    "load_game",
    "registered_games",
]
