from collections.abc import Iterable

from torch import Tensor

def available() -> bool:
    """Whether this processor has tiles, and the system lets this process use them."""

class PerceptronKernel:
    """The packed parameters of a perceptron of some sizes.

    Threads may call `forward` at once; `load` needs the kernel for itself.

    Attributes:
        loaded: whether it has parameters.
    """
    @property
    def loaded(self) -> bool: ...
    def __init__(self, *sizes: int) -> None: ...
    def load(self, weights: Iterable[Tensor], biases: Iterable[Tensor], half: bool) -> None:
        """Pack weights [outputs, inputs] and biases of every layer, float32.

        `half` rounds what is multiplied to bfloat16. Raises ValueError for another shape, type or
        number of layers, RuntimeError where there are no tiles.
        """
    def forward(self, rows: Tensor) -> Tensor:
        """Outputs float32 [n, outputs] for rows [n, inputs]; ValueError for others.

        What a row gets does not depend on the others.
        """
