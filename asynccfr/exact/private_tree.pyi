from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from asynccfr.exact.private_rules import PrivateRules

class PrivateTree:
    """The tables of one player's tree, see the module, and two vectors over its sequences.

    Attributes:
        num_rows, num_sequences: R and S.
        plan: the realisation plan, float64 [S].
        gain: what the player gets after a sequence as their last, weighted with the opponent's plan
            and with chance for the opponent, float64 [S].
    """

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
    def batches(self, size: int) -> Iterator[NodeBatch]:
        """Every row once, as `NodeBatch`es of at most `size`."""
    def set_policy(
        self,
        rows: npt.NDArray[np.intc],
        table: npt.NDArray[np.float64],
        legal: npt.NDArray[np.uint8],
    ) -> int:
        """Note action probabilities [n, num_actions] of `rows` [n] in `plan`.

        Returns the first row of the table that is no distribution over the legal actions (within
        1e-4, then made exact); -1 if all are.
        """
    def multiply_down(self) -> None:
        """Make the probabilities in `plan` a realisation plan, starts weighted by chance."""
    def respond(self) -> float:
        """The value of a best response to what `gain` holds, which then holds action values."""

class NodeBatch:
    """Rows of a tree, for a policy.

    Attributes:
        tree: theirs.
    """

    tree: PrivateTree
    def __len__(self) -> int: ...
    def rows(self) -> npt.NDArray[np.intc]:
        """Their numbers, int [n]."""
    def legal(self) -> npt.NDArray[np.bool_]:
        """Their legal actions, bool [n, num_actions]."""
    def tensors(self) -> npt.NDArray[np.float32]:
        """Their information-state tensors, float32 [n, size]."""
    def keys(self) -> list[bytes]:
        """Their information-state keys."""
