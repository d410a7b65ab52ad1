"""Merged samples: the loss of the samples they stand for, up to a constant, without noise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.config import Fit, MultilayerPerceptron
from asynccfr.learning.fitting import fit_advantage
from asynccfr.learning.merge import merge
from asynccfr.learning.merged import MergedSamples
from asynccfr.learning.reservoir import Reservoir, Samples
from asynccfr.networks import build_network
from asynccfr.seeding import Rng


def reservoir(states, n, seed=0, capacity=100_000):
    """Samples of `states` information states: one-hot rows, two or three legal actions."""
    rng = np.random.default_rng(seed)
    held = Reservoir(capacity, tensor_size=states, max_legal_actions=3, tensor_quantum=1.0)
    for iteration in (1, 2, 3):
        state = rng.integers(states, size=n)
        actions = np.stack([0 * state, 0 * state + 1, np.where(state % 2, 2, -1)], axis=1)
        values = np.where(actions >= 0, rng.normal(state[:, None], 1, actions.shape), 0)
        block = Samples(
            np.eye(states, dtype=np.uint8)[state],
            actions.astype(np.int16),
            values.astype(np.float32),
            rng.exponential(size=n).astype(np.float32),
        )
        held.extend(block, iteration, rng)
    return held


def linear_weights(held):
    columns = held.columns()
    return np.multiply(columns["weights"], columns["iterations"], dtype=np.float64)


@given(st.integers(1, 300), st.integers(1, 20), st.integers(0, 5), st.booleans())
def test_merging_by_definition(n, kinds, seed, floats):
    rng = np.random.default_rng(seed)
    features = rng.integers(kinds, size=(n, 1)).astype(np.float32 if floats else np.uint8)
    actions = rng.integers(2, size=(n, 2)).astype(np.int16)
    values = rng.normal(size=(n, 2)).astype(np.float32)
    weights = rng.exponential(size=n)
    first, totals, means = merge(features, actions, values, weights)
    keys = np.concatenate([features.astype(int), actions], axis=1)
    expected = list(dict.fromkeys(map(tuple, keys.tolist())))
    assert [tuple(key) for key in keys[first].tolist()] == expected
    for key, total, mean in zip(expected, totals, means, strict=True):
        mine = (keys == key).all(axis=1)
        assert total == pytest.approx(weights[mine].sum())
        assert mean == pytest.approx(np.average(values[mine], axis=0, weights=weights[mine]))


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="5 rows"):
        merge(
            np.zeros((5, 2), np.uint8),
            np.zeros((4, 3), np.int16),
            np.zeros((5, 3), np.float32),
            np.ones(5),
        )


def test_the_gradient_is_that_of_all_the_samples():
    held = reservoir(states=12, n=2000)
    weights, columns = linear_weights(held), held.columns()
    merged = MergedSamples.of(held, weights)
    network = build_network(MultilayerPerceptron(width=16, depth=1), 12, 3, Rng(0))
    with torch.no_grad():
        network.weights[-1].normal_(generator=torch.Generator().manual_seed(0))

    def gradient(features, actions, values, weights):
        rows = torch.from_numpy(features.astype(np.float32))
        legal = torch.from_numpy(actions >= 0)
        outputs = network(rows).gather(1, torch.from_numpy(actions.clip(0).astype(np.int64)))
        errors = ((outputs - torch.from_numpy(values)).square() * legal).sum(dim=1)
        loss = (errors.double() * torch.from_numpy(weights)).sum()
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, network.parameters())])

    names = ("features", "actions", "values")
    one = gradient(*(columns[name] for name in names), weights)
    other = gradient(*(merged.columns[name] for name in names), merged.weights)
    assert torch.allclose(one, other, rtol=1e-4, atol=1e-4 * one.abs().max())


def test_large_reservoirs_are_judged_by_a_part_of_them():
    held = reservoir(states=12, n=9000)
    merged = MergedSamples.of(held, linear_weights(held))
    assert len(merged.weights) == 12
    assert merged.weights.sum() == pytest.approx(linear_weights(held).sum())


def test_a_batch_is_everything_or_drawn_by_weight():
    held = reservoir(states=12, n=2000)
    merged = MergedSamples.of(held, linear_weights(held))
    rng = np.random.default_rng(0)
    everything = merged.batch(rng, 64)
    assert len(everything.weights) == 12
    assert everything.weights.sum() == pytest.approx(merged.weights.sum(), rel=1e-5)
    assert merged.batch(rng, 64) is everything
    drawn = [merged.batch(rng, 10).features.argmax(dim=1) for _ in range(3000)]
    found = np.bincount(torch.cat(drawn).numpy(), minlength=12)
    states = merged.columns["features"].argmax(axis=1)
    expected = np.zeros(12)
    expected[states] = 30_000 * merged.weights / merged.weights.sum()
    assert ((found - expected) ** 2 / expected).sum() < 31.3  # p = 0.001, 11 degrees of freedom
    assert (merged.batch(rng, 10).iterations == 1).all()


def test_samples_that_hardly_repeat_stay_as_they_are():
    held = reservoir(states=20_000, n=400)
    assert MergedSamples.of(held, linear_weights(held)) is None


def test_a_fit_to_means_lands_where_the_means_are():
    held = reservoir(states=10, n=3000)
    columns, weights = held.columns(), linear_weights(held)
    network = build_network(MultilayerPerceptron(width=32, depth=1), 10, 3, Rng(0))
    report = fit_advantage(
        network, held, Fit(steps=400, batch=64, learning_rate=0.01, max_gradient_norm=10), Rng(1)
    )
    assert report.samples == 9000
    found = network(torch.eye(10)).detach().numpy() * float(network.scale)
    states = columns["features"].argmax(axis=1)
    for state in range(10):
        mine = states == state
        expected = np.average(columns["values"][mine, :2], axis=0, weights=weights[mine])
        assert found[state, :2] == pytest.approx(expected, abs=0.15)
