import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.errors import GameError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.games import load_game
from asynccfr.games.lost_cities_view import Card
from asynccfr.players import make_player, players_for
from asynccfr.seeding import Rng

RED, GREEN, WHITE, BLUE, YELLOW = range(5)
WAGER = 0
GAME = load_game("lost_cities")
RULE_BOTS = ("threshold", "cautious", "bold")


def hand(**cards):
    """`hand(red=[0, 2], blue=[9])`: a wager and the 2 in red, the 9 in blue."""
    names = ("red", "green", "white", "blue", "yellow")
    return tuple(sorted(Card(names.index(name), rank) for name in cards for rank in cards[name]))


def columns(**ranks):
    names = ("red", "green", "white", "blue", "yellow")
    return tuple(tuple(ranks.get(name, ())) for name in names)


def view(phase="card", deck_size=40, **fields):
    """What player 0 knows at an empty table, but for the given fields."""
    return GAME.new_state(1).view(0)._replace(phase=phase, deck_size=deck_size, **fields)


def chosen(name, view):
    bot = make_player(name, GAME)
    return str(bot.lay_down(view) if view.phase == "card" else bot.draw(view))


parameters = st.fixed_dictionaries(
    {
        "colors": st.integers(1, 6),
        "numbers": st.integers(2, 9),
        "wagers": st.integers(0, 3),
        "hand_size": st.integers(1, 9),
        "cost": st.sampled_from([0, 1, 5, 20, 60]),
        "multiplier": st.integers(0, 2),
        "bonus_threshold": st.integers(1, 9),
        "bonus": st.sampled_from([0, 20]),
        "max_pile_draws": st.sampled_from([0, 3, 44]),
    }
)


@pytest.mark.parametrize("name", players_for(GAME))
@settings(max_examples=40, deadline=None)
@given(parameters=parameters, seed=st.integers(0, 2**32))
def test_bots_finish_a_game_of_any_parameters(name, parameters, seed):
    text = ", ".join(f"{key}={value}" for key, value in parameters.items())
    try:
        game = load_game(f"lost_cities({text})")
    except GameError:
        return
    players = make_player(name, game), make_player("random", game)
    state = game.new_state(seed)
    while not state.is_terminal:
        state.apply(players[state.current_player].act(state, Rng(seed)))


@pytest.mark.parametrize(
    "spec",
    [
        "lost_cities",
        "lost_cities(colors=6)",
        "lost_cities(colors=3, numbers=7, wagers=1, hand_size=5, cost=10)",
        "lost_cities(colors=3, numbers=5, wagers=1, hand_size=3, cost=8)",
    ],
)
@pytest.mark.parametrize("name", RULE_BOTS)
def test_rule_bots_clearly_beat_random_and_discard_only(name, spec):
    game = load_game(spec)
    for opponent in ("random", "discard_only"):
        players = make_player(name, game), make_player(opponent, game)
        report = asyncio.run(play_match(game, *players, MatchPlan(deals=40)))
        assert report.score_low > 0, report


def test_the_styles_are_what_they_are_called():
    players = make_player("cautious", GAME), make_player("bold", GAME)
    report = asyncio.run(play_match(GAME, *players, MatchPlan(deals=40)))
    opened, points = report.statistic("opened"), report.statistic("points each")
    assert opened.a < 4 < opened.b
    assert points.a > points.b


def test_discard_only_plays_nothing_and_draws_from_the_deck():
    bot = make_player("discard_only", GAME)
    for seed in range(5):
        state = GAME.new_state(seed)
        while not state.is_terminal:
            move = GAME.moves[bot.act(state, Rng(0))]
            assert move.kind in ("discard", "draw deck")
            state.apply(GAME.moves.index(move))


def test_discard_only_gives_away_what_the_opponent_can_use_least():
    table = view(
        hand=hand(red=[9], green=[2, 10], blue=[WAGER]),
        opponent_expeditions=columns(red=[3], green=[5], blue=[]),
    )
    assert chosen("discard_only", table) == "discard green 2"


@pytest.mark.parametrize(
    ("numbers", "deck_size", "starts"),
    [([2, 3, 6, 7], 40, True), ([2, 3, 5, 7], 40, False), ([2, 3, 6, 7], 10, False)],
)
def test_threshold_starts_a_colour_at_18_early(numbers, deck_size, starts):
    table = view(hand=hand(red=numbers, green=[2, 5], blue=[2, 5]), deck_size=deck_size)
    assert (chosen("threshold", table) == "play red 2") == starts


@pytest.mark.parametrize(("numbers", "starts"), [([2, 5, 8, 9], True), ([2, 5, 7, 9], False)])
def test_threshold_starts_a_colour_at_24_late(numbers, starts):
    table = view(hand=hand(red=numbers, green=[2, 5], blue=[2, 5]), deck_size=20)
    assert (chosen("threshold", table) == "play red 2") == starts


@pytest.mark.parametrize("name", RULE_BOTS)
def test_a_strong_hand_wagers_first(name):
    table = view(hand=hand(red=[WAGER, 4, 6, 7, 8, 9], blue=[2, 3]))
    assert chosen(name, table) == "play red wager"


def test_threshold_waits_when_the_gap_is_large_and_something_is_useless():
    table = view(
        hand=hand(red=[9, 10], green=[2]),
        own_expeditions=columns(red=[2], green=[3]),
        opponent_expeditions=columns(green=[8]),
    )
    assert chosen("threshold", table) == "discard green 2"
    passed = table._replace(piles=columns(red=[3, 4, 5, 6, 7, 8]))
    assert chosen("threshold", passed) == "play red 9"


@pytest.mark.parametrize("name", RULE_BOTS)
def test_the_lowest_card_that_fits_is_played(name):
    table = view(
        hand=hand(red=[4, 6, 9], green=[WAGER], blue=[5, 10]), own_expeditions=columns(red=[3])
    )
    assert chosen(name, table) == "play red 4"


@pytest.mark.parametrize("name", ["cautious", "threshold"])
def test_the_opponent_is_not_fed(name):
    table = view(
        hand=hand(green=[7, 8], blue=[3, 4]),
        opponent_expeditions=columns(green=[WAGER, WAGER, 2], blue=[10]),
    )
    assert chosen(name, table) == "discard blue 3"


@pytest.mark.parametrize("name", RULE_BOTS)
def test_with_few_turns_left_only_the_best_cards_are_played(name):
    table = view(hand=hand(red=[5, 6, 8, 10]), own_expeditions=columns(red=[2, 3, 4]), deck_size=4)
    assert chosen(name, table) == "play red 8"


@pytest.mark.parametrize("name", RULE_BOTS)
def test_a_useful_pile_is_drawn_from_and_others_are_not(name):
    table = view(
        phase="draw",
        hand=hand(red=[9], blue=[2, 3]),
        own_expeditions=columns(red=[2, 3, 4, 6]),
        piles=columns(red=[8], blue=[WAGER]),
    )
    assert chosen(name, table) == "draw red pile"
    assert chosen(name, table._replace(piles=columns(red=[8, 5]))) == "draw deck"
    assert chosen(name, table._replace(forbidden=RED)) == "draw deck"
    assert chosen(name, table._replace(pile_draws_left=0)) == "draw deck"
