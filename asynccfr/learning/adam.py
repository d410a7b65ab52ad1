"""Adam (Kingma and Ba 2015) with its usual constants, straight on torch's fused kernel.

The first optimiser of `torch.optim` in a process imports torch's compiler: 2.7 seconds of CPU time
before a run has learnt anything. Without its bookkeeping a step of a small network is quicker, too.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Moves parameters, float32 leaves on one device, by their gradients.

    They become parts of one vector, so that a step is one for all of them. What puts others in
    their place, as another Adam, device or type does, ends that: `descend` raises RuntimeError.
    """

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self._values = torch.cat([each.detach().reshape(-1) for each in self.parameters])
        for parameter, part in zip(self.parameters, self._parts(self._values), strict=True):
            parameter.data = part
        self._means, self._squares = (torch.zeros_like(self._values) for _ in range(2))
        self._step = torch.zeros((), device=self._values.device)

    @property
    def state(self) -> dict[str, Tensor]:
        """What it remembers, by name: the tensors themselves, to be saved or copied into."""
        kinds = {
            "means": self._parts(self._means),
            "squares": self._parts(self._squares),
            "step": [self._step],
        }
        return {
            f"{kind}.{number}": tensor
            for kind, tensors in kinds.items()
            for number, tensor in enumerate(tensors)
        }

    def _parts(self, vector: Tensor) -> list[Tensor]:
        """What a vector has of each parameter, shaped like it."""
        parts = torch.split(vector, [parameter.numel() for parameter in self.parameters])
        return [part.view_as(each) for part, each in zip(parts, self.parameters, strict=True)]

    def descend(self, loss: Tensor, max_gradient_norm: float) -> None:
        """Take a step down a scalar loss, its gradient scaled down to at most that norm."""
        if self.parameters[0].data_ptr() != self._values.data_ptr():
            raise RuntimeError("descend: the parameters have been moved since; make another Adam")
        found = torch.autograd.grad(loss, self.parameters)
        gradient = torch.cat([part.reshape(-1) for part in found])
        with torch.no_grad():
            norm = torch.linalg.vector_norm(gradient)
            self._step += 1
            torch.ops.aten._fused_adam_(
                [self._values],
                [gradient],
                [self._means],
                [self._squares],
                [],
                [self._step],
                lr=self.learning_rate,
                beta1=0.9,
                beta2=0.999,
                weight_decay=0.0,
                eps=1e-8,
                amsgrad=False,
                maximize=False,
                grad_scale=(norm / max_gradient_norm).clamp(min=1),  # what gradients are divided by
            )
