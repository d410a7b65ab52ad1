"""Importance sampling of decisions: who moves a network more is likelier to, and counts less.

Gradients keep their mean, and their noise hardly grows where many decisions have little to teach:
who is certain of an action learns next to nothing from it (Katharopoulos and Fleuret 2018).
"""

import numpy as np
import numpy.typing as npt

LEAST = 0.25  # of the share: how likely a decision is that has nothing to teach

Array = npt.NDArray[np.float64]


def chances(norms: npt.NDArray[np.floating], share: float) -> Array:
    """In proportion to gradient norms [N], but at least LEAST * share and at most 1; their mean is
    `share`, or less where fewer decisions than that have anything to teach.
    """
    mean = norms.mean() if len(norms) else 0.0
    if share == 1 or not 0 < mean < np.inf:
        return np.full(len(norms), share)
    norms = norms.astype(np.float64) / mean
    low, high = LEAST * share, 1e6
    for _ in range(50):
        factor = np.sqrt(low * high)
        found: Array = (factor * norms).clip(LEAST * share, 1)
        low, high = (factor, high) if found.mean() < share else (low, factor)
    return found


def drawn(chances: Array, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Rows, each with its chance, by systematic sampling: how many is hardly a matter of luck."""
    if chances.min(initial=1) == 1:
        return np.arange(len(chances))
    passed = np.floor(np.cumsum(chances) + rng.random())
    return np.flatnonzero(np.diff(passed, prepend=0))
