"""Forward and backward of the equivariant network in memory that is kept from batch to batch.

Autograd asks for fresh memory at every operation, and fresh memory costs a page fault for every 4
KiB, which on a CPU takes as long as the arithmetic of layers this narrow.
"""

from typing import Any

import torch
from torch import Tensor

from asynccfr.networks.network import Workspace

Gradients = tuple[Tensor | None, ...]


class KeptActivations(torch.autograd.Function):
    """Outputs of all blocks [blocks, n, actions] and the global ones [n, global actions].

    Takes a workspace, features [blocks, n, features] and [n, global features], and the parameters
    of `Equivariant`: three of the input, all layers' own, pooled and biases, four of the outputs. A
    workspace serves one forward and its backward; another forward in between is an error.
    """

    @staticmethod
    def forward(
        ctx: Any, workspace: Workspace, blocks: Tensor, shared: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        layers = (len(parameters) - 7) // 3
        block_input, global_input, bias, *rest = parameters
        own, pooled, biases = (rest[i * layers : (i + 1) * layers] for i in range(3))
        block_output, block_bias, global_output, global_bias = rest[3 * layers :]
        count, n, features = blocks.shape
        width = len(bias)

        def take(name: str, *shape: int) -> Tensor:
            return workspace.take(name, blocks, *shape)

        inputs = take("inputs", count, n, features)
        inputs.copy_(blocks)
        h = take("h", layers + 1, count, n, width)
        changes = take("changes", layers, count, n, width)
        means = take("means", layers + 1, n, width)
        torch.mm(inputs.view(-1, features), block_input.t(), out=h[0].view(-1, width))
        h[0].add_(torch.addmm(bias, shared, global_input.t())).relu_()
        for i in range(layers):
            torch.mean(h[i], dim=0, out=means[i])
            torch.mm(h[i].view(-1, width), own[i].t(), out=changes[i].view(-1, width))
            changes[i].add_(torch.addmm(biases[i], means[i], pooled[i].t())).relu_()
            torch.add(h[i], changes[i], out=h[i + 1])
        torch.mean(h[layers], dim=0, out=means[layers])
        workspace.turn += 1
        ctx.kept = (workspace, workspace.turn, inputs, shared, h, changes, means)
        ctx.weights = (own, pooled, block_output, global_output)
        outputs = torch.addmm(block_bias, h[layers].view(-1, width), block_output.t())
        return (
            outputs.view(count, n, len(block_bias)),
            torch.addmm(global_bias, means[layers], global_output.t()),
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Gradients:
        workspace, turn, inputs, shared, h, changes, means = ctx.kept
        own, pooled, block_output, global_output = ctx.weights
        if turn != workspace.turn:
            raise RuntimeError("backward: the network has run forward again since; one at a time")
        layers, count, n, width = changes.shape
        of_blocks, of_shared = gradients
        actions = of_blocks.shape[-1]
        of_blocks = (
            workspace.take("of_blocks", h, count, n, actions).copy_(of_blocks).view(-1, actions)
        )
        of_outputs = (
            of_blocks.t() @ h[layers].view(-1, width),
            of_blocks.sum(dim=0),
            of_shared.t() @ means[layers],
            of_shared.sum(dim=0),
        )
        of_h = torch.mm(
            of_blocks, block_output, out=workspace.take("of_h", h, count * n, width)
        ).view(count, n, width)
        of_h.add_((of_shared @ global_output).div_(count))
        inside = workspace.take("inside", h, count, n, width)
        summed = workspace.take("summed", h, n, width)
        of_own, of_pooled, of_biases = [], [], []
        for i in reversed(range(layers)):
            _through_relu(of_h, changes[i], out=inside)
            torch.sum(inside, dim=0, out=summed)
            of_own.append(inside.view(-1, width).t() @ h[i].view(-1, width))
            of_pooled.append(summed.t() @ means[i])
            of_biases.append(summed.sum(dim=0))
            of_h.view(-1, width).addmm_(inside.view(-1, width), own[i])
            of_h.add_((summed @ pooled[i]).div_(count))
        _through_relu(of_h, h[0], out=inside)
        torch.sum(inside, dim=0, out=summed)
        return (
            None,
            None,
            None,
            inside.view(-1, width).t() @ inputs.view(-1, inputs.shape[-1]),
            summed.t() @ shared,
            summed.sum(dim=0),
            *reversed(of_own),
            *reversed(of_pooled),
            *reversed(of_biases),
            *of_outputs,
        )


def _through_relu(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    """The gradient before a ReLU, from that after it and the ReLU's output."""
    torch.ops.aten.threshold_backward.grad_input(gradient, output, 0, grad_input=out)
