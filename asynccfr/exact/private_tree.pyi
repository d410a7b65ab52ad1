from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from asynccfr.exact.private_rules import PrivateRules

class PrivateTree:
    rules: PrivateRules
    player: int
    num_starts: int
    num_rows: int
    num_sequences: int
    first: npt.NDArray[np.intc]
    parent: npt.NDArray[np.intc]
    base: npt.NDArray[np.intc]
    plan: npt.NDArray[np.float64]
    gain: npt.NDArray[np.float64]
    def __init__(self, rules: PrivateRules, player: int) -> None: ...
    def batches(self, size: int) -> Iterator[NodeBatch]: ...
    def set_policy(
        self,
        rows: npt.NDArray[np.intc],
        table: npt.NDArray[np.float64],
        legal: npt.NDArray[np.uint8],
    ) -> int: ...
    def multiply_down(self) -> None: ...
    def respond(self) -> float: ...

class NodeBatch:
    tree: PrivateTree
    def __len__(self) -> int: ...
    def rows(self) -> npt.NDArray[np.intc]: ...
    def legal(self) -> npt.NDArray[np.bool_]: ...
    def tensors(self) -> npt.NDArray[np.float32]: ...
    def keys(self) -> list[bytes]: ...
