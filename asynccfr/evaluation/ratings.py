"""Ratings of players who have all met each other on the same deals, with 95% intervals.

Two of them, both in points per game. The *mean* of a player's scores against all others is the
least-squares rating of a complete tournament; whoever crushes weak players most comes out first.
The *equilibrium* rating is the score against the mixture of players that no player beats (Balduzzi
et al. 2018): doing well there takes wins against the best, and neither weak players nor copies of
players change anything.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from asynccfr.evaluation.intervals import Interval, mean_interval

Deals = npt.NDArray[np.float64]
Payoffs = npt.NDArray[np.float64]

RESAMPLES = 200
ROUNDS = 1000


class Rating(Struct, frozen=True, kw_only=True):
    """A player's ratings.

    Fields:
        mean: score a game against all other players.
        equilibrium: score a game against the equilibrium of all players; at most about 0.
        share: of the player in that equilibrium.
    """

    player: str
    mean: Interval
    equilibrium: Interval
    share: float


def ratings(scores: Mapping[tuple[str, str], Deals]) -> list[Rating]:
    """Ratings by equilibrium, then mean, the best first; every pair must have met once.

    `scores[a, b]` is what `a` made of each deal against `b`, [deals]; all met on the same deals.
    Intervals of the equilibrium rating are a bootstrap over deals, the equilibrium found anew.
    """
    names = list(dict.fromkeys(name for pair in scores for name in pair))
    count, deals = len(names), len(next(iter(scores.values())))
    table = np.zeros((count, count, deals))
    for (a, b), values in scores.items():
        table[names.index(a), names.index(b)] = values
        table[names.index(b), names.index(a)] = -values
    payoffs = table.mean(axis=2)
    mixture, found = equilibrium(payoffs), against_equilibrium(payoffs)
    counts = np.random.default_rng(0).multinomial(deals, np.full(deals, 1 / deals), RESAMPLES)
    resampled = np.moveaxis(table @ counts.T / deals, 2, 0)
    low, high = np.quantile(against_equilibrium(resampled), [0.025, 0.975], axis=0)
    rated = [
        Rating(
            player=name,
            mean=mean_interval(table[i].sum(axis=0) / (count - 1)),
            equilibrium=Interval(float(found[i]), float(low[i]), float(high[i])),
            share=float(mixture[i]),
        )
        for i, name in enumerate(names)
    ]
    return sorted(rated, key=lambda r: (-round(r.share, 2), -r.equilibrium.estimate))


def against_equilibrium(payoffs: Payoffs) -> Payoffs:
    """Every player's score against the equilibrium, [..., n]."""
    scores: Payoffs = (payoffs @ equilibrium(payoffs)[..., None])[..., 0]
    return scores


def equilibrium(payoffs: Payoffs) -> Payoffs:
    """Symmetric equilibria [..., n] of games in which both choose a player, by CFR+.

    `payoffs` [..., n, n] is what the row's player makes of the column's.
    """
    regrets = np.full(payoffs.shape[:-1], 1e-9)
    total = np.zeros_like(regrets)
    for number in range(1, ROUNDS + 1):
        strategy = regrets / regrets.sum(axis=-1, keepdims=True)
        total += number * strategy
        values = (payoffs @ strategy[..., None])[..., 0]
        gains = values - (strategy * values).sum(axis=-1, keepdims=True)
        regrets = np.maximum(regrets + gains, 1e-9)
    mixture: Payoffs = total / total.sum(axis=-1, keepdims=True)
    return mixture
