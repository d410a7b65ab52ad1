"""The games that a file may name: an agent's, or those of a run that a stranger may have written.

Ours, and games of OpenSpiel with parameters that its loaders handle. None of them names a file or
wraps another game, and none is Python code: those a person names by hand, with `--game`.
"""

from asynccfr.errors import GameError
from asynccfr.games.contract import Game
from asynccfr.games.parameters import Parameter, check_parameters
from asynccfr.games.registry import GAMES, OPENSPIEL, load_game, parse

PLAYERS = Parameter("players", 2, 2, 2, "players")

OPENSPIEL_GAMES: dict[str, tuple[Parameter, ...]] = {
    "dark_hex": (Parameter("board_size", 3, 2, 6, "rows and columns"),),
    "goofspiel": (
        PLAYERS,
        Parameter("num_cards", 13, 1, 13, "cards of each hand"),
        Parameter("imp_info", False, False, True, "whether bids stay hidden"),
    ),
    "kuhn_poker": (PLAYERS,),
    "leduc_poker": (
        PLAYERS,
        Parameter("suit_isomorphism", False, False, True, "whether suits are told apart"),
    ),
    "liars_dice": (
        PLAYERS,
        Parameter("numdice", 1, 1, 4, "dice of each player"),
        Parameter("dice_sides", 6, 1, 12, "sides of a die"),
    ),
    "matrix_brps": (),
    "matrix_mp": (),
    "matrix_rps": (),
    "matrix_rpsw": (),
    "phantom_ttt": (),
}


def is_allowed(text: str) -> bool:
    """Whether a file may name this game."""
    if not text.startswith(OPENSPIEL):
        return text.partition("(")[0].strip() in GAMES
    try:
        name, given = parse(text.removeprefix(OPENSPIEL))
        check_parameters(name, OPENSPIEL_GAMES[name], given)
    except (GameError, KeyError):
        return False
    return True


def load_allowed(text: str, where: str) -> Game:
    """The game that a file, which errors call `where`, names.

    Raises GameError for one that a person must name by hand, and as `load_game` does.
    """
    if not is_allowed(text):
        raise GameError(
            f"{where}: names the game {text!r}, which no file may have loaded: only "
            f"{', '.join(GAMES)}, and of OpenSpiel {', '.join(OPENSPIEL_GAMES)} within bounds; "
            f"if you trust it, name it yourself: --game {text!r}"
        )
    return load_game(text)
