"""OpenSpiel: our poker is theirs, their games play here, and our policies play there."""

import numpy as np
import pytest

from asynccfr.errors import GameError
from asynccfr.exact.best_response import nash_conv, tabulate
from asynccfr.exact.policy import uniform
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.exact.tabular import solve
from asynccfr.games import load_game
from asynccfr.games.conformance import check_game

from .random_games import random_policy

pytest.importorskip("pyspiel")

LIARS_DICE = "openspiel:liars_dice(dice_sides=3)"
GOOFSPIEL = "openspiel:goofspiel(imp_info=True,num_cards=3,points_order=descending)"


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_our_poker_is_theirs(name):
    """Walk both trees together; the information states must correspond one to one."""
    theirs_of, ours_of = {}, {}

    def walk(ours, theirs):
        assert ours.current_player == theirs.current_player
        if ours.is_terminal:
            assert ours.returns() == theirs.returns()
            return
        if ours.is_chance:
            outcomes, expected = dict(ours.chance_outcomes()), dict(theirs.chance_outcomes())
            assert outcomes == pytest.approx(expected)
            moves = list(outcomes)
        else:
            moves = ours.legal_actions()
            assert moves == theirs.legal_actions()
            for player in (0, 1):
                key, name = (s.information_state_key(player) for s in (ours, theirs))
                assert theirs_of.setdefault((player, key), name) == name
                assert ours_of.setdefault((player, name), key) == key
        for move in moves:
            ours.apply(move)
            theirs.apply(move)
            walk(ours, theirs)
            ours.undo()
            theirs.undo()

    ours, theirs = load_game(name), load_game(f"openspiel:{name}")
    walk(ours.new_state(), theirs.new_state())
    assert (ours.min_utility, ours.max_utility) == (theirs.min_utility, theirs.max_utility)
    assert len(sequence_form(ours).keys) == len(sequence_form(theirs).keys)


TWINS = [
    "kuhn_poker",
    "openspiel:leduc_poker",
    LIARS_DICE,
    GOOFSPIEL,
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2, dice_sides=2)",
    "dark_hex(gameversion=adh, board_size=2)",
    "dark_hex(gameversion=adh, num_rows=2, num_cols=3)",
]


@pytest.mark.parametrize("name", TWINS)
def test_openspiel_finds_our_nash_conv(name):
    from open_spiel.python.algorithms import exploitability

    from asynccfr.exact.openspiel_policy import to_openspiel_policy

    game = load_game(name)
    policy = tabulate(game, random_policy(3))
    exported = to_openspiel_policy(game, policy)
    theirs = exploitability.nash_conv(exported.game, exported, return_only_nash_conv=False)
    ours = nash_conv(game, policy)
    assert ours.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)
    gains = np.subtract(ours.best_response_values, ours.values)
    np.testing.assert_allclose(gains, theirs.player_improvements, atol=1e-9)


@pytest.mark.parametrize("name", ["liars_dice(dice_sides=2)", "dark_hex(board_size=2)"])
def test_their_policies_play_here(name):
    from open_spiel.python import policy as openspiel

    from asynccfr.exact.openspiel_policy import from_openspiel_policy, to_openspiel_policy

    game = load_game(name)
    policy = tabulate(game, random_policy(3))
    back = from_openspiel_policy(game, to_openspiel_policy(game, policy))
    np.testing.assert_allclose(tabulate(game, back).probabilities, policy.probabilities)
    theirs = openspiel.UniformRandomPolicy(to_openspiel_policy(game, policy).game)
    ours = nash_conv(game, uniform)
    assert nash_conv(game, from_openspiel_policy(game, theirs)).nash_conv == pytest.approx(
        ours.nash_conv
    )


def test_values_of_their_games():
    for name, value in (("openspiel:leduc_poker", -0.085606), (LIARS_DICE, 1 / 9)):
        _, evaluation = solve(sequence_form(load_game(name)), 1e-3)
        assert evaluation.values[0] == pytest.approx(value, abs=1e-3)


def test_simultaneous_moves_are_hidden_from_each_other():
    state = load_game(GOOFSPIEL).new_state()
    keys = []
    for bid in state.legal_actions():
        state.apply(bid)
        keys.append(state.information_state_key(1))
        state.undo()
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    "name", ["openspiel:leduc_poker", LIARS_DICE, GOOFSPIEL, "openspiel:phantom_ttt"]
)
def test_their_games_keep_the_contract(name):
    game = load_game(name)
    check_game(game, playouts=3, hidden_information=game.new_state().is_chance)
    assert str(load_game(str(game))) == str(game) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leduk_poker", "OpenSpiel has no game 'leduk_poker'; did you mean 'leduc_poker'"),
        ("liars_dice(sides=5)", "Unknown parameter 'sides'"),
        ("kuhn_poker(players=3)", "3 players, expected two"),
        ("tiny_hanabi", "not zero-sum"),
        ("tic_tac_toe", "no information-state tensor"),
    ],
)
def test_games_that_do_not_fit(name, message):
    with pytest.raises(GameError, match=message):
        load_game(f"openspiel:{name}")


def test_policies_for_games_that_openspiel_lacks():
    from asynccfr.exact.openspiel_policy import to_openspiel_policy

    with pytest.raises(GameError, match=r"lost_cities.*OpenSpiel has no such game"):
        to_openspiel_policy(load_game("lost_cities"), uniform)
    with pytest.raises(GameError, match=r"phantom_ttt.*OpenSpiel has no such game"):
        to_openspiel_policy(load_game("phantom_ttt(num_rows=2)"), uniform)
    assert to_openspiel_policy(load_game("phantom_ttt"), uniform).game.num_distinct_actions() == 9


def test_a_policy_answers_for_the_player_to_move_only():
    from asynccfr.exact.openspiel_policy import to_openspiel_policy

    exported = to_openspiel_policy(load_game("kuhn_poker"), uniform)
    state = exported.game.new_initial_state()
    for card in (0, 1):
        state.apply_action(card)
    assert exported.action_probabilities(state, 0) == {0: 0.5, 1: 0.5}
    with pytest.raises(ValueError, match="player_id=1: expected 0"):
        exported.action_probabilities(state, 1)
