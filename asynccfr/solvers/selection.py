"""Importance sampling: decisions that teach more are likelier to be learned from, and count less.

Gradients keep their mean, and their noise hardly grows where many decisions have little to teach:
where the right action is certain, next to nothing (Katharopoulos and Fleuret 2018).
"""

import numpy as np
import numpy.typing as npt

LEAST = 0.25  # of the share: the probability of a decision that has nothing to teach
LITTLE = 1e-6  # of the mean norm: what is less may count as nothing

Array = npt.NDArray[np.float64]


def probabilities(norms: npt.NDArray[np.floating], share: float) -> Array:
    """In proportion to gradient norms [N], but at least LEAST * share and at most 1.

    Their mean is `share`, or less where only fewer decisions than that have something to teach.
    """
    mean = norms.mean(dtype=np.float64) if len(norms) else 0.0
    if share == 1 or mean == 0:
        return np.full(len(norms), share)
    norms = norms / mean
    low, high = LEAST * share, 1 / LITTLE
    for _ in range(50):
        factor = np.sqrt(low * high)
        found: Array = (factor * norms).clip(LEAST * share, 1)
        low, high = (factor, high) if found.mean() < share else (low, factor)
    return found


def drawn(probabilities: Array, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Row numbers in random order, each with its probability.

    Systematic sampling: how many is their sum, rounded up or down.
    """
    order = rng.permutation(len(probabilities))
    passed = np.floor(np.cumsum(probabilities[order]) + rng.random())
    return order[np.diff(passed, prepend=0) > 0]
