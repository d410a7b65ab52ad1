from collections.abc import Iterable

from torch import Tensor

class EquivariantKernel:
    """The shape of a network, and memory for one call at a time; a copy has memory of its own.

    Parameters and their gradients are contiguous float32 in this order: block_input; global_input,
    input_bias; own, pooled and bias of every layer; block_output, its bias; global_output, its bias.

    Attributes:
        loaded: whether it has parameters, and no gradients of theirs were asked for since.
        half: whether those may be rounded to bfloat16.
        turn: counts the forwards; a backward belongs to the last one.
    """

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
    def load(self, parameters: Iterable[Tensor], half: bool = False) -> None:
        """Pack the parameters. Raises ValueError for another shape or type.

        `half` lets products round what they multiply to bfloat16, which is only done where that is
        quicker: by a processor with tiles for it.
        """
    def forward(self, rows: Tensor, keep: bool) -> Tensor:
        """Outputs float32 [n, num_actions] for rows [n, tensor_size], blocks first in both.

        `keep` rows and activations for a backward. What a row gets does not depend on the others.
        Raises ValueError for rows of another shape or type, RuntimeError without parameters.
        """
    def backward(self, of_outputs: Tensor, turn: int) -> list[Tensor]:
        """The parameters' gradients from those of the outputs, float32 [n, num_actions].

        Raises RuntimeError unless the last forward was that `turn` and kept its activations.
        """
