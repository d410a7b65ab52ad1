"""The multilayer perceptron: knows nothing of the game."""

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from asynccfr.networks.network import Network
from asynccfr.seeding import Rng


class MLP(Network):
    """A multilayer perceptron with ReLU: rows float32 [n, sizes[0]] to outputs [n, sizes[-1]]."""

    def __init__(self, sizes: list[int], rng: Rng) -> None:
        """He initialisation from `rng`; the output layer is 0."""
        super().__init__()
        generator = torch.Generator().manual_seed(rng.bits() >> 1)
        self.weights = nn.ParameterList(torch.zeros(n, m) for m, n in pairwise(sizes))
        self.biases = nn.ParameterList(torch.zeros(n) for n in sizes[1:])
        for weight in self.weights[:-1]:
            nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)
        self._hidden: dict[int, Tensor] = {}

    def forward(self, rows: Tensor) -> Tensor:
        *hidden, output = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            rows = linear(rows, weight, bias).relu()
        return linear(rows, *output)

    def infer(self, rows: Tensor) -> Tensor:
        *hidden, (weight, bias) = zip(self.weights, self.biases, strict=True)
        rows = rows.to(bias.dtype)
        for i, (w, b) in enumerate(hidden):
            rows = torch.addmm(b, rows, w.t(), out=self.hidden(i, len(rows), b)).relu_()
        return torch.addmm(bias, rows, weight.t())

    def hidden(self, layer: int, n: int, bias: Tensor) -> Tensor:
        """Memory for a layer's units [n, width], kept: fresh memory costs a fault for each page."""
        kept = self._hidden.get(layer)
        if kept is None or len(kept) < n:
            kept = self._hidden[layer] = bias.new_empty(n, len(bias))
        return kept[:n]

    def output_parameters(self) -> Iterable[nn.Parameter]:
        return self.weights[-1], self.biases[-1]
