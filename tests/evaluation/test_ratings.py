"""Ratings: what wins against the best counts, and what the deals leave open is said."""

import numpy as np
import pytest

from asynccfr.evaluation.ratings import equilibrium, ratings


def deals(mean: float, spread: float = 1.0, seed: int = 0, count: int = 400) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=count)
    return mean + spread * (noise - noise.mean()) / noise.std(ddof=1)


def test_beating_the_best_outweighs_crushing_the_weak() -> None:
    rated = ratings({("best", "bully"): deals(2), ("best", "weak"): deals(10, seed=1),
                     ("bully", "weak"): deals(50, seed=2)})  # fmt: skip
    assert [each.player for each in rated] == ["best", "bully", "weak"]
    best, bully, weak = rated
    assert bully.mean.estimate > best.mean.estimate == pytest.approx(6)
    assert best.share == pytest.approx(1, abs=0.01)
    assert best.equilibrium.estimate == pytest.approx(0, abs=0.1)
    assert bully.equilibrium.estimate == pytest.approx(-2, abs=0.1)
    assert weak.equilibrium.estimate == pytest.approx(-10, abs=0.1)


def test_the_mean_has_the_interval_of_its_deals() -> None:
    rated = ratings({("a", "b"): deals(3), ("a", "c"): deals(3), ("b", "c"): deals(0, seed=3)})
    mean = rated[0].mean
    assert mean.estimate == pytest.approx(3)
    # Both matches were lucky on the same deals, so there is no more to know than from one.
    assert mean.high - mean.estimate == pytest.approx(1.966 / 20, rel=0.01)


def test_the_equilibrium_interval_holds_what_the_deals_leave_open() -> None:
    rated = ratings({("a", "b"): deals(2, spread=4)})
    interval = rated[1].equilibrium
    assert interval.estimate == pytest.approx(-2, abs=0.05)
    assert interval.low == pytest.approx(-2 - 1.96 * 4 / 20, abs=0.12)
    assert interval.high == pytest.approx(-2 + 1.96 * 4 / 20, abs=0.12)


def test_a_cycle_is_shared_and_copies_change_nothing() -> None:
    cycle = {("rock", "scissors"): deals(2), ("scissors", "paper"): deals(2, seed=1),
             ("paper", "rock"): deals(2, seed=2)}  # fmt: skip
    assert [each.share for each in ratings(cycle)] == pytest.approx([1 / 3] * 3, abs=0.02)
    weak = {(name, f"weak {i}"): deals(30, seed=5) for name in ("rock", "paper", "scissors")
            for i in range(3)}  # fmt: skip
    weak |= {(f"weak {i}", f"weak {j}"): deals(0) for i in range(3) for j in range(i)}
    rated = ratings(cycle | weak)
    assert [each.share for each in rated[:3]] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert all(each.player.startswith("weak") for each in rated[3:])


def test_equilibria_of_many_games_at_once_are_those_of_each() -> None:
    games = np.random.default_rng(0).normal(size=(5, 4, 4))
    games -= games.swapaxes(1, 2)
    mixtures = equilibrium(games)
    for game, mixture in zip(games, mixtures, strict=True):
        np.testing.assert_allclose(mixture, equilibrium(game), atol=1e-12)
        assert mixture.sum() == pytest.approx(1)
        assert (game @ mixture).max() < 0.01
