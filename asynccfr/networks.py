"""The networks of Deep CFR: training modules, and frozen copies of them that only evaluate."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from asynccfr.config import Network
from asynccfr.seeding import Rng


class MLP(nn.Module):
    """A multilayer perceptron with ReLU: rows float32 [n, sizes[0]] to outputs [n, sizes[-1]].

    `scale` is what one unit of its outputs is worth, in points of the game for advantages.
    """

    scale: Tensor

    def __init__(self, sizes: list[int], rng: Rng) -> None:
        """He initialisation from `rng`; all outputs start at 0, as in Brown et al. (2019)."""
        super().__init__()
        generator = torch.Generator().manual_seed(rng.bits() >> 1)
        self.weights = nn.ParameterList(torch.zeros(n, m) for m, n in pairwise(sizes))
        self.biases = nn.ParameterList(torch.zeros(n) for n in sizes[1:])
        self.register_buffer("scale", torch.ones(()))
        for weight in self.weights[:-1]:
            nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)

    def forward(self, rows: Tensor) -> Tensor:
        *hidden, output = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            rows = linear(rows, weight, bias).relu()
        return linear(rows, *output)

    @torch.no_grad()
    def rescale(self, scale: float) -> None:
        """Change the unit of the outputs without changing what they are worth."""
        self.weights[-1] *= self.scale / scale
        self.biases[-1] *= self.scale / scale
        self.scale.fill_(scale)


def build_network(config: Network, tensor_size: int, num_actions: int, rng: Rng) -> MLP:
    """A network for one game, initialised from `rng` alone; torch's own generator is left alone."""
    return MLP([tensor_size, *[config.width] * config.depth, num_actions], rng)


class InferenceCopy:
    """A network frozen for evaluation: rows float32 [n, D] to outputs float32 [n, A].

    It has its own weights, in `dtype`, and buffers for the hidden layers: one call at a time.
    """

    def __init__(
        self,
        network: MLP,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dtype = dtype
        self.device = torch.device(device)
        self._weights, self._biases = (
            [parameter.detach().to(self.device, dtype, copy=True) for parameter in parameters]
            for parameters in (network.weights, network.biases)
        )
        self._hidden: list[Tensor] = []

    @torch.inference_mode()
    def __call__(self, rows: Tensor) -> Tensor:
        n = len(rows)
        if not self._hidden or len(self._hidden[0]) < n:
            # Kept, because fresh activations cost a page fault for every 4 KiB.
            self._hidden = [bias.new_empty(n, len(bias)) for bias in self._biases[:-1]]
        x = rows.to(self.device, self.dtype)
        for weight, bias, out in zip(self._weights, self._biases, self._hidden, strict=False):
            x = torch.addmm(bias, x, weight.t(), out=out[:n]).relu_()
        return torch.addmm(self._biases[-1], x, self._weights[-1].t()).float()


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Probabilities over the legal actions [n, A]; exactly 0 elsewhere.

    `logits` [n, A] any float, `mask` bool [n, A] with a legal action in every row.
    """
    return masked_log_softmax(logits, mask).exp()


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Logarithms of `masked_softmax`; of an illegal action, the lowest finite float."""
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min).log_softmax(dim=-1)
