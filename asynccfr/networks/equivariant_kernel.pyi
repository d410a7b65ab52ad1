from collections.abc import Iterable

from torch import Tensor

class EquivariantKernel:
    loaded: bool
    half: bool
    turn: int

    def __init__(
        self,
        blocks: int,
        features: int,
        global_features: int,
        width: int,
        layers: int,
        actions: int,
        global_actions: int,
    ) -> None: ...
    def load(self, parameters: Iterable[Tensor], half: bool = False) -> None: ...
    def forward(self, rows: Tensor, keep: bool) -> Tensor: ...
    def backward(self, of_outputs: Tensor, turn: int) -> list[Tensor]: ...
