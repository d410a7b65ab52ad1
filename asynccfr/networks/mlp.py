"""The multilayer perceptron: knows nothing of the game.

It learns in torch. Where the CPU has tiles (AMX), batches are inferred by a compiled kernel.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from asynccfr.networks.network import Network
from asynccfr.networks.perceptron_kernel import PerceptronKernel, available
from asynccfr.seeding import Rng

FEW_ROWS = 64  # torch is as quick with so few
LEAST_ROWS = 32  # worth a thread of their own


@cache
def helpers(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "asynccfr-rows")


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=helpers.cache_clear)


def among_threads(forward: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """The outputs for rows, an equal part of them in each of as many threads as torch has."""
    count = torch.get_num_threads()
    if count == 1:
        return forward(rows)
    own, *others = torch.split(rows, max(LEAST_ROWS, -(-len(rows) // count)))
    elsewhere = [helpers(count - 1).submit(forward, part) for part in others]
    return torch.cat([forward(own), *(each.result() for each in elsewhere)])


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
        self._kernel = PerceptronKernel(*sizes)

    def forward(self, rows: Tensor) -> Tensor:
        *hidden, output = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            rows = linear(rows, weight, bias).relu()
        return linear(rows, *output)

    def infer(self, rows: Tensor) -> Tensor:
        if self.suits_kernel(rows):
            if not self._kernel.loaded:
                self.load_kernel()
            return among_threads(self._kernel.forward, rows.contiguous())
        *hidden, (weight, bias) = zip(self.weights, self.biases, strict=True)
        rows = rows.to(bias.dtype)
        for i, (w, b) in enumerate(hidden):
            rows = torch.addmm(b, rows, w.t(), out=self.hidden(i, len(rows), b)).relu_()
        return torch.addmm(bias, rows, weight.t())

    def suits_kernel(self, rows: Tensor) -> bool:
        return (
            len(rows) > FEW_ROWS
            and rows.device.type == "cpu"
            and rows.dtype == torch.float32
            and self.biases[0].dtype in (torch.float32, torch.bfloat16)
            and available()
        )

    def load_kernel(self) -> None:
        weights, biases = ([each.float() for each in part] for part in (self.weights, self.biases))
        self._kernel.load(weights, biases, half=self.biases[0].dtype == torch.bfloat16)

    def hidden(self, layer: int, n: int, bias: Tensor) -> Tensor:
        """Memory for a layer's units [n, width], kept: fresh memory costs a fault for each page."""
        kept = self._hidden.get(layer)
        if kept is None or len(kept) < n:
            kept = self._hidden[layer] = bias.new_empty(n, len(bias))
        return kept[:n]

    def output_parameters(self) -> Iterable[nn.Parameter]:
        return self.weights[-1], self.biases[-1]
