"""Sampled regrets of a fixed profile are the exact counterfactual regrets, on average.

The benchmark does the same with millions of samples.
"""

import asyncio

import numpy as np
import pytest
import torch

from asynccfr.agents.profiles import NetworkProfile
from asynccfr.exact.best_response import counterfactual_regrets
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import load_game
from benchmarks.unbiasedness import (
    GAMES,
    RULE,
    SCHEMES,
    Contributions,
    Sampler,
    check,
    fresh_baseline,
    uneven_network,
)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("game", GAMES, ids=["kuhn", "leduc", "lost_cities"])
def test_within_four_standard_errors(game, scheme):
    found = asyncio.run(check(game, scheme, regrets=25_000, rounds=1))
    assert found.alone + found.jointly >= 6
    assert found.largest_z <= found.limit == 4
    assert found.rms_z <= 1.5


@pytest.mark.parametrize("text", GAMES[:2])
async def test_any_baseline_will_do(text):
    """A baseline that is plain wrong adds noise, but no bias."""
    game = load_game(text)
    tree = sequence_form(game)
    networks = [uneven_network(game, seed) for seed in (1, 2)]
    exact = counterfactual_regrets(tree, NetworkProfile(networks, RULE))
    wrong = fresh_baseline(game)
    with torch.no_grad():
        wrong.weights[-1].normal_(generator=torch.Generator().manual_seed(0))
        wrong.biases[-1].fill_(3.0)
    for player in (0, 1):
        found = Contributions(tree, player)
        await Sampler(game, networks, SCHEMES[2], player, wrong).run(4000, 0, found.add)
        found.flush()
        assert found.judge(exact).largest <= 4


@pytest.mark.parametrize(
    ("scheme", "share", "count"), [("external", 0.2, 8000), ("outcome", 0.6, 20_000)]
)
async def test_some_wrong_traversals_are_noticed(scheme, share, count):
    """Against an opponent's network that is not the profile's."""
    game = load_game("kuhn_poker")
    tree = sequence_form(game)
    networks = [uneven_network(game, seed) for seed in (1, 2)]
    others = [networks[0], uneven_network(game, 3)]
    exact = counterfactual_regrets(tree, NetworkProfile(networks, RULE))
    right, mixed = (Contributions(tree, 0) for _ in range(2))
    for first in range(0, count, 1000):
        wrong = round(1000 * share)
        await Sampler(game, others, scheme, 0).run(wrong, first, mixed.add)
        await Sampler(game, networks, scheme, 0).run(1000 - wrong, first + wrong, mixed.add)
    await Sampler(game, networks, scheme, 0).run(count, 0, right.add)
    for contributions in (right, mixed):
        contributions.flush()
    assert right.judge(exact).largest <= right.judge(exact).limit
    assert mixed.judge(exact).largest > mixed.judge(exact).limit


async def test_rarely_met_information_states_are_judged_together():
    """Where the small regrets are off by half, or shifted, and the others right."""
    game = load_game(GAMES[2])
    tree = sequence_form(game)
    networks = [uneven_network(game, seed) for seed in (1, 2)]
    exact = counterfactual_regrets(tree, NetworkProfile(networks, RULE))
    found = Contributions(tree, 0)
    await Sampler(game, networks, SCHEMES[0], 0).run(8000, 0, found.add)
    found.flush()
    right = found.judge(exact)
    assert right.largest <= right.limit
    assert right.jointly > 500
    for wrong in (1.5 * exact, exact + 0.01 * tree.information_states.legal):
        judged = found.judge(np.where(np.abs(exact) < 0.02, wrong, exact))
        assert judged.pools.max() > judged.limit


async def test_with_a_few_samples_nothing_passes():
    game = load_game("kuhn_poker")
    tree = sequence_form(game)
    networks = [uneven_network(game, seed) for seed in (1, 2)]
    found = Contributions(tree, 0)
    await Sampler(game, networks, SCHEMES[0], 0).run(50, 0, found.add)
    found.flush()
    judged = found.judge(counterfactual_regrets(tree, NetworkProfile(networks, RULE)))
    assert judged.largest > judged.limit


@pytest.mark.parametrize(("text", "less"), [(GAMES[0], 2.0), (GAMES[1], 1.25)])
def test_a_fitted_baseline_takes_noise_away(text, less):
    plain, corrected = (
        asyncio.run(check(text, scheme, regrets=20_000, rounds=2)) for scheme in SCHEMES[1:]
    )
    assert corrected.variance * less < plain.variance


async def test_a_baseline_is_asked_about_both_players_information_states():
    """The rows are the mover's information state, then the other player's."""
    game = load_game("kuhn_poker")
    seen = []

    class Recording:
        def __call__(self, rows):
            seen.append(rows.numpy().copy())
            return torch.zeros(len(rows), game.num_actions)

    from asynccfr.cfr.baseline import BaselineWalk
    from asynccfr.cfr.traversal import outcome_sampling_with_baseline
    from asynccfr.inference.baseline import BaselineEvaluator
    from asynccfr.inference.drivers import run_blocking
    from asynccfr.seeding import Rng

    class Blocking:
        def __init__(self, evaluator):
            self.evaluator = evaluator

        def __call__(self, walk):
            if not walk.is_over:
                expected.append(
                    np.concatenate(
                        [
                            walk.state.information_state_tensor(player)
                            for player in (walk.player, 1 - walk.player)
                        ]
                    )
                )
            self.evaluator([walk])
            return self

        def __await__(self):
            return iter(())

    expected = []
    evaluator = BaselineEvaluator(
        [lambda rows: torch.zeros(len(rows), game.num_actions)] * 2,
        Recording(),
        game,
        device=torch.device("cpu"),
        max_batch=4,
    )
    walk = BaselineWalk(game.new_state(), 0, Rng(3), RULE, 0.5)
    run_blocking(outcome_sampling_with_baseline(walk, Blocking(evaluator)))
    np.testing.assert_array_equal(np.concatenate(seen)[: len(expected)], expected)
