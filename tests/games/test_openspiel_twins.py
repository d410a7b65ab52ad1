"""Native games beside OpenSpiel's of the same text: rules, payoffs and information states."""

import pytest

from asynccfr.errors import GameError
from asynccfr.games import load_game
from asynccfr.seeding import Rng

pyspiel = pytest.importorskip("pyspiel")

TEXTS = [
    "phantom_ttt",
    "phantom_ttt(obstype=reveal-nothing,gameversion=classical)",
    "phantom_ttt(obstype=reveal-nothing,gameversion=abrupt)",
    "dark_hex(gameversion=cdh,board_size=3,obstype=reveal-nothing)",
    "dark_hex(gameversion=adh,board_size=3,obstype=reveal-nothing)",
    "dark_hex(gameversion=cdh,num_rows=2,num_cols=3,obstype=reveal-nothing)",
    "dark_hex(gameversion=adh,num_rows=3,num_cols=2,obstype=reveal-nothing)",
    "dark_hex(gameversion=adh,board_size=4,obstype=reveal-nothing)",
    "liars_dice",
    "liars_dice(numdice=2,dice_sides=5)",
    "liars_dice(numdice=2,dice_sides=3,bidding_rule=reset-quantity)",
    "liars_dice(numdice=3,dice_sides=2)",
]


def their_information_state(state, text):
    """OpenSpiel's text, less the count of all moves that `dark_hex` adds to it."""
    lines = state.information_state_string().split("\n")
    return [line for line in lines if "dark_hex" not in text or not line.isdecimal()]


@pytest.mark.parametrize("text", TEXTS)
def test_plays_as_openspiels(text):
    ours, theirs = load_game(text), pyspiel.load_game(text)
    assert ours.num_actions == theirs.num_distinct_actions()
    assert (ours.min_utility, ours.max_utility) == (theirs.min_utility(), theirs.max_utility())
    rng = Rng(0)
    known = {}
    for _ in range(200):
        mine, other = ours.new_state(), theirs.new_initial_state()
        while not mine.is_terminal:
            if mine.is_chance:
                assert other.is_chance_node()
                assert mine.chance_outcomes() == other.chance_outcomes()
                step = mine.draw(rng)
            else:
                player = mine.current_player
                assert player == other.current_player()
                legal = mine.legal_actions()
                assert legal == other.legal_actions()
                key, string = (
                    mine.information_state_key(player),
                    (player, *their_information_state(other, text)),
                )
                assert known.setdefault(key, string) == string
                assert known.setdefault(string, key) == key
                step = legal[rng.integer(len(legal))]
            mine.apply(step)
            other.apply_action(step)
        assert other.is_terminal()
        assert mine.returns() == other.returns()


@pytest.mark.parametrize(
    "text",
    [
        "dark_hex(num_rows=5,num_cols=4)",
        "phantom_ttt(line=4)",
        "liars_dice(numdice=5,dice_sides=7)",
    ],
)
def test_boards_that_do_not_fit_are_refused(text):
    with pytest.raises(GameError, match="expected at most"):
        load_game(text)
