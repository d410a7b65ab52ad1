"""What traversals sample is unbiased: compared with exact expectations, at four standard errors."""

import numpy as np
import pytest

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.traversal import external_sampling, outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.games import TERMINAL, PythonGame
from asynccfr.games.kuhn import KuhnPoker
from asynccfr.games.leduc import LeducPoker
from asynccfr.inference.drivers import run_blocking
from asynccfr.seeding import stream

from .reference import RandomNetwork, blocking, expectations

TRAVERSALS = 20_000
ENOUGH_VISITS = 200


def sampled(game, network, scheme, traverser, epsilon):
    """Per information state, the mean of what a traversal samples, its standard error, visits."""
    evaluate = blocking(network, game)
    buffers = SampleBuffer(game), SampleBuffer(game)
    counts = [], []
    for index in range(TRAVERSALS):
        rng = stream(7, (traverser, index))
        walk = Walk(game.new_state(), traverser, rng, Rule.REGRET_MATCHING_HIGHEST, epsilon, 1e9)
        run_blocking(scheme(walk, evaluate))
        for buffer, count, part in zip(
            buffers, counts, (walk.advantages, walk.strategies), strict=True
        ):
            buffer.extend(part)
            count.append(len(part))
    return [
        moments(game, buffer.take(), np.repeat(np.arange(TRAVERSALS), count))
        for buffer, count in zip(buffers, counts, strict=True)
    ]


def moments(game, columns, traversal):
    features, actions, values, weights = columns
    dense = np.zeros((len(weights), game.num_actions + 1))
    np.put_along_axis(dense, actions.astype(int), values * weights[:, None], axis=1)
    rows, which = np.unique(features, axis=0, return_inverse=True)
    pairs, pair_of = np.unique(which * TRAVERSALS + traversal, return_inverse=True)
    sums = np.zeros((len(pairs), game.num_actions))
    np.add.at(sums, pair_of, dense[:, :-1])
    result = {}
    for i, row in enumerate(rows):
        once = sums[pairs // TRAVERSALS == i]
        key = (row * np.float32(game.tensor_quantum)).astype(np.float32).tobytes()
        error = np.sqrt((once**2).sum(axis=0)) / TRAVERSALS
        result[key] = once.sum(axis=0) / TRAVERSALS, error, len(once)
    return result


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
        often = {key: part for key, part in found.items() if part[2] >= ENOUGH_VISITS}
        assert len(often) >= 5
        for key, (mean, error, _) in often.items():
            assert (np.abs(mean - exact[key]) <= 4 * error + 1e-9).all(), (name, mean, exact[key])


class Long(PythonGame):
    """So many binary moves, by turns, that the probability of a history is no number any more."""

    MOVES = 2500

    def __init__(self):
        super().__init__(
            name="long",
            num_actions=2,
            information_state_tensor_size=1,
            min_utility=-1.0,
            max_utility=1.0,
        )

    def start(self):
        return 0

    def player(self, position):
        return TERMINAL if position == self.MOVES else position % 2

    def legal_actions(self, position):
        return (0, 1)

    def next(self, position, action):
        return position + 1

    def returns(self, position):
        return (1.0, -1.0)

    def key(self, position, player):
        return str(position)

    def tensor(self, position, player):
        return [position / self.MOVES]


@pytest.mark.parametrize("cap", [1.0, 1e6, 1e30])
def test_a_history_too_unlikely_for_a_number_counts_as_the_cap(cap):
    game = Long()
    walk = Walk(game.new_state(), 0, stream(0), Rule.REGRET_MATCHING_UNIFORM, 0.5, cap)
    run_blocking(outcome_sampling(walk, blocking(RandomNetwork(game), game)))
    for samples in (walk.advantages, walk.strategies):
        *_, weights = samples.take()
        assert len(weights) == Long.MOVES // 2
        assert weights.max() == np.float32(cap)
        assert 1.0 <= weights.min() <= 2.0
