"""The games by name: `load_game("lost_cities(colors=3, hand_size=4)")`.

A new game is one line of `GAMES`. `openspiel:` followed by OpenSpiel's own notation loads a game of
theirs, if the `open_spiel` extra is installed. A game of the user's own is `package.module:Class`,
which only `configured_game` loads: whoever writes a configuration may run code, but a saved agent,
which may be a stranger's, must not name any.
"""

import os
import re
import sys
from importlib import import_module
from typing import NamedTuple

from asynccfr.errors import GameError, needed_by
from asynccfr.games.contract import Game
from asynccfr.games.parameters import Parameter, Value, check_parameters, nearest

GAMES = {
    "dark_hex": "asynccfr.games.dark_hex:DarkHex",
    "kuhn_poker": "asynccfr.games.kuhn:KuhnPoker",
    "leduc_poker": "asynccfr.games.leduc:LeducPoker",
    "liars_dice": "asynccfr.games.liars_dice:LiarsDice",
    "lost_cities": "asynccfr.games.lost_cities:LostCities",
    "phantom_ttt": "asynccfr.games.phantom_ttt:PhantomTicTacToe",
}

OPENSPIEL = "openspiel:"


class GameDescription(NamedTuple):
    """A registered game, for listings."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]


def load_game(text: str) -> Game:
    """The game that `name` or `name(parameter=value, ...)` describes; `str(game)` gives it back.

    Raises GameError for a text, name, parameter or value that is not understood, MissingPackage for
    a game of OpenSpiel where that is not installed.
    """
    if text.startswith(OPENSPIEL):
        return load_openspiel(text)
    name, given = parse(text)
    if name not in GAMES:
        raise GameError(
            f"unknown game {name!r}{nearest(name, list(GAMES))} (expected one of "
            f"{', '.join(GAMES)}, {OPENSPIEL}NAME, or for one of your own package.module:Class)"
        )
    game_class = registered_games()[name]
    check_parameters(name, game_class.PARAMETERS, given)
    game: Game = game_class(**given)
    return game


def configured_game(text: str) -> Game:
    """As `load_game`, or of a class of the user's own, `package.module:Class(parameter=value)`.

    Imports that module, from the current folder too. Raises GameError as `load_game` does, and for
    a module or class that cannot be used.
    """
    module, colon, rest = text.partition(":")
    if not colon or text.startswith(OPENSPIEL):
        return load_game(text)
    name, given = parse(rest)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = getattr(import_module(module.strip()), name, None)
    except Exception as error:
        raise GameError(
            f"game {text!r}: importing {module} failed: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Game)):
        raise GameError(f"game {text!r}: {module} has no game class {name} (a PythonGame, say)")
    try:
        game: Game = found(**given)
    except Exception as error:
        raise GameError(f"game {text!r}: {type(error).__name__}: {error}") from error
    return game


def registered_games() -> dict[str, type[Game]]:
    """The class of every registered game by its name."""
    return {name: import_class(path) for name, path in GAMES.items()}


def describe_games() -> list[GameDescription]:
    """Every registered game with the first line of its documentation and its parameters."""
    return [
        GameDescription(name, (cls.__doc__ or "").strip().split("\n")[0], cls.PARAMETERS)
        for name, cls in registered_games().items()
    ]


def parse(text: str) -> tuple[str, dict[str, Value]]:
    """Split `name(parameter=value, ...)`; raises GameError."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\)\s*)?", text)
    if match is None:
        raise GameError(f"game {text!r}: expected name or name(parameter=value, ...)")
    name, inside = match.groups()
    given: dict[str, Value] = {}
    for item in inside.split(",") if inside and inside.strip() else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key.isidentifier() and equals and value):
            raise GameError(f"game {text!r}: {item.strip()!r}: expected parameter=value")
        if key in given:
            raise GameError(f"game {text!r}: {key!r} is given twice")
        given[key] = parse_value(text, key, value)
    return name, given


def parse_value(text: str, key: str, value: str) -> Value:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?", value):
        return float(value)
    if re.fullmatch(r"[a-zA-Z][\w-]*", value):
        return value
    raise GameError(f"game {text!r}: {key}={value}: expected a number, true, false or a word")


def import_class(path: str) -> type[Game]:
    module, _, name = path.partition(":")
    game_class: type[Game] = getattr(import_module(module), name)
    return game_class


def load_openspiel(text: str) -> Game:
    with needed_by(f"game {text!r}"):
        adapter = import_module("asynccfr.games.openspiel")
    game: Game = adapter.load(text.removeprefix(OPENSPIEL))
    return game
