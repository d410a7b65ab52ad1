"""The decisions of an iteration as tensors, from which any of them make a batch."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.cfr.episode import Decisions
from asynccfr.learning.reservoir import Samples
from asynccfr.networks import Network

ROWS_AT_ONCE = 512
EVERY = slice(None)

Forward = Callable[[Tensor], Tensor]


class Experience:
    """Decisions on one device, their features unpacked a batch at a time.

    Attributes:
        decisions: the columns that it was made of.
        seen: features of what the players to move knew, as they were stored, [N, tensor_size].
        hidden: the same of what their opponents knew.
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
        self.seen = self.tensor(decisions.features)
        self.hidden = self.tensor(decisions.hidden)

    def __len__(self) -> int:
        return len(self.decisions.chosen)

    def tensor(self, column: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(column).to(self.device)

    def samples(
        self,
        rows: npt.NDArray[np.intp],
        values: npt.NDArray[np.float32],
        weights: npt.NDArray[np.float32],
    ) -> Samples:
        """Some of the decisions for a reservoir; `values` [N, K] and `weights` [N] are of all."""
        played = self.decisions
        return Samples(played.features[rows], played.actions[rows], values[rows], weights[rows])

    def rows(self, *features: Tensor) -> Tensor:
        """Some decisions' features, of one or of both players, as float32 rows for a network."""
        rows = (features[0] if len(features) == 1 else torch.cat(features, dim=1)).float()
        return rows.mul_(self.quantum) if self.quantum else rows

    def outputs(self, network: Network, rows: Tensor, actions: Tensor) -> Tensor:
        """A network's outputs for some actions [n, k], float32 [n, k], to be learned from."""
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            outputs: Tensor = network(rows)
        return outputs.float().gather(1, actions)

    def answers(
        self, forward: Forward, *features: Tensor, part: slice = EVERY
    ) -> npt.NDArray[np.float32]:
        """A frozen network's outputs for the legal actions of some decisions, [n, K]."""
        columns = [torch.split(column[part], ROWS_AT_ONCE) for column in (self.actions, *features)]
        with torch.inference_mode():
            parts = [
                forward(self.rows(*some)).gather(1, actions)
                for actions, *some in zip(*columns, strict=True)
            ]
        return torch.cat(parts).cpu().numpy()
