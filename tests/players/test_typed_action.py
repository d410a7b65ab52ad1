import pytest

from asynccfr.games import load_game
from asynccfr.players.typed_action import NotUnderstood, typed_action

GAME = load_game("lost_cities(colors=6)")
NAMES = [str(move) for move in GAME.moves]
CARDS = [name for name in NAMES if not name.startswith("draw")]
DRAWS = [name for name in NAMES if name.startswith("draw")]
POKER = ["fold", "call", "raise"]


@pytest.mark.parametrize(
    ("text", "names", "meant"),
    [
        ("p r7", CARDS, "play red 7"),
        ("P  R 7", CARDS, "play red 7"),
        ("play red 7", CARDS, "play red 7"),
        ("p r10", CARDS, "play red 10"),
        ("d b3", CARDS, "discard blue 3"),
        ("pg4", CARDS, "play green 4"),
        ("p rw", CARDS, "play red wager"),
        ("p ww", CARDS, "play white wager"),
        ("d wh wa", CARDS, "discard white wager"),
        ("p p2", CARDS, "play purple 2"),
        ("deck", DRAWS, "draw deck"),
        ("pile g", DRAWS, "draw green pile"),
        ("g", DRAWS, "draw green pile"),
        ("draw purple pile", DRAWS, "draw purple pile"),
        ("2", POKER, "call"),
        ("c", POKER, "call"),
        ("raise", POKER, "raise"),
    ],
)
def test_what_a_person_types_is_understood(text, names, meant):
    assert names[typed_action(text, names)] == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "0: there are choices 1 to 3"),
        ("4", "4: there are choices 1 to 3"),
        ("r1", "r1: none of the choices"),
        ("pass", "pass: none of the choices"),
        ("?", r"\?: none of the choices"),
    ],
)
def test_what_is_not_understood_says_so(text, message):
    with pytest.raises(NotUnderstood, match=message):
        typed_action(text, POKER)


def test_what_is_ambiguous_lists_what_it_may_mean():
    with pytest.raises(NotUnderstood, match=r"7: play red 7, discard red 7\?"):
        typed_action("r 7", ["play red 7", "discard red 7", "play red 2"])


def test_every_name_means_itself_and_so_does_every_number():
    for index, name in enumerate(NAMES):
        assert typed_action(name, NAMES) == index
        assert typed_action(str(index + 1), NAMES) == index
