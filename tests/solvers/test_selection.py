"""Importance sampling of decisions: how likely, how many, and what a weighted sum of them is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from asynccfr.solvers.selection import LEAST, drawn, probabilities

SHARES = st.floats(0.01, 1)
NORMS = arrays(np.float32, st.integers(1, 200), elements=st.floats(0, 1e6, width=32))


@given(norms=NORMS, share=SHARES)
def test_probabilities_are_in_proportion_to_norms_between_bounds(norms, share):
    found = probabilities(norms, share)
    least = LEAST * share
    assert found.min() >= least
    assert found.max() <= 1
    assert found.mean() <= share * 1.001
    between = (found > least * 1.001) & (found < 0.999) & (norms > 0)
    if not np.isclose(found, share).all() and between.any():
        ratios = found[between] / norms[between]
        assert ratios == pytest.approx(np.full(len(ratios), ratios[0]), rel=1e-3)


@given(
    norms=arrays(np.float32, st.integers(1, 200), elements=st.floats(0.125, 8, width=32)),
    share=SHARES,
)
def test_probabilities_average_the_share_where_all_decisions_teach(norms, share):
    assert probabilities(norms, share).mean() == pytest.approx(share, rel=1e-3)


def test_where_few_decisions_teach_those_are_certain():
    found = probabilities(np.array([0.0] * 90 + [1.0] * 10), 0.5)
    assert found[90:] == pytest.approx(np.ones(10))
    assert found[:90] == pytest.approx(np.full(90, LEAST * 0.5))


@pytest.mark.parametrize("norm", [0, 1])
def test_equal_norms_make_even_chances(norm):
    assert probabilities(np.full(6, norm), 0.3) == pytest.approx(np.full(6, 0.3))


def test_no_decisions():
    assert len(drawn(probabilities(np.empty(0), 0.5), np.random.default_rng(0))) == 0


def test_a_share_of_1_draws_each_once():
    rng = np.random.default_rng(0)
    rows = drawn(probabilities(rng.random(50), 1.0), rng)
    assert sorted(rows) == list(range(50))
    assert rows.tolist() != list(range(50))


def test_neighbours_are_drawn_independently_of_their_places():
    """Decisions alternate between seats: every other one would be one seat's alone."""
    rows = drawn(np.full(1000, 0.5), np.random.default_rng(0))
    assert 0.4 < (rows % 2).mean() < 0.6


@given(norms=NORMS, share=SHARES, seed=st.integers(0, 1000))
def test_the_number_drawn_is_the_sum_of_the_probabilities_up_to_one(norms, share, seed):
    found = probabilities(norms, share)
    rows = drawn(found, np.random.default_rng(seed))
    assert abs(len(rows) - found.sum()) < 1 + 1e-6
    assert len(set(rows.tolist())) == len(rows)


def test_weighted_sums_are_right_on_average():
    rng = np.random.default_rng(0)
    norms = rng.lognormal(sigma=2, size=300)
    gradients = norms * rng.choice([-1, 1], size=300)
    found = probabilities(norms, 0.3)
    sums = [(gradients / found)[drawn(found, rng)].sum() for _ in range(4000)]
    error = np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - gradients.sum()) < 4 * error


def test_the_noise_is_less_than_that_of_even_probabilities():
    rng = np.random.default_rng(0)
    norms = rng.lognormal(sigma=2, size=300)
    gradients = norms * rng.choice([-1, 1], size=300)

    def deviation(odds):
        return np.std([(gradients / odds)[drawn(odds, rng)].sum() for _ in range(1000)])

    assert deviation(probabilities(norms, 0.3)) < deviation(np.full(300, 0.3)) / 3
