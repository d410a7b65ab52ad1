"""NashConv, best responses and counterfactual regrets against their definitions by brute force."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from asynccfr.exact.best_response import best_response, counterfactual_regrets, nash_conv, tabulate
from asynccfr.exact.policy import uniform
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import load_game

from . import brute_force
from .random_games import RandomGame, random_policy

random_games = st.builds(RandomGame, st.integers(0, 10**6), st.integers(2, 5))


def profile_of(game, policy):
    return brute_force.Profile(sequence_form(game), tabulate(game, policy).probabilities)


def best_by_brute_force(game, policy, most=64):
    profile = profile_of(game, policy)
    return [brute_force.best_response_value(game, profile, player, most) for player in (0, 1)]


def check_values(game, policy, best):
    """`best`: the players' best-response values by brute force."""
    profile = profile_of(game, policy)
    evaluation = nash_conv(game, policy)
    assert evaluation.best_response_values == pytest.approx(best, abs=1e-12)
    values = [brute_force.value(game.new_state(), profile, player) for player in (0, 1)]
    assert evaluation.values == pytest.approx(values, abs=1e-12)
    assert evaluation.nash_conv == pytest.approx(sum(best), abs=1e-12)
    assert evaluation.exploitability == pytest.approx(sum(best) / 2, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_kuhn_by_brute_force(seed):
    game, policy = load_game("kuhn_poker"), random_policy(seed)
    check_values(game, policy, best_by_brute_force(game, policy))


@settings(max_examples=60, deadline=None)
@given(game=random_games, seed=st.integers(0, 100))
def test_random_games_by_brute_force(game, seed):
    best = best_by_brute_force(game, random_policy(seed), most=300)
    assume(None not in best)
    check_values(game, random_policy(seed), best)


@settings(max_examples=40, deadline=None)
@given(game=random_games, seed=st.integers(0, 100))
@example(game=load_game("kuhn_poker"), seed=0)
@example(game=load_game("lost_cities(colors=2, numbers=2, wagers=0, hand_size=1, cost=2)"), seed=1)
def test_counterfactual_regrets_by_definition(game, seed):
    tree = sequence_form(game)
    regrets = counterfactual_regrets(tree, random_policy(seed))
    expected = brute_force.counterfactual_regrets(game, profile_of(game, random_policy(seed)))
    for i, key in enumerate(tree.keys):
        np.testing.assert_allclose(regrets[i], expected[tree.players[i], key], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(game=random_games, seed=st.integers(0, 100))
def test_a_best_response_gets_its_value(game, seed):
    policy = random_policy(seed)
    mixed, best = (tabulate(game, p) for p in (policy, best_response(sequence_form(game), policy)))
    for player in (0, 1):

        def against(states, player=player):
            return np.where(states.players[:, None] == player, best(states), mixed(states))

        assert nash_conv(game, against).values[player] == pytest.approx(
            nash_conv(game, policy).best_response_values[player], abs=1e-12
        )


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("kuhn_poker", 0.125, 11 / 12), ("leduc_poker", -0.078125, 4.747222222222222)],
)
def test_uniform_play(name, value, expected):
    evaluation = nash_conv(load_game(name), uniform)
    assert evaluation.values == pytest.approx((value, -value), abs=1e-12)
    assert evaluation.nash_conv == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_the_equilibria_of_kuhn(alpha):
    """Player 0's equilibria are a line: bluff J with alpha, bet K with 3 alpha (Kuhn 1950)."""
    bets = {  # by player, card and moves so far
        (0, 0, ""): alpha, (0, 1, ""): 0.0, (0, 2, ""): 3 * alpha,
        (0, 0, "pb"): 0.0, (0, 1, "pb"): alpha + 1 / 3, (0, 2, "pb"): 1.0,
        (1, 0, "p"): 1 / 3, (1, 1, "p"): 0.0, (1, 2, "p"): 1.0,
        (1, 0, "b"): 0.0, (1, 1, "b"): 1 / 3, (1, 2, "b"): 1.0,
    }  # fmt: skip
    game = load_game("kuhn_poker")
    tree = sequence_form(game)

    def policy(states):
        rows = []
        for i in range(len(states)):
            player = int(states.players[i])
            seen = states.keys[i][1:]
            moves = "".join("pb"[move] for move in seen[2:])
            bet = bets[player, seen[player], moves]
            rows.append([1 - bet, bet])
        return np.array(rows)

    evaluation = nash_conv(game, policy)
    assert evaluation.nash_conv == pytest.approx(0.0, abs=1e-12)
    assert evaluation.value_bounds == pytest.approx((-1 / 18, -1 / 18), abs=1e-12)
    assert counterfactual_regrets(tree, policy).max() <= 1e-12
