"""Confidence intervals for means and shares of independent observations."""

import math
from collections.abc import Sequence
from functools import lru_cache
from math import comb
from statistics import median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate and the bounds of its 95% confidence interval."""

    estimate: float
    low: float
    high: float


def mean_interval(values: npt.NDArray[np.float64]) -> Interval:
    """The mean of independent `values` [n], n >= 2, plus or minus t(n - 1) · s / sqrt(n)."""
    n = len(values)
    mean = float(values.mean())
    half = t_quantile(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def share_interval(values: npt.NDArray[np.float64]) -> Interval:
    """The mean of independent `values` [n] in [0, 1], with Wilson's score interval.

    A value may itself be the mean of a few dependent wins and losses, so the interval is that of as
    many independent wins and losses as have the standard error s / sqrt(n) that the values show:
    p · (1 - p) · n / s² of them (Kish's effective sample size), or n where p is 0 or 1. Unlike
    p ± t · s / sqrt(n) it stays in [0, 1] and has a width when every game was won.
    """
    n = len(values)
    p = float(values.mean())
    variance = float(values.var(ddof=1))
    if variance == 0 and 0 < p < 1:
        return Interval(p, p, p)
    size = n if variance == 0 else p * (1 - p) * n / variance
    t2 = t_quantile(n - 1) ** 2
    centre = (p + t2 / (2 * size)) / (1 + t2 / size)
    half = math.sqrt(t2 / size * (p * (1 - p) + t2 / (4 * size))) / (1 + t2 / size)
    # At 0 and 1 one bound is the estimate itself, but for rounding.
    return Interval(p, min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half)))


@lru_cache
def t_quantile(freedom: int) -> float:
    """The two-sided 95% quantile of Student's t distribution.

    With t = sqrt(freedom) · tan(angle), the density of the angle is proportional to
    cos(angle) ** (freedom - 1): integrated here by the trapezoidal rule.
    """
    freedom = min(freedom, 10_000)
    angles = np.linspace(0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (freedom - 1)
    cumulative = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    angle = float(np.interp(CONFIDENCE * cumulative[-1], cumulative, angles))
    return math.sqrt(freedom) * math.tan(angle)


def median_interval(values: Sequence[float]) -> Interval:
    """The median of a few values, with the order statistics around it.

    They hold the true median with 95% probability, whatever the distribution, by the binomial
    distribution of how many values lie below it; fewer than six values cannot, and all are held.
    """
    ordered, n = sorted(values), len(values)
    outside, below = 0, 0  # of 2**n, how many halves of the values miss on one side
    while 40 * (outside + comb(n, below)) <= 2**n:
        outside, below = outside + comb(n, below), below + 1
    skipped = max(below - 1, 0)
    return Interval(median(ordered), ordered[skipped], ordered[n - 1 - skipped])
