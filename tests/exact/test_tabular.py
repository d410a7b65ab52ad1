"""Tabular CFR: known values, and every weighting step by step against a plain recursion."""

import numpy as np
import pytest

from asynccfr.exact.best_response import evaluate
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.exact.tabular import (
    CFR,
    CFR_PLUS,
    DISCOUNTED_CFR,
    LINEAR_CFR,
    TabularCFR,
    Weighting,
    solve,
)
from asynccfr.games import load_game

from . import brute_force
from .random_games import RandomGame


@pytest.mark.parametrize(
    ("name", "value", "target"), [("kuhn_poker", -1 / 18, 1e-4), ("leduc_poker", -0.085606, 1e-4)]
)
def test_values(name, value, target):
    _, evaluation = solve(sequence_form(load_game(name)), target)
    assert evaluation.nash_conv <= target
    low, high = evaluation.value_bounds
    assert low - 1e-6 <= value <= high + 1e-6
    assert evaluation.values[0] == pytest.approx(value, abs=target)


@pytest.mark.parametrize(
    ("weighting", "reached"),
    [(CFR, 0.08), (CFR_PLUS, 0.006), (LINEAR_CFR, 0.05), (DISCOUNTED_CFR, 0.004)],
)
def test_every_variant_converges_on_leduc(weighting, reached):
    solver = TabularCFR(sequence_form(load_game("leduc_poker")), weighting)
    solver.run(300)
    assert 0.0 < evaluate(solver.tree, solver.average_strategy()).nash_conv < reached


@pytest.mark.parametrize(
    "weighting",
    [CFR, CFR_PLUS, LINEAR_CFR, DISCOUNTED_CFR, Weighting(alpha=0.5, beta=-1, gamma=3)],
)
@pytest.mark.parametrize("game", [load_game("kuhn_poker"), RandomGame(11, 6)], ids=str)
def test_iterations_by_plain_recursion(game, weighting):
    tree = sequence_form(game)
    solver = TabularCFR(tree, weighting)
    solver.run(6)
    expected = brute_force.tabular_cfr(game, weighting, 6)
    table = tree.table(solver.average_strategy())
    for i, key in enumerate(tree.keys):
        for action, probability in expected[tree.players[i], key].items():
            assert table[i, action] == pytest.approx(probability, abs=1e-12)


def test_cfr_plus_keeps_no_negative_regret():
    solver = TabularCFR(sequence_form(load_game("leduc_poker")), CFR_PLUS)
    solver.run(5)
    assert solver.regrets.min() == 0.0


def test_solve_stops_at_its_limit():
    solver, evaluation = solve(sequence_form(load_game("leduc_poker")), 1e-9, max_iterations=37)
    assert solver.iteration == 37
    assert evaluation.nash_conv > 1e-9


def test_policies_are_the_strategies():
    solver = TabularCFR(sequence_form(load_game("kuhn_poker")))
    solver.run(10)
    tree = solver.tree
    np.testing.assert_allclose(tree.strategy(solver.average_policy()), solver.average_strategy())
    np.testing.assert_allclose(tree.strategy(solver.current_policy()), solver.strategy)
