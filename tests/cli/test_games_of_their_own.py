"""What evaluation and the terminal say of a game comes from the game."""

import re

import pytest
from click.testing import CliRunner

from asynccfr.cli.evaluate import command as evaluate
from asynccfr.cli.play import command as play
from asynccfr.errors import GameError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.games import load_game
from asynccfr.games.conformance import check_game
from asynccfr.players import make_player
from tests.games.second_card_game import HighCard

GAME = "tests.games.second_card_game:HighCard"


def test_statistics_of_a_second_card_game_are_in_the_table():
    result = CliRunner().invoke(
        evaluate, ["random", "--against", "random", "--game", GAME, "--deals", "400"]
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"length +aces +showdowns", result.output)
    row = result.output.split("showdowns")[1]
    a, b, common = map(float, re.search(r"(\d+)% : (\d+)% +([\d.]+)%", row).groups())
    assert a == b  # every deal is played from both seats
    assert 15 < a < 35
    assert 15 < common < 35
    assert "aces: games with the highest card; showdowns:" in " ".join(result.output.split())


def test_the_second_card_game_keeps_the_contract():
    check_game(HighCard())


async def test_statistics_that_do_not_fit_are_refused():
    class Short(HighCard):
        def statistics(self, position, player):
            return ()

    game = Short()
    players = [make_player("random", game) for _ in range(2)]
    with pytest.raises(GameError, match="0 pairs, expected one for each of its 2 STATISTICS"):
        await play_match(game, *players, MatchPlan(deals=2))


def at_the_terminal(game, seat="0"):
    arguments = ["random", "--game", game, "--seed", "1", "--seat", seat]
    result = CliRunner().invoke(play, arguments, input="help\n" + "1\n" * 50)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("seat", ["0", "1"])
def test_an_own_game_tells_what_was_seen_by_the_names_of_actions(seat):
    text = at_the_terminal(GAME, seat)
    assert re.search(r"chance: ([9TKA]|\?); chance: [9TKA?]", text)
    assert "\\x" not in text
    first, second = re.search(r"chance: (\S); chance: (\S)", text).groups()
    assert "?" in (first, second)
    theirs, ours = re.findall(r"chance: (\S); chance: (\S);", text.split("is over")[1])
    assert [*theirs, *ours].count("?") == 2  # each side's own card


def test_help_has_the_rules_of_the_game_that_is_played():
    assert "player 0 folds or bets" in at_the_terminal(GAME)
    assert "red 7" not in at_the_terminal("kuhn_poker")
    assert "one bet of one chip" in at_the_terminal("kuhn_poker")
    assert "two betting rounds" in at_the_terminal("leduc_poker")


def test_openspiel_games_show_no_keys():
    pytest.importorskip("pyspiel")
    text = at_the_terminal("openspiel:kuhn_poker")
    assert re.search(r"chance: \w+:\d; chance: \?", text)
    assert "Kuhn Poker: a game of OpenSpiel" in text


def test_what_people_type_for_lost_cities():
    state = load_game("lost_cities").new_state(3)
    for action in state.legal_actions():
        kind, color, _ = state.game.moves[action]
        assert state.action_to_short_string(action)[:3] == f"{kind[0]} {'rgwby'[color]}"
    assert state.action_to_short_string(state.game.num_actions - 1) == "deck"
