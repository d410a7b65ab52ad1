"""What traversals sample is unbiased: compared with exact expectations, at four standard errors."""

from collections import defaultdict

import numpy as np
import pytest

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import external_sampling, outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.games.kuhn import KuhnPoker
from asynccfr.games.leduc import LeducPoker
from asynccfr.inference.drivers import run_blocking
from asynccfr.seeding import stream

from .reference import RandomNetwork, blocking, expectations

TRAVERSALS = 20_000


def sampled(game, network, scheme, traverser, epsilon, traversals=TRAVERSALS):
    """Mean and standard error, per information state, of the sums that one traversal samples."""
    evaluate = blocking(network, game)
    sums = [defaultdict(lambda: np.zeros((2, game.num_actions))) for _ in range(2)]
    for index in range(traversals):
        rng = stream(7, (traverser, index))
        walk = Walk(game.new_state(), traverser, rng, Rule.REGRET_MATCHING_HIGHEST, epsilon, 1e9)
        run_blocking(scheme(walk, evaluate))
        for total, buffer in zip(sums, (walk.advantages, walk.strategies), strict=True):
            features, actions, values, weights = buffer.take()
            once = defaultdict(lambda: np.zeros(game.num_actions))
            for row, legal, value, weight in zip(features, actions, values, weights, strict=True):
                key = (row * np.float32(game.tensor_quantum)).astype(np.float32).tobytes()
                used = legal >= 0
                once[key][legal[used]] += weight * value[used]
            for key, vector in once.items():
                total[key] += np.stack([vector, vector**2])
    return [
        {
            key: (total[0] / traversals, np.sqrt(total[1]) / traversals)
            for key, total in part.items()
        }
        for part in sums
    ]


@pytest.mark.parametrize("game", [KuhnPoker(), LeducPoker()], ids=["kuhn", "leduc"])
@pytest.mark.parametrize(
    ("scheme", "epsilon"),
    [(external_sampling, 0.0), (outcome_sampling, 0.6)],
    ids=["external", "outcome"],
)
@pytest.mark.parametrize("traverser", [0, 1])
def test_sampled_regrets_and_policies_are_unbiased(game, scheme, epsilon, traverser):
    network = RandomNetwork(game)
    parts = sampled(game, network, scheme, traverser, epsilon)
    for name, found, exact in zip(
        ["regrets", "policies"], parts, expectations(game, network, traverser), strict=True
    ):
        assert set(found) <= set(exact)
        checked = 0
        for key, expected in exact.items():
            if key not in found:
                continue
            mean, error = found[key]
            tolerance = 4 * error + 1e-9
            assert (np.abs(mean - expected) <= tolerance).all(), (name, mean, expected, error)
            checked += 1
        assert checked > len(exact) // 2
