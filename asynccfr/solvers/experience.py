"""The decisions of an iteration as tensors, from which any of them make a batch."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.cfr.trajectory import Decisions
from asynccfr.networks import Network
from asynccfr.reservoir import Samples

ROWS_AT_ONCE = 512

Forward = Callable[[Tensor], Tensor]


class Experience:
    """Decisions on one device, their features unpacked a batch at a time.

    Attributes:
        decisions: the columns that it was made of.
        actions: legal actions int64 [N, K]; where there are fewer, action 0.
        legal: bool [N, K], which of those are meant.
        chosen: the column of the action taken, int64 [N].
    """

    def __init__(
        self, decisions: Decisions, quantum: float, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.decisions = decisions
        self.quantum = quantum
        self.device = device
        self.dtype = dtype
        self.actions = self.tensor(decisions.actions.clip(min=0).astype(np.int64))
        self.legal = self.tensor(decisions.actions >= 0)
        self.chosen = self.tensor(decisions.chosen.astype(np.int64))
        self._features = self.tensor(decisions.features)
        self._hidden = self.tensor(decisions.hidden)

    def __len__(self) -> int:
        return len(self.decisions.chosen)

    def tensor(self, column: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(column).to(self.device)

    def seen(self, rows: Tensor | slice) -> Tensor:
        """What the players to move knew: float32 [n, tensor_size]."""
        return self.unpacked(self._features[rows])

    def everything(self, rows: Tensor | slice) -> Tensor:
        """The same, followed by what their opponents knew: float32 [n, 2 * tensor_size]."""
        return self.unpacked(torch.cat([self._features[rows], self._hidden[rows]], dim=1))

    def samples(
        self,
        rows: npt.NDArray[np.intp],
        values: npt.NDArray[np.float32],
        weights: npt.NDArray[np.float32],
    ) -> Samples:
        """Some of the decisions for a reservoir; `values` [N, K] and `weights` [N] are of all."""
        played = self.decisions
        return Samples(played.features[rows], played.actions[rows], values[rows], weights[rows])

    def unpacked(self, features: Tensor) -> Tensor:
        return features.float().mul_(self.quantum) if self.quantum else features

    def outputs(self, network: Network, features: Tensor, rows: Tensor) -> Tensor:
        """A network's outputs for the legal actions, float32 [n, K], to be learned from."""
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            outputs: Tensor = network(features)
        return outputs.float().gather(1, self.actions[rows])

    def answers(
        self, forward: Forward, features: Callable[[slice], Tensor]
    ) -> npt.NDArray[np.float32]:
        """A frozen network's outputs for the legal actions of every decision, [N, K]."""
        parts = []
        with torch.inference_mode():
            for start in range(0, len(self), ROWS_AT_ONCE):
                rows = slice(start, start + ROWS_AT_ONCE)
                parts.append(forward(features(rows)).gather(1, self.actions[rows]))
        return torch.cat(parts).cpu().numpy()
