import numpy as np
import pytest

from asynccfr.evaluation.intervals import mean_interval, share_interval, t_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423), (1000, 1.9623), (10**6, 1.9600)],
)
def test_t_quantile_is_students(freedom, expected):
    assert t_quantile(freedom) == pytest.approx(expected, abs=3e-4)


def test_mean_interval_of_a_textbook_sample():
    assert mean_interval(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(
        (2.5, 2.5 - 2.0540, 2.5 + 2.0540), abs=1e-3
    )


@pytest.mark.parametrize("deals", [5, 40])
def test_mean_interval_covers_the_truth_95_times_in_100(deals):
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        _, low, high = mean_interval(rng.normal(7.0, 4.0, size=deals))
        covered += low <= 7.0 <= high
    assert 0.935 <= covered / 2000 <= 0.965


@pytest.mark.parametrize("win_rate", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("dependence", [0.0, 0.6, 1.0])
def test_share_interval_covers_the_truth_with_dependent_pairs(win_rate, dependence):
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(1000):
        first, second = rng.random((2, 100)) < win_rate
        second = np.where(rng.random(100) < dependence, first, second)
        _, low, high = share_interval((first.astype(float) + second) / 2)
        covered += low <= win_rate <= high
    assert 0.92 <= covered / 1000 <= 0.99


def test_share_interval_has_a_width_when_all_was_won():
    estimate, low, high = share_interval(np.ones(100))
    assert (estimate, high) == (1.0, 1.0)
    assert 0.95 < low < 0.98
    assert share_interval(np.zeros(100)) == pytest.approx((0.0, 0.0, 1.0 - low))


def test_share_interval_of_deals_that_all_split_is_a_point():
    assert share_interval(np.full(10, 0.5)) == (0.5, 0.5, 0.5)


def test_share_interval_stays_within_0_and_1():
    rng = np.random.default_rng(5)
    for _ in range(500):
        estimate, low, high = share_interval(rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=3))
        assert 0.0 <= low <= estimate <= high <= 1.0
