"""Sample buffers: what goes in comes out, in order, in the reservoir's layout."""

import numpy as np
import pytest

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.traversal import outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.games import load_game
from asynccfr.inference.drivers import run_blocking
from asynccfr.seeding import stream

from .reference import RandomNetwork, blocking

GAME = load_game("lost_cities(colors=2, numbers=3, wagers=1, hand_size=2)")


def finished_walk(index, reuse=None):
    walk = Walk(GAME.new_state(), 0, stream(3, (index,)), Rule.SOFTMAX, 0.5, 1e9, reuse)
    run_blocking(outcome_sampling(walk, blocking(RandomNetwork(GAME), GAME)))
    return walk


def test_extending_keeps_order_and_taking_empties():
    parts = [finished_walk(index).advantages for index in range(3)]
    together = SampleBuffer(GAME)
    for part in parts:
        together.extend(part)
    assert len(together) == sum(map(len, parts))
    whole = together.take()
    assert len(together) == 0
    for column, pieces in zip(
        whole, zip(*(part.take() for part in parts), strict=True), strict=True
    ):
        assert (column == np.concatenate(pieces)).all()


def test_the_layout_is_the_reservoirs():
    features, actions, values, weights = finished_walk(0).advantages.take()
    n = len(weights)
    assert features.shape == (n, GAME.information_state_tensor_size)
    assert actions.shape == values.shape == (n, GAME.max_legal_actions)
    assert (features.dtype, actions.dtype) == (np.uint8, np.int16)
    assert (values[actions < 0] == 0).all()
    assert ((actions >= 0).sum(axis=1) > 1).all()
    assert weights[0] == 1
    assert (np.diff(weights) >= 0).all()


def test_a_reused_walk_starts_empty():
    first, alone = finished_walk(0), finished_walk(1)
    again = finished_walk(1, reuse=first)
    for found, expected in zip(again.strategies.take(), alone.strategies.take(), strict=True):
        assert (found == expected).all()


def test_the_digest_depends_on_every_sample_and_their_order():
    a, b = finished_walk(0).advantages, finished_walk(1).advantages
    assert a.digest() == finished_walk(0).advantages.digest()
    assert len({a.digest(), b.digest(), a.digest(b.digest()), b.digest(a.digest()), 0}) == 5


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_exploration_never_leaks_into_the_strategy(epsilon):
    """Strategy samples hold the network's policy, whatever the traverser explores."""
    network = RandomNetwork(GAME)
    for index in range(20):
        walk = Walk(GAME.new_state(), 0, stream(4, (index,)), Rule.SOFTMAX, epsilon, 1e9)
        run_blocking(outcome_sampling(walk, blocking(network, GAME)))
        features, actions, values, _ = walk.strategies.take()
        rows = features * np.float32(GAME.tensor_quantum)
        logits = np.take_along_axis(network(rows), np.maximum(actions, 0).astype(int), axis=1)
        logits[actions < 0] = -np.inf
        expected = np.exp(logits - logits.max(axis=1, keepdims=True))
        assert values == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=1e-5)


def test_advancing_without_an_encoded_answer_stays_within_memory():
    """Nobody encoded these decisions, so their features are arbitrary; nothing else may be."""
    for index in range(200):
        walk = Walk(GAME.new_state(), 0, stream(5, (index,)), Rule.REGRET_MATCHING_UNIFORM, 0.5)
        while walk.advance():
            pass
        walk.back_up()
        assert len(walk.advantages) + len(walk.strategies) == walk.nodes
