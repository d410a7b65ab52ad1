"""What a network is fitted to where samples repeat: the weighted mean of each information state.

The mean has the gradient of the samples it stands for, without their noise, and a few hundred means
fit into one batch. In a large game hardly two samples agree, and the reservoir stays as it is.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from asynccfr.learning.merge import merge
from asynccfr.learning.reservoir import Batch, Reservoir, training_batch

PROBE = 8192  # samples looked at before all are merged
MOST_KINDS = 0.9  # of the probe's samples, for the rest to be worth a look


class MergedSamples:
    """A reservoir's samples, those of one information state taken together.

    Attributes:
        columns: as of the reservoir, with totals for weights and every iteration 1: [M, ...].
        weights: the total weight of each, linear CFR's factor included, float64 [M].
    """

    def __init__(self, columns: dict[str, npt.NDArray[Any]], quantum: float) -> None:
        self.columns = columns
        self.weights = columns["weights"]
        self._quantum = quantum
        self._everything: Batch | None = None
        self._share = np.cumsum(self.weights) / self.weights.sum()

    @classmethod
    def of(cls, reservoir: Reservoir, weights: npt.NDArray[np.float64]) -> Self | None:
        """The samples merged, if at least half of them are repeats; `weights` as in linear CFR."""
        columns = reservoir.columns()
        probe = slice(None, None, max(1, len(weights) // PROBE))
        features, actions, values = (columns[name] for name in ("features", "actions", "values"))
        kinds, _, _ = merge(
            features[probe].copy(),
            actions[probe].copy(),
            values[probe].copy(),
            weights[probe].copy(),
        )
        if len(kinds) > MOST_KINDS * len(weights[probe]):
            return None
        first, totals, means = merge(features, actions, values, weights)
        if 2 * len(first) > len(weights) or not totals.sum() > 0:
            return None
        merged = {
            "features": features[first],
            "actions": actions[first],
            "values": means.astype(np.float32),
            "weights": totals,
        }
        return cls(merged, reservoir.quantum)

    def batch(
        self, rng: np.random.Generator, size: int, device: torch.device | str = "cpu"
    ) -> Batch:
        """All of them, if they are no more than `size`; else `size`, drawn by their weights."""
        if len(self.weights) <= size:
            if self._everything is None:
                everything = slice(None)
                self._everything = self._batch(everything, self.weights, device)
            return self._everything
        rows = np.searchsorted(self._share, rng.random(size))
        return self._batch(rows, np.full(size, self.weights.mean()), device)

    def _batch(
        self,
        rows: npt.NDArray[np.intp] | slice,
        weights: npt.NDArray[np.float64],
        device: torch.device | str,
    ) -> Batch:
        features, actions, values = (
            self.columns[name][rows] for name in ("features", "actions", "values")
        )
        return training_batch(
            features,
            actions,
            values,
            weights.astype(np.float32),
            np.ones(len(weights), np.float32),
            quantum=self._quantum,
            device=device,
        )
