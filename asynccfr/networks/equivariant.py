"""A network that treats the blocks of a symmetric game alike, as Deep Sets do (Zaheer et al. 2017).

Block c with features x_c, beside the global features g:

    h_c  = relu(X x_c + G g + b)
    h_c += relu(W h_c + U mean_c h_c + b)      for each layer
    its actions: P h_c + p;  global actions: Q mean_c h_c + q

Permuting the blocks of a row therefore permutes the outputs. On a CPU a compiled kernel trains and
infers networks that are not too wide; else torch does, with activations [blocks, n, width], so that
one product serves all blocks and a mean over blocks adds contiguous memory. Where bfloat16 is asked
for, the kernel rounds what it multiplies, if the processor gains by that, and sums in float32.
"""

import math
from collections.abc import Iterable
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from asynccfr.games.symmetry import Blocks, Symmetry, outside
from asynccfr.networks.equivariant_kernel import EquivariantKernel
from asynccfr.networks.network import Network
from asynccfr.seeding import Rng

WIDEST = 256  # units; beyond, torch's products are faster than the kernel's


class Equivariant(Network):
    """Rows float32 [n, tensor_size] to outputs [n, num_actions], equivariant under `symmetry`."""

    def __init__(
        self,
        tensor_size: int,
        num_actions: int,
        symmetry: Symmetry,
        *,
        width: int,
        layers: int,
        rng: Rng,
    ) -> None:
        """He initialisation from `rng`; the output layers are 0."""
        super().__init__()
        generator = torch.Generator().manual_seed(rng.bits() >> 1)

        def matrix(inputs: int, outputs: int, fan_in: int) -> Tensor:
            return torch.randn(outputs, inputs, generator=generator) * math.sqrt(2 / fan_in)

        self.blocks = len(symmetry.features)
        self.features, self.actions = len(symmetry.features[0]), len(symmetry.actions[0])
        global_features = tensor_size - self.blocks * self.features
        global_actions = num_actions - self.blocks * self.actions
        self.kernel = EquivariantKernel(
            *(self.blocks, self.features, global_features, width, layers),
            *(self.actions, global_actions),
        )
        fan_in = self.features + global_features
        self.block_input = nn.Parameter(matrix(self.features, width, fan_in))
        self.global_input = nn.Parameter(matrix(global_features, width, fan_in))
        self.input_bias = nn.Parameter(torch.zeros(width))
        self.own, self.pooled = (
            nn.ParameterList(matrix(width, width, 2 * width) for _ in range(layers))
            for _ in range(2)
        )
        self.biases = nn.ParameterList(torch.zeros(width) for _ in range(layers))
        self.block_output = nn.Parameter(torch.zeros(self.actions, width))
        self.block_output_bias = nn.Parameter(torch.zeros(self.actions))
        self.global_output = nn.Parameter(torch.zeros(global_actions, width))
        self.global_output_bias = nn.Parameter(torch.zeros(global_actions))
        actions = blocks_first(symmetry.actions, num_actions)
        self.feature_order: Tensor | None
        self.action_order: Tensor | None
        for name, order in (
            ("feature_order", blocks_first(symmetry.features, tensor_size)),
            ("action_order", None if actions is None else actions.argsort()),
        ):
            self.register_buffer(name, order, persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        rows = self.blocks_first(rows)
        learns = torch.is_grad_enabled() and self.input_bias.dtype == torch.float32
        if learns and self.suits_kernel(rows) and not rows.requires_grad:
            half = torch.is_autocast_enabled("cpu")
            outputs: Tensor = KernelStep.apply(self.kernel, half, rows, *self.kernel_parameters())  # type: ignore[no-untyped-call]
        else:
            outputs = self.by_torch(rows)
        return self.in_order(outputs)

    def infer(self, rows: Tensor) -> Tensor:
        rows = self.blocks_first(rows)
        if not self.suits_kernel(rows):
            return self.in_order(self.by_torch(rows.to(self.input_bias.dtype)))
        half = self.input_bias.dtype == torch.bfloat16
        if not self.kernel.loaded or self.kernel.half != half:
            self.kernel.load((each.float() for each in self.kernel_parameters()), half)
        return self.in_order(self.kernel.forward(rows.contiguous(), keep=False))

    def by_torch(self, rows: Tensor) -> Tensor:
        """Outputs [n, num_actions] for rows [n, tensor_size], blocks first in both."""
        end = self.blocks * self.features
        blocks = rows[:, :end].view(rows.shape[0], self.blocks, self.features)
        h = (
            linear(blocks.transpose(0, 1), self.block_input)
            + linear(rows[:, end:], self.global_input, self.input_bias)
        ).relu()
        for own, pooled, bias in zip(self.own, self.pooled, self.biases, strict=True):
            h = h + (linear(h, own) + linear(h.mean(dim=0), pooled, bias)).relu()
        of_blocks = linear(h, self.block_output, self.block_output_bias)
        of_all = linear(h.mean(dim=0), self.global_output, self.global_output_bias)
        return torch.cat([*of_blocks, of_all], dim=1)

    def suits_kernel(self, rows: Tensor) -> bool:
        casts = torch.is_autocast_enabled("cpu")
        return (
            rows.device.type == "cpu"
            and len(self.input_bias) <= WIDEST
            and rows.dtype == torch.float32
            and self.input_bias.dtype in (torch.float32, torch.bfloat16)
            and not (casts and torch.get_autocast_dtype("cpu") != torch.bfloat16)
        )

    def kernel_parameters(self) -> tuple[Tensor, ...]:
        """All parameters in the order of the kernel."""
        layers = zip(self.own, self.pooled, self.biases, strict=True)
        return (
            *(self.block_input, self.global_input, self.input_bias),
            *chain.from_iterable(layers),
            *self.output_parameters(),
        )

    def blocks_first(self, rows: Tensor) -> Tensor:
        return rows if self.feature_order is None else rows.index_select(1, self.feature_order)

    def in_order(self, outputs: Tensor) -> Tensor:
        return outputs if self.action_order is None else outputs.index_select(1, self.action_order)

    def output_parameters(self) -> Iterable[nn.Parameter]:
        return (
            self.block_output,
            self.block_output_bias,
            self.global_output,
            self.global_output_bias,
        )


class KernelStep(torch.autograd.Function):
    """The kernel's outputs [n, actions] for rows [n, features], blocks first in both.

    A kernel serves one forward and its backward; another forward in between is an error.
    """

    @staticmethod
    def forward(
        ctx: Any, kernel: EquivariantKernel, half: bool, rows: Tensor, *parameters: Tensor
    ) -> Tensor:
        kernel.load(parameters, half)
        rows = rows.contiguous()
        outputs = kernel.forward(rows, keep=True)
        ctx.kernel, ctx.turn = kernel, kernel.turn
        ctx.save_for_backward(rows)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ctx.saved_tensors  # noqa: B018 (raises if the rows have changed since)
        return None, None, None, *ctx.kernel.backward(gradients[0].contiguous(), ctx.turn)


def blocks_first(blocks: Blocks, size: int) -> Tensor | None:
    """The members of all blocks, then all others; None where they have that order already."""
    order = [member for block in blocks for member in block] + list(outside(blocks, size))
    return None if order == list(range(size)) else torch.tensor(order)
