"""What all networks share, and frozen copies of them that only evaluate."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Network(nn.Module, ABC):
    """Rows float32 [n, inputs] to outputs [n, outputs], all 0 at first, as in Brown et al. (2019).

    `scale` is what one unit of its outputs is worth, in points of the game for advantages.
    """

    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    @abstractmethod
    def forward(self, rows: Tensor) -> Tensor:
        """The outputs, for training."""

    @abstractmethod
    def infer(self, rows: Tensor) -> Tensor:
        """The same outputs, of parameters that stay and may be bfloat16, for rows in float32.

        One call at a time: it may keep memory.
        """

    @abstractmethod
    def output_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters that the outputs are proportional to."""

    @torch.no_grad()
    def rescale(self, scale: float) -> None:
        """Change the unit of the outputs without changing what they are worth."""
        for parameter in self.output_parameters():
            parameter.mul_(self.scale / scale)
        self.scale.fill_(scale)


class InferenceCopy:
    """A network frozen for evaluation: rows float32 [n, inputs] to float32 [n, outputs].

    It has its own parameters, in `dtype`; one call at a time.
    """

    def __init__(
        self,
        network: Network,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dtype = dtype
        self.device = torch.device(device)
        self._network = copy.deepcopy(network).to(self.device, dtype)

    @torch.inference_mode()
    def __call__(self, rows: Tensor) -> Tensor:
        return self._network.infer(rows.to(self.device)).float()
